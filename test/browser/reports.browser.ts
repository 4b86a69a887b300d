// The reports of `dunlin backtest` and `dunlin simulate`, which people open as files: in headless Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import type { Browser } from "playwright-core";
import { buildChartData, type ChartData } from "../../lab/trial/chart-data.ts";
import { comparePolicies, DEFAULT_POLICY_NAMES } from "../../lab/trial/compare-policies.ts";
import { renderReport as simulationReport } from "../../lab/trial/comparison-report.ts";
import { SIMPLE_WORLDS } from "../../lab/trial/open-world.ts";
import type { Trial } from "../../lab/trial/run-trial.ts";
import { runBacktest } from "../../src/backtest/backtest.ts";
import { parseHistory } from "../../src/backtest/parse-history.ts";
import { buildReportHtml as backtestReport } from "../../src/backtest/report-html.ts";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { readPretrainedModel } from "../../src/process/pretrained-model-file.ts";
import { createVariedHistory } from "../varied-history.ts";
import { launchChromium } from "./chromium.ts";

let browser: Browser;
before(async () => {
  browser = await launchChromium();
});
after(() => browser?.close());

function writeBacktestReport(): string {
  const rows = createVariedHistory(3000, Date.UTC(2026, 0, 1)).map(
    ({ invoiceId, customerId, at, isPaid, amount }) =>
      `${invoiceId},${customerId},${at.toISOString()},${isPaid ? "PAID" : "FAILED"},${amount},EUR,${isPaid ? "" : "51"},card,visa,DE`,
  );
  const heading =
    "invoiceId,customerId,createdAt,state,amount,currency,networkDeclineCode,paymentMethodType,cardBrand,cardCountry";
  const prior = readPretrainedModel(pino({ level: "silent" }))!;
  return backtestReport(
    runBacktest(parseHistory([heading, ...rows].join("\n")), fromPretrained(prior), new Date("2027-01-01")),
  );
}

function writeSimulationReport(): string {
  const pictures = new Map<string, ChartData>();
  const ended = (name: string, trial: Trial) => void pictures.set(name, buildChartData(trial));
  const prior = readPretrainedModel(pino({ level: "silent" }))!;
  return simulationReport(
    comparePolicies(SIMPLE_WORLDS["crude:night"]!(), 1, 200, prior, DEFAULT_POLICY_NAMES, { ended }),
    pictures,
  );
}

test("a report fits a phone's screen, scrolls wider parts separately, and stays legible", async () => {
  for (const report of [writeBacktestReport(), writeSimulationReport()]) {
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

/** Finds the parts of a page that are visible only after scrolling sideways. */
const OVERFLOWING_SCRIPT = `[...document.querySelectorAll(".wide")].filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.ariaLabel).concat(
  [...document.querySelectorAll("svg text, .rows span, td")].filter((each) => {
    const { left, right } = each.getBoundingClientRect();
    return left < 0 || right > innerWidth;
  }).map((each) => each.textContent))`;

test("a backtest's report is fully visible on a phone, and each cell names its column", async () => {
  const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
  await page.setContent(writeBacktestReport());
  assert.deepEqual(await page.evaluate(OVERFLOWING_SCRIPT), []);
  const head = await page.evaluate("getComputedStyle(document.querySelector('td + td'), '::before').content");
  assert.equal(head, '"Invoices recovered"');
  await page.close();
});

test("axis labels of a report's plots never overlap, even on a phone", async () => {
  for (const width of [390, 1000]) {
    const page = await browser.newPage({ viewport: { width, height: 800 } });
    await page.setContent(writeBacktestReport());
    const edges = await page.evaluate<[number, number][]>(
      "[...document.querySelectorAll('figure:first-of-type text.axis')].map((text) => text.getBoundingClientRect()).map(({ left, right }) => [left, right])",
    );
    assert.ok(edges.length >= 3);
    for (const [n, [left]] of edges.entries()) assert.ok(n === 0 || left > edges[n - 1]![1] + 8);
    await page.close();
  }
});
