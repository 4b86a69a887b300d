import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createVariedHistory } from "../../test/varied-history.ts";
import type { BacktestResult } from "../backtest/backtest.ts";
import { backtestCommand } from "./backtest.ts";
import { type CommandContext, CommandFailure } from "./command.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-backtest-"));
after(() => rmSync(folder, { recursive: true, force: true }));

async function run(path: string, values: Record<string, string | boolean> = {}) {
  const lines: string[] = [];
  const messages: string[] = [];
  const stderr = { print: (line: string) => void messages.push(line) };
  const realNow = () => new Date("2026-12-01");
  const context = { print: (line: string) => void lines.push(line), stderr, realNow } as CommandContext;
  const code = await backtestCommand.run(context, values, [path]);
  return { code, out: lines.join("\n"), messages: messages.join("\n") };
}

/** Half of 600 invoices agree with a strategy that makes one of these choices, which is enough for an estimate. */
const FEW_GAPS = [1, 8];

/** @param lost  makes every nth invoice fail with a lost card; it is retried anyway, unless `givesUp` */
function history(
  invoices: number,
  days?: readonly number[],
  lost = 0,
  givesUp = false,
  gaps?: readonly number[],
): string {
  const wasLost = (invoiceId: string) => lost > 0 && Number(invoiceId.slice(4)) % lost === 0;
  const failedIds = new Set<string>();
  const rows = createVariedHistory(invoices, Date.UTC(2026, 0, 1), days, gaps).flatMap(
    ({ invoiceId, customerId, at, isPaid, amount }) => {
      if (givesUp && failedIds.has(invoiceId) && wasLost(invoiceId)) return [];
      failedIds.add(invoiceId);
      const code = wasLost(invoiceId) ? "41" : "51";
      return `${invoiceId},${customerId},${at.toISOString()},${isPaid ? "PAID" : "FAILED"},${amount},EUR,${isPaid ? "" : code},card,visa,DE`;
    },
  );
  return `invoiceId,customerId,createdAt,state,amount,currency,networkDeclineCode,paymentMethodType,cardBrand,cardCountry\n${rows.join("\n")}\n`;
}

let varied: Promise<{ code: number; out: string; html: string }> | undefined;
/** With varied retries, and a lost card for every tenth invoice. Judged once, because 2000 invoices take a second. */
function judgeVaried() {
  varied ??= (async () => {
    const path = join(folder, "varied.csv");
    const report = join(folder, "report.html");
    writeFileSync(path, history(2000, undefined, 10, false, [1, 2, 3, 4, 5, 6, 8]));
    const { code, out } = await run(path, { report, json: true });
    return { code, out, html: readFileSync(report, "utf8") };
  })();
  return varied;
}

