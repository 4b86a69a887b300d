import { tenths } from "../decisions/shares.ts";
import { escaped } from "../report/page.ts";
import { barPlot, figure, PLOT_WIDTH } from "../report/plots.ts";
import type { Backtest, Book } from "./backtest.ts";
import { isSaid } from "./estimate.ts";
import { GROUP_NAMES, points, sideOf } from "./words.ts";

const ROW = 34;
const LABEL = 260;

/** Recovered money beside the merchant's own system: a point and its range for each way. */
export function differencePlot({ ways }: Book): string {
  const said = ways.flatMap(({ words, money }) => (isSaid(money) ? [{ words, money }] : []));
  if (said.length === 0) return "";
  const reach = Math.max(0.01, ...said.flatMap(({ money }) => [-money.differenceLow, money.differenceHigh]));
  const step = niceStep(reach);
  const most = Math.ceil(reach / step) * step;
  const x = (share: number) => LABEL + 20 + ((share + most) / (2 * most)) * (PLOT_WIDTH - LABEL - 60);
  const bottom = said.length * ROW + 10;
  const ticks = Array.from({ length: Math.round((2 * most) / step) + 1 }, (_, n) => n * step - most);
  const lines = ticks.map(
    (at) =>
      `<line class="${Math.abs(at) < 1e-9 ? "zero" : "tick"}" x1="${x(at)}" x2="${x(at)}" y1="0" y2="${bottom}"/><text class="axis" x="${x(at)}" y="${bottom + 18}" text-anchor="middle">${Math.abs(at) < 1e-9 ? "0" : points(at).replace(".0", "")}</text>`,
  );
  const rows = said.map(({ words, money }, row) => {
    const y = row * ROW + ROW / 2 + 4;
    const side = sideOf(money);
    return `<text x="${LABEL}" y="${y + 5}" text-anchor="end">${escaped(words)}</text><line class="range ${side}" x1="${x(money.differenceLow)}" x2="${x(money.differenceHigh)}" y1="${y}" y2="${y}"/><circle class="${side}" cx="${x(money.difference)}" cy="${y}" r="5"/>`;
  });
  return figure("Points of recovered money, more or less than your system: the estimate and its range", bottom + 28, [
    ...lines,
    ...rows,
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
