import { DAY_MS } from "../../domain/durations.ts";
import { scale, ticks } from "../../report/scale.ts";
import { type Html, html } from "../html.ts";

/** Moments that were thought of for one try, as they are drawn. */
export interface PlottedMoments {
  from: Date;
  to: Date;
  /** Moments, earliest first; `chance` from 0 to 1. */
  moments: readonly { at: Date; chance: number; isChosen: boolean; words: string }[];
  ruledOut: readonly { from: Date; to: Date; words: string }[];
  /** Marks below the plot, a row each: other tries that were compared. */
  rows: readonly { label: string; moments: readonly Date[] }[];
}

const WIDTH = 720;
const LEFT = 74;
const RIGHT = 14;
const INSIDE = 10;
const ABOVE = 12;
const BASE = 168;
const ROW = 20;
/** Dates below the plot. */
const LABELS = 7;

/** Moments as dots by their chance, stretches that a rule forbids behind them, and below them the tries that were compared. */
export function momentsPlot(summary: string, plotted: PlottedMoments, dayOf: (at: Date) => string): Html {
  const { from, to, moments, ruledOut, rows } = plotted;
  const x = scale(from.getTime(), Math.max(to.getTime(), from.getTime() + DAY_MS), LEFT + INSIDE, WIDTH - RIGHT);
  const at = (moment: Date) => x(Math.min(to.getTime(), Math.max(from.getTime(), moment.getTime())));
  const steps = ticks(0, Math.max(0.02, ...moments.map(({ chance }) => chance)));
  const y = scale(0, steps.at(-1)!, BASE, ABOVE);
  const height = BASE + rows.length * ROW + 28;
  const every = Math.max(1, Math.ceil((to.getTime() - from.getTime()) / DAY_MS / LABELS));
  const labels = Array.from(
    { length: Math.floor((to.getTime() - from.getTime()) / DAY_MS / every) + 1 },
    (_, n) => new Date(from.getTime() + n * every * DAY_MS),
  ).filter((each) => at(each) < WIDTH - 40);
  return html`<div class="plot" tabindex="0" role="region" aria-label="Plot of the moments"><svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${summary}">
${ruledOut.map((each) => html`<rect class="ruled" x="${at(each.from)}" y="${ABOVE}" width="${Math.max(2, at(each.to) - at(each.from))}" height="${BASE - ABOVE}"><title>${each.words}</title></rect>`)}
${steps.map((value) => html`<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}"/><text x="${LEFT - 8}" y="${y(value) + 4}" text-anchor="end">${Math.round(value * 1000) / 10}%</text>`)}
${moments.map(({ at: moment, chance, isChosen, words }) => html`<circle class="moment${isChosen ? " chosen" : ""}" cx="${at(moment)}" cy="${y(chance)}" r="${isChosen ? 7 : 4}"><title>${words}</title></circle>`)}
${rows.map(({ label, moments: marked }, index) => {
  const middle = BASE + 16 + index * ROW;
  return html`<text x="${LEFT - 8}" y="${middle + 4}" text-anchor="end">${label}</text><line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${middle}" y2="${middle}"/>${marked.map((moment) => html`<circle class="mark" cx="${at(moment)}" cy="${middle}" r="4"/>`)}`;
})}
${labels.map((each) => html`<text x="${at(each)}" y="${height - 6}" text-anchor="start">${dayOf(each)}</text>`)}
</svg></div>`;
}
