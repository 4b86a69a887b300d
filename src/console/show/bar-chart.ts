import { type Html, html } from "../html.ts";
import { formatCount, formatShare } from "./number-format.ts";
import { table } from "./table.ts";

export interface Bar {
  label: string;
  part: number;
  rest: number;
  isOpen: boolean;
}

const WIDTH = 720;
const HEIGHT = 200;
const PADDING_LEFT = 44;
const PADDING_BOTTOM = 26;
const PADDING_TOP = 14;

/** The table repeats the numbers for people who cannot see the chart. */
export function barChart(
  summary: string,
  names: { part: string; rest: string; each: string },
  bars: readonly Bar[],
): Html {
  const scaleMax = roundUpScale(Math.max(1, ...bars.map(({ part, rest }) => part + rest)));
  const y = (value: number) => PADDING_TOP + (HEIGHT - PADDING_TOP - PADDING_BOTTOM) * (1 - value / scaleMax);
  const step = (WIDTH - PADDING_LEFT) / Math.max(1, bars.length);
  const width = Math.min(46, step * 0.68);
  const every = Math.ceil(bars.length / 10);
  return html`<figure class="chart">
<figcaption><span class="key part"></span> ${names.part} <span class="key"></span> ${names.rest}</figcaption>
<div class="plot" tabindex="0" role="region" aria-label="Chart"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${summary}">
${[0, scaleMax / 2, scaleMax].map((value) => html`<line x1="${PADDING_LEFT}" x2="${WIDTH}" y1="${y(value)}" y2="${y(value)}"/><text x="${PADDING_LEFT - 6}" y="${y(value) + 4}" text-anchor="end">${Number.isInteger(value) ? formatCount(value) : value}</text>`)}
${bars.map(({ label, part, rest, isOpen }, index) => {
  const x = PADDING_LEFT + step * index + (step - width) / 2;
  const text = `${label}${isOpen ? " (not over yet)" : ""}: ${part} ${names.part}, ${rest} ${names.rest}`;
  return html`<g><title>${text}</title><rect class="rest" x="${x}" y="${y(part + rest)}" width="${width}" height="${y(part) - y(part + rest)}"/><rect class="part" x="${x}" y="${y(part)}" width="${width}" height="${y(0) - y(part)}"/>${
    index % every === 0 && html`<text x="${x + width / 2}" y="${HEIGHT - 8}" text-anchor="middle">${label}</text>`
  }</g>`;
})}
</svg></div>
<details class="more"><summary>The numbers</summary>${table(
    "The numbers",
    [
      {
        head: names.each,
        cell: ({ label, isOpen }: Bar) => html`${label}${isOpen && html` <small>not over yet</small>`}`,
      },
      { head: names.part, cell: ({ part }) => formatCount(part), numeric: true },
      { head: names.rest, cell: ({ rest }) => formatCount(rest), numeric: true },
      { head: "Share", cell: ({ part, rest }) => formatShare(part, part + rest), numeric: true },
    ],
    bars,
  )}</details></figure>`;
}

/** To 2, 4, 10, 20, 40, 100 and so on, so that half of it is whole. */
function roundUpScale(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 10].map((step) => step * power).find((top) => top >= value && top >= 2)!;
}
