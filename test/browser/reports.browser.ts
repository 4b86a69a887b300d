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

test("on a phone a report is as wide as the screen, what is wider scrolls in a box of its own, and its type can be read", async () => {
  for (const report of [backtested(), simulated()]) {
    const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
    await page.setContent(report);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 390);
    const heights = await page.evaluate<number[]>(
      "[...document.querySelectorAll('svg text, .rows span, td')].filter((each) => each.textContent).map((text) => text.getBoundingClientRect().height)",
    );
    assert.ok(heights.length > 10 && Math.min(...heights) >= 12, `${Math.min(...heights)} px`);
    const boxes = page.getByRole("region");
    assert.equal(await boxes.count(), await page.locator("table, svg[viewBox]").count());
    await page.close();
  }
});

/** What of a page can be seen only after scrolling sideways. */
const HIDDEN = `[...document.querySelectorAll(".wide")].filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.ariaLabel).concat(
  [...document.querySelectorAll("svg text, .rows span, td")].filter((each) => {
    const { left, right } = each.getBoundingClientRect();
    return left < 0 || right > innerWidth;
  }).map((each) => each.textContent))`;

test("of a backtest's report nothing is out of sight on a phone, and each cell says of which column it is", async () => {
  const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
  await page.setContent(backtested());
  assert.deepEqual(await page.evaluate(HIDDEN), []);
  const head = await page.evaluate("getComputedStyle(document.querySelector('td + td'), '::before').content");
  assert.equal(head, '"Invoices recovered"');
  await page.close();
});

test("no two numbers at the axis of a report's plot print over each other, on a phone neither", async () => {
  for (const width of [390, 1000]) {
    const page = await browser.newPage({ viewport: { width, height: 800 } });
    await page.setContent(backtested());
    const edges = await page.evaluate<[number, number][]>(
      "[...document.querySelectorAll('figure:first-of-type text.axis')].map((text) => text.getBoundingClientRect()).map(({ left, right }) => [left, right])",
    );
    assert.ok(edges.length >= 3);
    for (const [n, [left]] of edges.entries()) assert.ok(n === 0 || left > edges[n - 1]![1] + 8);
    await page.close();
  }
});
