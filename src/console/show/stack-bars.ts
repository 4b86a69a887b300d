import { type Html, html } from "../html.ts";
import { count } from "./money.ts";

/** A bar of named parts, from left to right. */
export interface StackBar {
  label: string;
  parts: readonly number[];
}

const WIDTH = 720;
const ROW = 30;
const LABEL = 160;
const KINDS = ["part", "rest", "young"];

/** Bars that lie, each of up to three parts: what was got, what was not, and what nobody knows yet. */
export function stackBars(
  name: string,
  summary: string,
  names: readonly string[],
  bars: readonly StackBar[],
  textOf: (value: number) => string = count,
): Html {
  const most = Math.max(1e-9, ...bars.map(({ parts }) => parts.reduce((sum, part) => sum + part, 0)));
  const wide = (value: number) => Math.round((value / most) * (WIDTH - LABEL - 20) * 10) / 10;
  return html`<figure class="chart"><figcaption>${names.map((name, index) => html`<span class="key ${KINDS[index]!}"></span> ${name} `)}</figcaption>
<div class="plot" tabindex="0" role="region" aria-label="Chart: ${name}"><svg viewBox="0 0 ${WIDTH} ${bars.length * ROW + 4}" role="img" aria-label="${summary}">
${bars.map(({ label, parts }, row) => {
  let x = LABEL;
  return html`<text class="label" x="${LABEL - 12}" y="${row * ROW + 20}" text-anchor="end">${label}</text>${parts.map(
    (part, index) => {
      const from = x;
      x += wide(part);
      return html`<rect class="${KINDS[index]!}" x="${from}" y="${row * ROW + 4}" width="${wide(part)}" height="22"><title>${label}: ${textOf(part)} ${names[index]!}</title></rect>`;
    },
  )}`;
})}
</svg></div></figure>`;
}
