import { formatTenths } from "../engine/shares.ts";
import { createAxisScale } from "../report/axis-scale.ts";
import { drawBarPlot, drawRowPlot } from "../report/plots.ts";
import type { BacktestResult, CurrencyResult } from "./backtest.ts";
import { isEstimate } from "./estimate.ts";
import { compareToCurrent, GROUP_NAMES, signedPoints } from "./wording.ts";

const ROW_HEIGHT = 34;
/** From the axis ends to the edges, in percent: room for half a label. */
const EDGE_PERCENT = 6;

/** As a point and its range, compared with the merchant's system. */
export function drawDifferencePlot({ ways }: CurrencyResult): string {
  const estimated = ways.flatMap(({ words, money }) => (isEstimate(money) ? [{ words, money }] : []));
  if (estimated.length === 0) return "";
  const reach = Math.max(0.01, ...estimated.flatMap(({ money }) => [-money.differenceLow, money.differenceHigh]));
  const step = roundAxisStep(reach);
  const max = Math.ceil(reach / step) * step;
  const x = createAxisScale(-max, max, EDGE_PERCENT, 100 - EDGE_PERCENT);
  const levels = Array.from(
    { length: Math.round((2 * max) / step) + 1 },
    (_, n) => (n - Math.round(max / step)) * step,
  );
  const lines = levels
    .map((at) => `<line class="${at === 0 ? "zero" : "tick"}" x1="${x(at)}%" x2="${x(at)}%" y1="0" y2="100%"/>`)
    .join("");
  const rows = estimated.map(({ words, money: { difference, differenceLow, differenceHigh }, money }) => {
    const side = compareToCurrent(money);
    return {
      label: words,
      note: `${signedPoints(difference)} (${signedPoints(differenceLow)} to ${signedPoints(differenceHigh)})`,
      parts: `${lines}<line class="range ${side}" x1="${x(differenceLow)}%" x2="${x(differenceHigh)}%" y1="50%" y2="50%"/><circle class="${side}" cx="${x(difference)}%" cy="50%" r="5"/>`,
    };
  });
  const numbers = levels.map(
    (at) =>
      `<text class="axis" x="${x(at)}%" y="18" text-anchor="middle">${at === 0 ? "0" : signedPoints(at).replace(".0", "")}</text>`,
  );
  return drawRowPlot(
    "Recovered money compared with your system, in percentage points: the estimate and its range",
    ROW_HEIGHT,
    [...rows, { label: "", note: "", parts: numbers.join("") }],
  );
}

export function drawFirstGapsPlot({ firstGaps }: BacktestResult): string {
  const rows = firstGaps.map(({ words, share, succeeded }) => ({
    label: words,
    size: share,
    note:
      succeeded === null
        ? formatTenths(share)
        : `${formatTenths(share)}, of which ${formatTenths(succeeded)} succeeded`,
    innerSize: (succeeded ?? 0) * share,
  }));
  return drawBarPlot("Time from the failure to the first retry: how often, and (dark) how often it succeeded", rows);
}

export function drawGroupsPlot({ groups }: BacktestResult): string {
  const rows = groups.map(({ group, share, recovered }) => ({
    label: GROUP_NAMES[group],
    size: share,
    note: `${formatTenths(share)}, of which ${formatTenths(recovered)} recovered`,
    innerSize: recovered * share,
  }));
  return drawBarPlot("Why the first attempt failed, and (dark) how much of it was recovered", rows);
}

/** Returns 1, 2 or 5 times a power of ten, for at most three labels on each side of zero. */
function roundAxisStep(reach: number): number {
  const power = 10 ** Math.floor(Math.log10(reach));
  return [0.2, 0.5, 1, 2].map((part) => part * power).find((step) => reach / step <= 3) ?? 5 * power;
}
