import { axisTicks, createAxisScale } from "../../report/axis-scale.ts";
import { type Html, html } from "../html.ts";

/** Good or bad only if the whole interval is on one side of zero. */
export type IntervalSide = "good" | "bad" | "";

export interface Interval {
  label: string;
  middle: number;
  low: number;
  high: number;
}

export const intervalSide = ({ low, high }: Pick<Interval, "low" | "high">): IntervalSide =>
  low > high ? "" : low > 0 ? "good" : high < 0 ? "bad" : "";

const WIDTH = 720;
const ROW_HEIGHT = 34;
const LABEL_WIDTH = 250;

export function intervalPlot(
  name: string,
  summary: string,
  rows: readonly Interval[],
  textOf: (value: number) => string,
): Html {
  const lows = rows.map(({ low, high }) => Math.min(low, high));
  const highs = rows.map(({ low, high }) => Math.max(low, high));
  const steps = axisTicks(Math.min(0, ...lows), Math.max(0, ...highs));
  const x = createAxisScale(steps[0]!, steps.at(-1)!, LABEL_WIDTH + 24, WIDTH - 24);
  const bottom = rows.length * ROW_HEIGHT + 8;
  return html`<figure class="chart"><div class="plot" tabindex="0" role="region" aria-label="Chart: ${name}"><svg viewBox="0 0 ${WIDTH} ${bottom + 24}" role="img" aria-label="${summary}">
${steps.map((at) => html`<line${at === 0 ? html` class="zero"` : ""} x1="${x(at)}" x2="${x(at)}" y1="0" y2="${bottom}"/><text x="${x(at)}" y="${bottom + 18}" text-anchor="middle">${at === 0 ? "0" : textOf(at)}</text>`)}
${rows.map((row, index) => {
  const y = index * ROW_HEIGHT + ROW_HEIGHT / 2 + 4;
  const side = intervalSide(row);
  return html`<g><title>${row.label}: ${textOf(row.middle)}, between ${textOf(row.low)} and ${textOf(row.high)}</title><text class="label" x="${LABEL_WIDTH}" y="${y + 4}" text-anchor="end">${row.label}</text><line class="range ${side}" x1="${x(row.low)}" x2="${x(row.high)}" y1="${y}" y2="${y}"/><circle class="dot ${side}" cx="${x(row.middle)}" cy="${y}" r="5"/></g>\n`;
})}
</svg></div></figure>`;
}