test("a history with varied retries is judged as JSON and in a self-contained report", async () => {
  const { code, out, html } = await judgeVaried();
  assert.equal(code, 0);
  assert.match(html, /<figcaption>Recovered money compared with your system[^<]*<\/figcaption><ol class="rows">/);
  assert.ok(html.indexOf("<h2>Short answer</h2>") < html.indexOf("<h2>EUR</h2>"));
  assert.match(html, /&quot;days 1, 3, 5 and 7&quot; and &quot;days 1, 3, 8, 10 and 12&quot; have the same figures/);
  assert.match(html, />insufficient funds<\/span>/);
  assert.match(html, /<p class="lead">Based on 6,\d{3} payment attempts/);
  assert.doesNotMatch(html, /(src|href)=|@import|url\(/);
  assert.match(html, /invoices failed \(EUR [\d,.]+ in total\)\. Your system recovered [\d,]+ of them/);
  assert.match(html, /Days 1, 3, 5 and 7, for the first retry: EUR [\d,.]+ to EUR [\d,.]+ less than your system\./);
  const json = JSON.parse(out) as BacktestResult;
  const [book] = json.books;
  assert.equal(book!.currency, "EUR");
  const fixed = book!.ways.find(({ name }) => name === "fixed")!.count;
  assert.ok("share" in fixed && fixed.differenceHigh < 0, "a first retry after one day comes before the money");
  assert.ok(json.tooYoung > 0);
});

test("the result says that a fixed schedule teaches nothing about other schedules", async () => {
  const path = join(folder, "fixed.csv");
  writeFileSync(path, history(600, [1, 2, 2]));
  const { out } = await run(path, { report: join(folder, "fixed.html") });
  assert.match(
    out,
    /6 evenly spaced retries over 28 days: no estimate\. .* first retries after 5 to 6 days: this strategy makes them for 100\.0% /,
  );
  assert.match(out, /Days 1, 3, 5 and 7, for the first 3 retries: the same as your system\./);
  assert.match(out, /An experiment answers the same question without these assumptions/);
});

test("a currency with too few failed invoices gets one sentence and no table", async () => {
  const path = join(folder, "few.csv");
  const report = join(folder, "few.html");
  writeFileSync(path, history(150));
  const { out } = await run(path, { report });
  assert.match(out, /of the money\.\n {2}Too few invoices to evaluate another strategy: at least 200 are needed\.\n\n/);
  const html = readFileSync(report, "utf8");
  assert.match(html, /of the money\. Too few invoices to evaluate another strategy: at least 200 are needed\.<\/p>/);
  assert.doesNotMatch(html, /no estimate/);
});

test("a schedule of days continues after any decline, and gives up where the merchant's system gives up", async () => {
  const path = join(folder, "lost.csv");
  const report = join(folder, "lost.html");
  writeFileSync(path, history(600, [1, 2, 2], 4));
  const { out } = await run(path, { report });
  assert.match(out, /Days 1, 3, 5 and 7, for the first 3 retries: the same as your system\./);
  assert.match(out, /- The fixed schedules retry on their days after every decline\.\n/);
  writeFileSync(path, history(600, [1, 2, 2], 4, true));
  const givingUp = (await run(path, { report })).out;
  assert.match(givingUp, /Days 1, 3, 5 and 7, for the first 3 retries: the same as your system\./);
  assert.match(
    givingUp,
    /They give up after declines that your system hardly ever retried: "card cannot be charged"\.\n/,
  );
});

test("invoices whose strategy requests another card count as not recovered, and the report shows their amount", async () => {
  const { html } = await judgeVaried();
  assert.match(
    html,
    /Dunlin with the pretrained model, for the first [^<]* After the first failure, it requests another card or payment method for 200 invoices \(EUR [\d,.]+ in total\)\. They count as not recovered; your system recovered EUR [\d,.]+ of that\.</,
  );
});

test("expired cards are retried, so no invoice is left out for a requested card", async () => {
  const path = join(folder, "expired.csv");
  const report = join(folder, "expired.html");
  writeFileSync(path, history(300, undefined, 10).replaceAll(",41,", ",54,"));
  const { out } = await run(path, { report, json: true });
  const [book] = (JSON.parse(out) as BacktestResult).books;
  assert.equal(book!.ways.find(({ name }) => name === "dunlin")!.asked!.invoices, 0);
  assert.doesNotMatch(readFileSync(report, "utf8"), /requests another card/);
});

test("propensities that contradict the history are reported, and incomplete ones are ignored", async () => {
  const path = join(folder, "chances.csv");
  const report = join(folder, "chances.html");
  const of = async (chance: (row: number) => string) => {
    const [heading, ...rows] = history(600, undefined, 0, false, FEW_GAPS).trimEnd().split("\n");
    writeFileSync(path, [`${heading},propensity`, ...rows.map((row, n) => `${row},${chance(n)}`)].join("\n"));
    return (await run(path, { report })).out;
  };
  const sure = await of(() => "1");
  assert.match(
    sure,
    /Days 1, 3, 5 and 7: no estimate\. The selection probabilities in the file \(propensity\) do not match: by them, .* represent [45]\d\.\d% of the invoices that they must represent\. Without that column[^.]*\.\n/,
  );
  assert.match(
    readFileSync(report, "utf8"),
    /recovered more: the selection probabilities in the file \(propensity\) do not match what your/,
  );
  const plain = await of(() => "");
  assert.match(plain, /Days 1, 3, 5 and 7, for the first retry: EUR [\d,.]+ to EUR [\d,.]+ less than your system\./);
  assert.doesNotMatch(plain, /propensity/);
  const some = (await of((n) => (n === 1 ? "0.1" : ""))).split("\n");
  assert.match(
    some.join("\n"),
    /- The probabilities in the file \(propensity\) are not used, because only 1 of [\d,]+ retries have one\.\n/,
  );
  assert.deepEqual(
    some.filter((line) => !/propensity/.test(line)),
    plain.split("\n"),
  );
});

test("records that cannot be read are reported before the result, in the output and the report", async () => {
  const path = join(folder, "left-out.csv");
  const report = join(folder, "left-out.html");
  writeFileSync(
    path,
    history(300)
      .replace(",PAID,", ",HELD,")
      .replace(/T[\d:.]+Z,FAILED/, ",FAILED")
      .replace(",EUR,", ",€,")
      .replace("cardBrand", "brand"),
  );
  const { out } = await run(path, { report });
  const [first, ...rest] = out.split("\n");
  assert.equal(first, "Skipped 2 records that could not be read:");
  assert.match(
    rest.slice(0, 2).sort().join("\n"),
    /^ {2}currency "€" is not a currency, such as EUR \(line 2\)\n {2}state "HELD" is unknown/,
  );
  const html = readFileSync(report, "utf8");
  for (const text of [out, html]) assert.match(text, /Ignored columns \(no matching field\): brand\./);
  assert.ok(html.indexOf("Skipped 2 records") < html.indexOf("<h2>"));
});

test("duplicates and future attempts are reported and change no figure", async () => {
  const path = join(folder, "again.csv");
  const report = join(folder, "again.html");
  const [heading, ...rows] = history(600, undefined, 0, false, FEW_GAPS).trimEnd().split("\n");
  const of = async (lines: readonly string[]) => {
    writeFileSync(path, [heading, ...lines].join("\n"));
    const { out } = await run(path, { report });
    return { out: out.split("\n"), html: readFileSync(report, "utf8") };
  };
  const plain = await of(rows);
  assert.match(
    plain.html,
    /Days 1, 3, 5 and 7, for the first retry: EUR [\d,.]+ to EUR [\d,.]+ less than your system\./,
  );
  const ahead = rows[0]!.replace(/2026-[^,]*/, "2099-01-01");
  const { out, html } = await of([...rows, ...rows, ahead]);
  assert.equal(
    out[0],
    `Skipped ${rows.length.toLocaleString("en")} duplicate records: they have the same ids as others or, without ids, the same content. If they are separate attempts, give each one an id.`,
  );
  assert.equal(out[1], "Skipped 1 attempt dated in the future (the first on 2099-01-01).");
  assert.deepEqual(out.slice(3), plain.out);
  assert.match(html, /<p>Skipped 1 attempt dated in the future/);
  assert.equal(html.replace(/<p>Skipped[^<]*<\/p>\n/g, ""), plain.html);
});

test("a file in UTF-16 gives the same result as one in UTF-8", async () => {
  const path = join(folder, "utf16.csv");
  const report = join(folder, "utf16.html");
  const csv = history(60);
  writeFileSync(path, csv);
  const { out } = await run(path, { report });
  const little = (text: string) => Buffer.from(text, "utf16le");
  for (const bytes of [little(`\ufeff${csv}`), little(csv), little(`\ufeff${csv}`).swap16(), little(csv).swap16()]) {
    writeFileSync(path, bytes);
    assert.equal((await run(path, { report })).out, out);
  }
});

test("a file that is neither UTF-8 nor UTF-16 is refused, because names could become equal", async () => {
  const path = join(folder, "latin1.csv");
  writeFileSync(path, Buffer.from(`${history(300)}in_Müller,2026-01-02T08:00:00Z,PAID,4900,EUR,\n`, "latin1"));
  await assert.rejects(
    run(path),
    /latin1\.csv: the file is neither UTF-8 nor UTF-16 text: save or export it as CSV in UTF-8\.$/,
  );
});

test("a file with unknown states is refused until --states explains them", async () => {
  const path = join(folder, "states.csv");
  const known = history(300);
  writeFileSync(path, known.replaceAll(",PAID,", ",AUTHORISED,"));
  await assert.rejects(run(path), (error: Error) => {
    assert.ok(error instanceof CommandFailure);
    assert.match(
      error.message,
      /state "AUTHORISED" is unknown: write PAID, FAILED, .* map it with --states \(\d+ records, the first in line \d+\)/,
    );
    return true;
  });
  const report = join(folder, "states.html");
  const withStates = await run(path, { report, states: "Authorised=PAID" });
  writeFileSync(path, known);
  assert.equal(withStates.out, (await run(path, { report })).out);
  await assert.rejects(run(path, { states: "Authorised=YES" }), /which is not a state\. States: PAID FAILED PENDING/);
});

test("a file that is not a history is refused with the missing fields", async () => {
  const path = join(folder, "wrong.csv");
  writeFileSync(path, "a,b\n1,2\n");
  await assert.rejects(run(path), /not a history of payment attempts\. The header lacks invoiceId/);
  const nothing = join(folder, "nothing.csv");
  await assert.rejects(run(nothing), new CommandFailure(`Cannot read ${nothing}: the file does not exist.`));
  await assert.rejects(run(folder), /Cannot read .*: EISDIR/);
});

test("an unwritable report path is refused before the history is judged", async () => {
  const report = join(folder, "no", "report.html");
  const refused = new CommandFailure(`Cannot write the report to ${report}: the folder does not exist.`);
  await assert.rejects(run(join(folder, "nothing.csv"), { report }), refused);
  const path = join(folder, "few.csv");
  writeFileSync(path, history(300));
  await assert.rejects(run(path, { report: folder }), /^Error: Cannot write the report to .*: EISDIR/);
});

test("a history that is too young says when its invoices count, and leaves no report", async () => {
  const path = join(folder, "young.csv");
  const report = join(folder, "young.html");
  const heading = "invoiceId,createdAt,state,amount,currency";
  const failed = "in_1,2026-01-03T08:00:00Z,FAILED,4900,EUR\nin_2,2026-01-10T08:00:00Z,FAILED,4900,EUR";
  writeFileSync(path, `${heading}\n${failed}\nin_1,2026-01-20T08:00:00Z,PAID,4900,EUR\n`);
  const young = await run(path, { report });
  assert.equal(
    young.out,
    "No strategy can be evaluated yet: 2 invoices failed at first, and each counts 28 days later. The history ends on 2026-01-20; the first invoice counts once it reaches 2026-01-31. No report was written.",
  );
  assert.ok(!existsSync(report));
  const asJson = await run(path, { report, json: true });
  assert.equal((JSON.parse(asJson.out) as BacktestResult).tooYoung, 2);
  assert.equal(asJson.messages, "No report was written, because no invoice can be judged.");
  assert.ok(!existsSync(report));
  writeFileSync(path, `${heading}\nin_1,2026-01-20T08:00:00Z,PAID,4900,EUR\n`);
  assert.match((await run(path, { report })).out, /^No strategy can be evaluated: no invoice failed at first\./);
  writeFileSync(path, `${heading}\nin_1,2026-01-20T08:00:00Z,PENDING,4900,EUR\n`);
  await assert.rejects(run(path, { report }), /No record is paid or failed\.$/);
});

test("--map, --dates and --decimals apply to a backtest as to an import", async () => {
  const path = join(folder, "german.csv");
  const report = join(folder, "german.html");
  const rows = [
    "in_1;05.01.2026;Failed;49,00;eur;0042",
    "in_1;08.01.2026;Paid;49,00;eur;0042",
    "in_2;01.04.2026;Paid;5;eur;",
  ];
  writeFileSync(path, ["Number;Day;Status;Amount;Currency;Last four", ...rows].join("\r\n"));
  const map = "invoiceId=Number,createdAt=Day,cardLast4=Last four";
  const options = { report, map, dates: "dmy", decimals: "comma" };
  assert.match((await run(path, options)).out, /^1 invoice failed \(EUR 49\.00\), and your system recovered it/);
  await assert.rejects(run(path, { ...options, dates: "mdy" }), /createdAt "05\.01\.2026" must be .* \(--dates mdy\)/);
  await assert.rejects(
    run(path, { ...options, map: "invoiceId=No" }),
    /german\.csv: the file has no column No; it has: .*\.$/,
  );
  await assert.rejects(run(path, { ...options, map: "invoice=Number" }), /--map names invoice, which is not a field/);
  await assert.rejects(run(path, { ...options, decimals: "," }), /--decimals takes one of point, comma\.$/);
});
