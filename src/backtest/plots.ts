import { tenths } from "../decisions/shares.ts";
import { barPlot, rowsPlot } from "../report/plots.ts";
import { scale } from "../report/scale.ts";
import type { Backtest, Book } from "./backtest.ts";
import { isSaid } from "./estimate.ts";
import { GROUP_NAMES, points, sideOf } from "./words.ts";

const ROW = 34;
/** The ends of the axis are so far from the edges, in percent, that half of their numbers has room. */
const EDGE = 6;

/** Recovered money beside the merchant's own system: a point and its range for each way. */
export function differencePlot({ ways }: Book): string {
  const said = ways.flatMap(({ words, money }) => (isSaid(money) ? [{ words, money }] : []));
  if (said.length === 0) return "";
  const reach = Math.max(0.01, ...said.flatMap(({ money }) => [-money.differenceLow, money.differenceHigh]));
  const step = niceStep(reach);
  const most = Math.ceil(reach / step) * step;
  const x = scale(-most, most, EDGE, 100 - EDGE);
  const levels = Array.from(
    { length: Math.round((2 * most) / step) + 1 },
    (_, n) => (n - Math.round(most / step)) * step,
  );
  const lines = levels
    .map((at) => `<line class="${at === 0 ? "zero" : "tick"}" x1="${x(at)}%" x2="${x(at)}%" y1="0" y2="100%"/>`)
    .join("");
  const rows = said.map(({ words, money: { difference, differenceLow, differenceHigh }, money }) => {
    const side = sideOf(money);
    return {
      words,
      note: `${points(difference)} (${points(differenceLow)} to ${points(differenceHigh)})`,
      parts: `${lines}<line class="range ${side}" x1="${x(differenceLow)}%" x2="${x(differenceHigh)}%" y1="50%" y2="50%"/><circle class="${side}" cx="${x(difference)}%" cy="50%" r="5"/>`,
    };
  });
  const numbers = levels.map(
    (at) =>
      `<text class="axis" x="${x(at)}%" y="18" text-anchor="middle">${at === 0 ? "0" : points(at).replace(".0", "")}</text>`,
  );
  return rowsPlot("Points of recovered money, more or less than your system: the estimate and its range", ROW, [
    ...rows,
    { words: "", note: "", parts: numbers.join("") },
  ]);
}

/** How long the merchant's system let pass before its first retry, and how often that succeeded. */
export function firstGapsPlot({ firstGaps }: Backtest): string {
  const rows = firstGaps.map(({ words, share, succeeded }) => ({
    words,
    size: share,
    note: succeeded === null ? tenths(share) : `${tenths(share)}, of which ${tenths(succeeded)} succeeded`,
    inner: (succeeded ?? 0) * share,
  }));
  return barPlot("First retry after the failure: how often, and (dark) how often it succeeded", rows);
}

/** Why invoices failed, and what was recovered of each kind. */
export function groupsPlot({ groups }: Backtest): string {
  const rows = groups.map(({ group, share, recovered }) => ({
    words: GROUP_NAMES[group],
    size: share,
    note: `${tenths(share)}, of which ${tenths(recovered)} recovered`,
    inner: recovered * share,
  }));
  return barPlot("Why the first attempt failed, and (dark) how much of it was recovered", rows);
}

/** 1, 2 or 5 of some power of ten: at most three of them fit on each side of nothing, so their numbers stand clear of each other. */
function niceStep(reach: number): number {
  const power = 10 ** Math.floor(Math.log10(reach));
  return [0.2, 0.5, 1, 2].map((part) => part * power).find((step) => reach / step <= 3) ?? 5 * power;
}
