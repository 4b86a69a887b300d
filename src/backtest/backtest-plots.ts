import { formatTenths } from "../engine/shares.ts";
import { createAxisScale } from "../report/axis-scale.ts";
import { drawBarPlot, drawRowPlot } from "../report/plots.ts";
import type { BacktestResult, CurrencyResult } from "./backtest.ts";
import { isEstimate } from "./estimate.ts";
import { compareToCurrent, GROUP_NAMES, signedPoints } from "./wording.ts";

const ROW_HEIGHT = 34;
/** The ends of the axis are so far from the edges, in percent, that half of their numbers has room. */
const EDGE_PERCENT = 6;

/** Recovered money beside the merchant's own system: a point and its range for each way. */
export function drawDifferencePlot({ ways }: CurrencyResult): string {
  const said = ways.flatMap(({ words, money }) => (isEstimate(money) ? [{ words, money }] : []));
  if (said.length === 0) return "";
  const reach = Math.max(0.01, ...said.flatMap(({ money }) => [-money.differenceLow, money.differenceHigh]));
  const step = roundAxisStep(reach);
  const most = Math.ceil(reach / step) * step;
  const x = createAxisScale(-most, most, EDGE_PERCENT, 100 - EDGE_PERCENT);
  const levels = Array.from(
    { length: Math.round((2 * most) / step) + 1 },
    (_, n) => (n - Math.round(most / step)) * step,
  );
  const lines = levels
    .map((at) => `<line class="${at === 0 ? "zero" : "tick"}" x1="${x(at)}%" x2="${x(at)}%" y1="0" y2="100%"/>`)
    .join("");
  const rows = said.map(({ words, money: { difference, differenceLow, differenceHigh }, money }) => {
    const side = compareToCurrent(money);
    return {
      words,
      note: `${signedPoints(difference)} (${signedPoints(differenceLow)} to ${signedPoints(differenceHigh)})`,
      parts: `${lines}<line class="range ${side}" x1="${x(differenceLow)}%" x2="${x(differenceHigh)}%" y1="50%" y2="50%"/><circle class="${side}" cx="${x(difference)}%" cy="50%" r="5"/>`,
    };
  });
  const numbers = levels.map(
    (at) =>
      `<text class="axis" x="${x(at)}%" y="18" text-anchor="middle">${at === 0 ? "0" : signedPoints(at).replace(".0", "")}</text>`,
  );
  return drawRowPlot(
    "Points of recovered money, more or less than your system: the estimate and its range",
    ROW_HEIGHT,
    [...rows, { words: "", note: "", parts: numbers.join("") }],
  );
}

/** How long the merchant's system let pass before its first retry, and how often that succeeded. */
export function drawFirstGapsPlot({ firstGaps }: BacktestResult): string {
  const rows = firstGaps.map(({ words, share, succeeded }) => ({
    words,
    size: share,
    note:
      succeeded === null
        ? formatTenths(share)
        : `${formatTenths(share)}, of which ${formatTenths(succeeded)} succeeded`,
    inner: (succeeded ?? 0) * share,
  }));
  return drawBarPlot("First retry after the failure: how often, and (dark) how often it succeeded", rows);
}

/** Why invoices failed, and what was recovered of each kind. */
export function drawGroupsPlot({ groups }: BacktestResult): string {
  const rows = groups.map(({ group, share, recovered }) => ({
    words: GROUP_NAMES[group],
    size: share,
    note: `${formatTenths(share)}, of which ${formatTenths(recovered)} recovered`,
    inner: recovered * share,
  }));
  return drawBarPlot("Why the first attempt failed, and (dark) how much of it was recovered", rows);
}

/** 1, 2 or 5 of some power of ten: at most three of them fit on each side of nothing, so their numbers stand clear of each other. */
function roundAxisStep(reach: number): number {
  const power = 10 ** Math.floor(Math.log10(reach));
  return [0.2, 0.5, 1, 2].map((part) => part * power).find((step) => reach / step <= 3) ?? 5 * power;
}
