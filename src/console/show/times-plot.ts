import { DAY_MS } from "../../domain/durations.ts";
import { axisTicks, createAxisScale } from "../../report/axis-scale.ts";
import { type Html, html } from "../html.ts";

/** Times that were compared for one retry, as they are drawn. */
export interface PlottedTimes {
  from: Date;
  to: Date;
  /** Earliest first. `value`: the expected value that the choice used, as a share of the amount due, null if it was not computed; `chance` from 0 to 1. */
  moments: readonly { at: Date; value: number | null; chance: number; isChosen: boolean; words: string }[];
  ruledOut: readonly { from: Date; to: Date; words: string }[];
  /** Marks below the plot, a row each: other plans that were compared. */
  rows: readonly { label: string; moments: readonly Date[] }[];
  /** The beginnings of days that are labeled. */
  days: readonly { at: Date; text: string }[];
}

const WIDTH = 720;
const PADDING_LEFT = 74;
const PADDING_RIGHT = 14;
const PADDING_INSIDE = 10;
const ROW_HEIGHT = 20;
const VALUE_AXIS = { above: 24, base: 138 };
const PROBABILITY_AXIS = { above: 172, base: 230 };
/** Less than this apart, values are drawn as alike as they are. */
const VALUE_SPAN_MIN = 0.02;
/** Half of a date's width. */
const HALF_LABEL_WIDTH = 22;

/**
 * Dots by the expected value of a retry at that time, and below them by its chance. Behind both are the periods that a rule forbids, and under them the plans
 * that were compared. Each date is under the beginning of its day.
 */
export function timesPlot(summary: string, plotted: PlottedTimes): Html {
  const { from, to, moments, ruledOut, rows, days } = plotted;
  const x = createAxisScale(
    from.getTime(),
    Math.max(to.getTime(), from.getTime() + DAY_MS),
    PADDING_LEFT + PADDING_INSIDE,
    WIDTH - PADDING_RIGHT,
  );
  const at = (moment: Date) => x(Math.min(to.getTime(), Math.max(from.getTime(), moment.getTime())));
  const values = moments.flatMap(({ value }) => (value === null ? [] : [value]));
  const low = values.length > 0 ? Math.min(...values) : 0;
  const valueSteps = axisTicks(low, Math.max(low + VALUE_SPAN_MIN, ...values));
  const chanceSteps = axisTicks(0, Math.max(VALUE_SPAN_MIN, ...moments.map(({ chance }) => chance)));
  const panel = (
    name: string,
    steps: readonly number[],
    { above, base }: typeof VALUE_AXIS,
    isValue: boolean,
  ): Html => {
    const y = createAxisScale(steps[0]!, steps.at(-1)!, base, above);
    const lines = steps.length > 4 && !isValue ? steps.filter((_, n) => n % 2 === 0) : steps;
    return html`<text class="label" x="${PADDING_LEFT}" y="${above - 10}">${name}</text>
${ruledOut.map((each) => html`<rect class="ruled" x="${at(each.from)}" y="${above}" width="${Math.max(2, at(each.to) - at(each.from))}" height="${base - above}"><title>${each.words}</title></rect>`)}
${lines.map((step) => html`<line x1="${PADDING_LEFT}" x2="${WIDTH - PADDING_RIGHT}" y1="${y(step)}" y2="${y(step)}"/><text x="${PADDING_LEFT - 8}" y="${y(step) + 4}" text-anchor="end">${Math.round(step * 1000) / 10}%</text>`)}
${moments.map(({ at: moment, value, chance, isChosen, words }) => {
  const height = isValue ? value : chance;
  return height === null
    ? null
    : html`<circle class="${isValue ? "moment" : "moment chance"}${isChosen ? " chosen" : ""}" cx="${at(moment)}" cy="${y(height)}" r="${isChosen ? 7 : 4}"><title>${words}</title></circle>`;
})}`;
  };
  const bottom = PROBABILITY_AXIS.base + rows.length * ROW_HEIGHT;
  return html`<div class="plot" tabindex="0" role="region" aria-label="Plot of the times"><svg viewBox="0 0 ${WIDTH} ${bottom + 32}" role="img" aria-label="${summary}">
${panel("Expected value, share of the amount due", valueSteps, VALUE_AXIS, true)}
${panel("Chance that this retry succeeds", chanceSteps, PROBABILITY_AXIS, false)}
${rows.map(({ label, moments: marked }, index) => {
  const middle = PROBABILITY_AXIS.base + 18 + index * ROW_HEIGHT;
  return html`<text x="${PADDING_LEFT - 8}" y="${middle + 4}" text-anchor="end">${label}</text><line x1="${PADDING_LEFT}" x2="${WIDTH - PADDING_RIGHT}" y1="${middle}" y2="${middle}"/>${marked.map((moment) => html`<circle class="mark" cx="${at(moment)}" cy="${middle}" r="4"/>`)}`;
})}
${days.filter((day) => at(day.at) + HALF_LABEL_WIDTH < WIDTH).map((day) => html`<line class="day" x1="${at(day.at)}" x2="${at(day.at)}" y1="${bottom + 8}" y2="${bottom + 14}"/><text x="${at(day.at)}" y="${bottom + 26}" text-anchor="middle">${day.text}</text>`)}
</svg></div>`;
}
