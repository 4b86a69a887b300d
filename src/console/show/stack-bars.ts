import { type Html, html } from "../html.ts";
import { formatCount } from "./number-format.ts";

export interface StackBar {
  label: string;
  parts: readonly number[];
}

const WIDTH = 720;
const ROW_HEIGHT = 30;
const LABEL_WIDTH = 160;
const PART_CLASSES = ["part", "rest", "young"];

export function stackBars(
  name: string,
  summary: string,
  names: readonly string[],
  bars: readonly StackBar[],
  textOf: (value: number) => string = formatCount,
): Html {
  const longest = Math.max(1e-9, ...bars.map(({ parts }) => parts.reduce((sum, part) => sum + part, 0)));
  const widthOf = (value: number) => Math.round((value / longest) * (WIDTH - LABEL_WIDTH - 20) * 10) / 10;
  return html`<figure class="chart"><figcaption>${names.map((name, index) => html`<span class="key ${PART_CLASSES[index]!}"></span> ${name} `)}</figcaption>
<div class="plot" tabindex="0" role="region" aria-label="Chart: ${name}"><svg viewBox="0 0 ${WIDTH} ${bars.length * ROW_HEIGHT + 4}" role="img" aria-label="${summary}">
${bars.map(({ label, parts }, row) => {
  let x = LABEL_WIDTH;
  return html`<text class="label" x="${LABEL_WIDTH - 12}" y="${row * ROW_HEIGHT + 20}" text-anchor="end">${label}</text>${parts.map(
    (part, index) => {
      const from = x;
      x += widthOf(part);
      return html`<rect class="${PART_CLASSES[index]!}" x="${from}" y="${row * ROW_HEIGHT + 4}" width="${widthOf(part)}" height="22"><title>${label}: ${textOf(part)} ${names[index]!}</title></rect>`;
    },
  )}`;
})}
</svg></div></figure>`;
}
