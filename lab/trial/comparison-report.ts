import { formatTenths } from "../../src/engine/shares.ts";
import { escapeHtml, listHtml, pageHtml, tableHtml } from "../../src/report/html-page.ts";
import { type Bar, drawBarPlot, drawDotPlot, drawLinePlot, type SeriesColor } from "../../src/report/plots.ts";
import { type ChartData, computeRegret } from "./chart-data.ts";
import type { Comparison } from "./compare-policies.ts";
import { buildRows, COLUMNS, describeClosedGap, describeWorld, LEGEND } from "./comparison-wording.ts";
import type { Figures } from "./trial-figures.ts";

/** In every chart. */
const INK_BY_POLICY: Readonly<Record<string, SeriesColor>> = {
  warm: "first",
  told: "first",
  cold: "second",
  even: "third",
};
const inkOf = (name: string): SeriesColor => INK_BY_POLICY[name] ?? "other";
/** The two-sided 95% quantile, in deviations. */
const CONFIDENCE_DEVIATIONS = 1.96;

export function renderReport(comparison: Comparison, chartData: ReadonlyMap<string, ChartData>): string {
  const { world, policies } = comparison;
  const figures = Object.entries(policies);
  const body = `${describeClosedGap(comparison)
    .map((text) => `<p>${escapeHtml(text)}</p>`)
    .join("\n")}
${tableHtml("policies", COLUMNS, buildRows(comparison))}
${listHtml(LEGEND)}
<h2>Recovered money</h2>
${drawBarPlot("Recovered share of the failed money; dark: after the cost of waiting and retries", figures.map(buildRecoveredBar))}
<h2>Retries</h2>
${drawBarPlot("Retries per recovered payment", figures.flatMap(buildRetriesBar))}
<h2>Regret</h2>
${renderRegretPlot(chartData)}
<h2>Calibration</h2>
${renderCalibrationPlot(chartData)}`;
  return pageHtml(`Retry strategies in the world "${world}"`, describeWorld(comparison), body);
}

const buildRecoveredBar = ([name, { recovered, value }]: [string, Figures]): Bar => ({
  label: name,
  size: recovered,
  note: `${formatTenths(recovered)}; ${formatTenths(value)} after waiting and retries`,
  innerSize: Math.max(0, value),
});

const buildRetriesBar = ([name, { attemptsPerRecovery: retries }]: [string, Figures]): Bar[] =>
  retries === null ? [] : [{ label: name, size: retries, note: retries.toFixed(2), innerSize: retries }];

const WHOLE_FORMAT = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const formatWholePercent = (share: number) => `${Math.round(share * 100)}%`;
const COMPACT_FORMAT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

function renderRegretPlot(chartData: ReadonlyMap<string, ChartData>): string {
  const oracle = chartData.get("oracle")!;
  const lines = [...chartData]
    .filter(([name]) => name !== "oracle")
    .map(([name, data]) => ({
      name,
      color: inkOf(name),
      points: computeRegret(data, oracle).map(({ payments, dollars }) => ({ x: payments, y: dollars })),
    }));
  const ordered = lines.sort((a, b) => Number(a.color !== "other") - Number(b.color !== "other"));
  return drawLinePlot("Value that the oracle gained and the policy did not, cumulative over failed payments", ordered, {
    xLabel: "failed payments",
    formatX: WHOLE_FORMAT.format,
    yLabel: "US dollars",
    formatY: COMPACT_FORMAT.format,
  });
}

function renderCalibrationPlot(chartData: ReadonlyMap<string, ChartData>): string {
  const series = ["warm", "cold"].flatMap((name) => {
    const bins = chartData.get(name)?.bins ?? [];
    const retries = bins.reduce((sum, bin) => sum + bin.retryCount, 0);
    const points = bins.map(({ predicted, observed, deviation, retryCount }) => ({
      predicted,
      observed,
      margin: CONFIDENCE_DEVIATIONS * deviation,
      share: retryCount / retries,
    }));
    return points.length > 0 ? [{ name, color: inkOf(name), points }] : [];
  });
  const title =
    "Dunlin's predicted probabilities by tenths, and the approved share; larger dots stand for more retries, and lines show where luck alone puts a dot in 95 of 100 runs";
  return series.length === 0
    ? "<p>Dunlin made no retry.</p>"
    : drawDotPlot(title, series, {
        xLabel: "predicted",
        formatX: formatWholePercent,
        yLabel: "approved",
        formatY: formatWholePercent,
      });
}
