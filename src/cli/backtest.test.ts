import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { variedHistory } from "../../test/varied-history.ts";
import type { Backtest } from "../backtest/backtest.ts";
import { backtestCommand } from "./backtest.ts";
import type { Context } from "./command.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-backtest-"));
after(() => rmSync(folder, { recursive: true, force: true }));

async function run(path: string, values: Record<string, string | boolean> = {}) {
  const lines: string[] = [];
  const context = { print: (line: string) => void lines.push(line) } as Context;
  const code = await backtestCommand.run(context, values, [path]);
  return { code, out: lines.join("\n") };
}

function history(invoices: number, days?: readonly number[]): string {
  const rows = variedHistory(invoices, Date.UTC(2026, 0, 1), days).map(
    ({ invoiceId, customerId, at, isPaid, amount }) =>
      `${invoiceId},${customerId},${at.toISOString()},${isPaid ? "PAID" : "FAILED"},${amount},EUR,${isPaid ? "" : "51"},card,visa,DE`,
  );
  return `invoiceId,customerId,createdAt,state,amount,currency,networkDeclineCode,paymentMethodType,cardBrand,cardCountry\n${rows.join("\n")}\n`;
}

test("a history in which tries varied is judged, as JSON and in a report that needs nothing else", async () => {
  const path = join(folder, "varied.csv");
  const report = join(folder, "report.html");
  writeFileSync(path, history(3000));
  const { code, out } = await run(path, { report, json: true });
  assert.equal(code, 0);
  const html = readFileSync(report, "utf8");
  assert.match(html, /<svg [^>]*role="img"/);
  assert.doesNotMatch(html, /(src|href)=|@import|url\(/);
  assert.match(html, /invoices over EUR [\d,.]+ failed, and your system recovered [\d,]+ of them/);
  assert.match(html, /Days 1, 3, 5 and 7, for the first try, would have recovered less: EUR [\d,.]+ to EUR [\d,.]+\./);
  const json = JSON.parse(out) as Backtest;
  const [book] = json.books;
  assert.equal(book!.currency, "EUR");
  const fixed = book!.ways.find(({ name }) => name === "fixed")!.count;
  assert.ok("share" in fixed && fixed.differenceHigh < 0, "a first try after one day comes before the money");
  assert.ok(json.tooYoung > 0);
});

test("from a fixed schedule nothing can be learned of another one, and the answer says so", async () => {
  const path = join(folder, "fixed.csv");
  writeFileSync(path, history(1000, [1, 2, 2]));
  const { out } = await run(path, { report: join(folder, "fixed.html") });
  assert.match(out, /6 tries, even over 28 days: cannot say\. /);
  assert.match(out, /Days 1, 3, 5 and 7, for the first 3 tries: just what your system did\./);
  assert.match(out, /An experiment answers the same question without these assumptions/);
});

test("a file that is no history is refused with what is missing", async () => {
  const path = join(folder, "wrong.csv");
  writeFileSync(path, "a,b\n1,2\n");
  await assert.rejects(run(path), /no history of attempts\. The heading has no invoiceid/);
  await assert.rejects(run(join(folder, "nothing.csv")), /can't be read/);
});
