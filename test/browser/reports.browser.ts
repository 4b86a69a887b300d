// The reports of `dunlin backtest` and `dunlin simulate`, which are read wherever somebody opens the file: in headless Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import type { Browser } from "playwright-core";
import { compare, USUAL_NAMES } from "../../simulator/trial/compare.ts";
import { type Picture, pictureOf } from "../../simulator/trial/picture.ts";
import { reportHtml as simulationReport } from "../../simulator/trial/report.ts";
import type { Trial } from "../../simulator/trial/run-trial.ts";
import { CRUDE_WORLDS } from "../../simulator/trial/worlds.ts";
import { readHistory } from "../../src/backtest/attempts.ts";
import { backtest } from "../../src/backtest/backtest.ts";
import { reportHtml as backtestReport } from "../../src/backtest/report.ts";
import { fromPrior } from "../../src/model/prior.ts";
import { readPrior } from "../../src/prior-file.ts";
import { variedHistory } from "../varied-history.ts";
import { launch } from "./chromium.ts";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

function backtested(): string {
  const rows = variedHistory(3000, Date.UTC(2026, 0, 1)).map(
    ({ invoiceId, customerId, at, isPaid, amount }) =>
      `${invoiceId},${customerId},${at.toISOString()},${isPaid ? "PAID" : "FAILED"},${amount},EUR,${isPaid ? "" : "51"},card,visa,DE`,
  );
  const heading =
    "invoiceId,customerId,createdAt,state,amount,currency,networkDeclineCode,paymentMethodType,cardBrand,cardCountry";
  const prior = readPrior(pino({ level: "silent" }))!;
  return backtestReport(backtest(readHistory([heading, ...rows].join("\n")), fromPrior(prior), new Date("2027-01-01")));
}

function simulated(): string {
  const pictures = new Map<string, Picture>();
  const ended = (name: string, trial: Trial) => void pictures.set(name, pictureOf(trial));
  const prior = readPrior(pino({ level: "silent" }))!;
  return simulationReport(compare(CRUDE_WORLDS["crude:night"]!(), 1, 200, prior, USUAL_NAMES, { ended }), pictures);
}

test("on a phone a report is as wide as the screen, its tables and plots scroll in their own boxes, and their type can be read", async () => {
  for (const report of [backtested(), simulated()]) {
    const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
    await page.setContent(report);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 390);
    const heights = await page.evaluate<number[]>(
      "[...document.querySelectorAll('svg text')].map((text) => text.getBoundingClientRect().height)",
    );
    assert.ok(heights.length > 10 && Math.min(...heights) >= 12, `${Math.min(...heights)} px`);
    const boxes = page.getByRole("region");
    assert.equal(await boxes.count(), await page.locator("table, svg").count());
    await page.close();
  }
});

test("no two numbers at the axis of a report's plot print over each other", async () => {
  const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
  await page.setContent(backtested());
  const edges = await page.evaluate<[number, number][]>(
    "[...document.querySelector('svg').querySelectorAll('text.axis')].map((text) => text.getBoundingClientRect()).map(({ left, right }) => [left, right])",
  );
  assert.ok(edges.length >= 3);
  for (const [n, [left]] of edges.entries()) assert.ok(n === 0 || left > edges[n - 1]![1] + 8);
  await page.close();
});
