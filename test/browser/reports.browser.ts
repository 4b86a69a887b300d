// The report of `dunlin backtest`, which is read wherever somebody opens the file: in headless Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import type { Browser } from "playwright-core";
import { readHistory } from "../../src/backtest/attempts.ts";
import { backtest } from "../../src/backtest/backtest.ts";
import { reportHtml } from "../../src/backtest/report.ts";
import { fromPrior } from "../../src/model/prior.ts";
import { readPrior } from "../../src/prior-file.ts";
import { variedHistory } from "../varied-history.ts";
import { launch } from "./chromium.ts";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

function report(): string {
  const rows = variedHistory(3000, Date.UTC(2026, 0, 1)).map(
    ({ invoiceId, customerId, at, isPaid, amount }) =>
      `${invoiceId},${customerId},${at.toISOString()},${isPaid ? "PAID" : "FAILED"},${amount},EUR,${isPaid ? "" : "51"},card,visa,DE`,
  );
  const heading =
    "invoiceId,customerId,createdAt,state,amount,currency,networkDeclineCode,paymentMethodType,cardBrand,cardCountry";
  const prior = readPrior(pino({ level: "silent" }))!;
  return reportHtml(backtest(readHistory([heading, ...rows].join("\n")), fromPrior(prior)));
}

test("on a phone the report is as wide as the screen, its tables and plots scroll in their own boxes, and their type can be read", async () => {
  const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
  await page.setContent(report());
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 390);
  const heights = await page.evaluate<number[]>(
    "[...document.querySelectorAll('svg text')].map((text) => text.getBoundingClientRect().height)",
  );
  assert.ok(heights.length > 10 && Math.min(...heights) >= 12, `${Math.min(...heights)} px`);
  const boxes = page.getByRole("region");
  assert.equal(await boxes.count(), await page.locator("table, svg").count());
  await page.close();
});

test("no two numbers at the axis of a report's plot print over each other", async () => {
  const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
  await page.setContent(report());
  const edges = await page.evaluate<[number, number][]>(
    "[...document.querySelector('svg').querySelectorAll('text.axis')].map((text) => text.getBoundingClientRect()).map(({ left, right }) => [left, right])",
  );
  assert.ok(edges.length >= 3);
  for (const [n, [left]] of edges.entries()) assert.ok(n === 0 || left > edges[n - 1]![1] + 8);
  await page.close();
});
