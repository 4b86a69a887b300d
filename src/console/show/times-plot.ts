import { DAY_MS } from "../../domain/durations.ts";
import { axisTicks, createAxisScale } from "../../report/axis-scale.ts";
import { type Html, html } from "../html.ts";

export interface PlottedTimes {
  from: Date;
  to: Date;
  /** Earliest first. `value` is a share of the amount due, null if it was not computed. */
  times: readonly { at: Date; value: number | null; chance: number; isChosen: boolean; words: string }[];
  ruledOut: readonly { from: Date; to: Date; words: string }[];
  /** A row of marks each. */
  rows: readonly { label: string; times: readonly Date[] }[];
  days: readonly { at: Date; text: string }[];
}

const WIDTH = 720;
const PADDING_LEFT = 90;
const PADDING_RIGHT = 14;
const PADDING_INSIDE = 10;
const ROW_HEIGHT = 20;
const VALUE_AXIS = { above: 24, base: 138 };
const PROBABILITY_AXIS = { above: 172, base: 230 };
/** A smaller range would exaggerate small differences. */
const VALUE_SPAN_MIN = 0.02;
const HALF_LABEL_WIDTH = 22;

/** A rule forbids shaded periods. */
export function timesPlot(summary: string, plotted: PlottedTimes): Html {
  const { from, to, times, ruledOut, rows, days } = plotted;
  const x = createAxisScale(
    from.getTime(),
    Math.max(to.getTime(), from.getTime() + DAY_MS),
    PADDING_LEFT + PADDING_INSIDE,
    WIDTH - PADDING_RIGHT,
  );
  const xOf = (time: Date) => x(Math.min(to.getTime(), Math.max(from.getTime(), time.getTime())));
  const values = times.flatMap(({ value }) => (value === null ? [] : [value]));
  const low = values.length > 0 ? Math.min(...values) : 0;
  const valueSteps = axisTicks(low, Math.max(low + VALUE_SPAN_MIN, ...values));
  const probabilitySteps = axisTicks(0, Math.max(VALUE_SPAN_MIN, ...times.map(({ chance }) => chance)));
  const panel = (
    name: string,
    steps: readonly number[],
    { above, base }: typeof VALUE_AXIS,
    isValue: boolean,
  ): Html => {
    const y = createAxisScale(steps[0]!, steps.at(-1)!, base, above);
    const lines = steps.length > 4 && !isValue ? steps.filter((_, n) => n % 2 === 0) : steps;
    return html`<text class="label" x="${PADDING_LEFT}" y="${above - 10}">${name}</text>
${ruledOut.map((each) => html`<rect class="ruled" x="${xOf(each.from)}" y="${above}" width="${Math.max(2, xOf(each.to) - xOf(each.from))}" height="${base - above}"><title>${each.words}</title></rect>`)}
${lines.map((step) => html`<line x1="${PADDING_LEFT}" x2="${WIDTH - PADDING_RIGHT}" y1="${y(step)}" y2="${y(step)}"/><text x="${PADDING_LEFT - 8}" y="${y(step) + 4}" text-anchor="end">${Math.round(step * 1000) / 10}%</text>`)}
${times.map(({ at: time, value, chance, isChosen, words }) => {
  const height = isValue ? value : chance;
  return height === null
    ? null
    : html`<circle class="${isValue ? "moment" : "moment chance"}${isChosen ? " chosen" : ""}" cx="${xOf(time)}" cy="${y(height)}" r="${isChosen ? 7 : 4}"><title>${words}</title></circle>`;
})}`;
  };
  const bottom = PROBABILITY_AXIS.base + rows.length * ROW_HEIGHT;
  return html`<div class="plot" tabindex="0" role="region" aria-label="Plot of the times"><svg viewBox="0 0 ${WIDTH} ${bottom + 32}" role="img" aria-label="${summary}">
${panel("Expected value, share of the amount due", valueSteps, VALUE_AXIS, true)}
${panel("Success probability of this retry", probabilitySteps, PROBABILITY_AXIS, false)}
${rows.map(({ label, times: marked }, index) => {
  const middle = PROBABILITY_AXIS.base + 18 + index * ROW_HEIGHT;
  return html`<text x="${PADDING_LEFT - 8}" y="${middle + 4}" text-anchor="end">${label}</text><line x1="${PADDING_LEFT}" x2="${WIDTH - PADDING_RIGHT}" y1="${middle}" y2="${middle}"/>${marked.map((time) => html`<circle class="mark" cx="${xOf(time)}" cy="${middle}" r="4"/>`)}`;
})}
${days.filter((day) => xOf(day.at) + HALF_LABEL_WIDTH < WIDTH).map((day) => html`<line class="day" x1="${xOf(day.at)}" x2="${xOf(day.at)}" y1="${bottom + 8}" y2="${bottom + 14}"/><text x="${xOf(day.at)}" y="${bottom + 26}" text-anchor="middle">${day.text}</text>`)}
</svg></div>`;
}
