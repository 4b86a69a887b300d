// Charts in two layers: the scale behind, over the whole width; the marks before it, right of the scale's words. Sizes are in percent
// relative to the width, so that text keeps its size.
import type { ConfidenceInterval } from "../../backtest/confidence-intervals.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { IntervalSide } from "./interval-plot.ts";

const percent = (value: number) => `${Number(value.toFixed(2))}%`;
const pixels = (value: number) => Number(value.toFixed(2));

/** @param label  all values in words, for people who cannot see the chart */
const layers = (height: number, label: string, behind: HtmlPart, front: HtmlPart, kind = ""): Html =>
  html`<div class="plot ${kind}" role="group" aria-label="${label}"><svg class="chart" height="${height}" aria-hidden="true">${behind}</svg><svg class="chart front" height="${height}">${front}</svg></div>`;

export interface StepBar {
  label: string;
  /** In the scale's unit. */
  value: number;
  /** Of the period before. */
  before: number;
  /** Whether the step is not over. */
  isOpen: boolean;
  words: string;
  href: string;
}

const BARS_HEIGHT = 236;
const BARS_ROOF = 14;
const AXIS_HEIGHT = 26;
/** More labels would touch each other. */
const LABELS_MAX = 12;

/** One bar a step, with the period before as a dashed outline. Bars begin at zero. */
export function stepBars(label: string, bars: readonly StepBar[], textOf: (value: number) => string): Html {
  const top = roundUp(Math.max(0, ...bars.flatMap(({ value, before }) => [value, before])));
  const base = BARS_HEIGHT - AXIS_HEIGHT;
  const y = (value: number) => pixels(base - ((base - BARS_ROOF) * Math.max(0, value)) / top);
  const slot = 100 / bars.length;
  const every = Math.ceil(bars.length / LABELS_MAX);
  const scale = [0, 1 / 3, 2 / 3, 1].map((share) => {
    const at = y(share * top);
    return html`<line class="${share === 0 ? "c-base" : "c-grid"}" x1="0" x2="100%" y1="${at}" y2="${at}"/>${share > 0 && html`<text x="0" y="${at - 4}">${textOf(share * top)}</text>`}`;
  });
  const marks = bars.map(({ label: name, value, before, isOpen, words, href }, index) => {
    const left = index * slot;
    return html`<a href="${href}"><title>${words}</title>
<rect class="c-prev" x="${percent(left + slot * 0.14)}" width="${percent(slot * 0.72)}" y="${y(before)}" height="${pixels(base - y(before))}" rx="2"/>
<rect class="${isOpen ? "c-part" : "c-bar"}" x="${percent(left + slot * 0.24)}" width="${percent(slot * 0.52)}" y="${y(value)}" height="${pixels(base - y(value))}" rx="2"/></a>
${index % every === 0 && html`<text class="${(index / every) % 2 === 1 ? "alt" : ""}" x="${percent(left + slot / 2)}" y="${BARS_HEIGHT - 6}" text-anchor="middle">${name}</text>`}`;
  });
  return layers(BARS_HEIGHT, label, scale, marks);
}

/** To 3, 6, 9, 15, 30, 60, 90 and so on, so that thirds of it are round. */
function roundUp(value: number): number {
  if (value <= 0) return 3;
  const power = 10 ** Math.floor(Math.log10(value / 3));
  return [3, 6, 9, 15, 30].map((step) => step * power).find((top) => top >= value)!;
}

/** A rate and its interval beside the overall rate, on a scale from 0 to 1. */
export function rateMini(rate: number, { low, high }: ConfidenceInterval, mean: number | null, words: string): Html {
  const x = (value: number) => percent(100 * Math.max(0, Math.min(1, value)));
  return html`<svg class="mini" role="img" aria-label="${words}"><line class="c-grid" x1="0" x2="100%" y1="10" y2="10"/>${mean !== null && html`<line class="c-mean" x1="${x(mean)}" x2="${x(mean)}" y1="0" y2="20"/>`}<line class="c-range" x1="${x(low)}" x2="${x(high)}" y1="10" y2="10"/><circle class="c-point full" cx="${x(rate)}" cy="10" r="3.5"/></svg>`;
}

/** Length: the whole against the largest one; dark: the part. */
export function shareBar(part: number, whole: number, largest: number): Html {
  const x = (value: number) => percent(largest === 0 ? 0 : (100 * value) / largest);
  return html`<svg class="thin" aria-hidden="true"><rect class="c-bar-soft" width="${x(whole)}" height="10" rx="1"/><rect class="c-bar" width="${x(part)}" height="10" rx="1"/></svg>`;
}

/** One effect: its interval against zero. */
export function effectPlot(
  middle: number,
  { low, high }: ConfidenceInterval,
  side: IntervalSide,
  words: { low: string; high: string },
): Html {
  // Leaves room for a label outside each end, also on a phone.
  const reach = 2.2 * Math.max(Math.abs(low), Math.abs(high), 1e-9);
  const x = (value: number) => percent(50 + (50 * value) / reach);
  const tone = side || "neutral";
  return html`<svg class="chart" height="66" role="img" aria-label="From ${words.low} to ${words.high}"><line class="c-grid" x1="0" x2="100%" y1="16" y2="16"/><line class="c-zero" x1="50%" x2="50%" y1="2" y2="26"/><line class="c-range ${tone}" x1="${x(low)}" x2="${x(high)}" y1="16" y2="16"/><line class="c-range ${tone}" x1="${x(low)}" x2="${x(low)}" y1="11" y2="21"/><line class="c-range ${tone}" x1="${x(high)}" x2="${x(high)}" y1="11" y2="21"/><circle class="c-point ${tone}" cx="${x(middle)}" cy="16" r="5"/><text x="${x(low)}" dx="4" y="40" text-anchor="end">${words.low}</text><text x="${x(high)}" dx="-4" y="40">${words.high}</text><text x="50%" dx="-10" y="62" text-anchor="end">← behind your own</text><text x="50%" dx="10" y="62">ahead →</text></svg>`;
}

export interface HeatCell {
  n: number;
  paid: number;
}

const CELL_HEIGHT = 18;
const SHADES = 6;
/** Fewer retries say little. */
export const HEAT_MIN = 20;
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** Shares that were paid, by the week's hour from Monday 0:00 on. Cells with few retries stay blank. */
export function heatMap(cells: readonly HeatCell[], label: string): Html {
  const shares = cells.filter(({ n }) => n >= HEAT_MIN).map(({ n, paid }) => paid / n);
  const [least, most] = [Math.min(...shares), Math.max(...shares)];
  const shadeOf = ({ n, paid }: HeatCell) =>
    n < HEAT_MIN
      ? 0
      : 1 + Math.min(SHADES - 1, Math.floor((SHADES * (paid / n - least)) / Math.max(1e-9, most - least)));
  const height = 7 * CELL_HEIGHT + 22;
  const rows = WEEKDAYS.map((name, day) => html`<text x="0" y="${day * CELL_HEIGHT + 13}">${name}</text>`);
  const marks = cells.map((cell, hour) => {
    const [day, at] = [Math.floor(hour / 24), hour % 24];
    const words = `${WEEKDAYS[day]} ${String(at).padStart(2, "0")}:00: ${cell.n === 0 ? "no retries" : `${cell.paid} of ${cell.n} paid`}`;
    return html`<rect class="h${shadeOf(cell)}" x="${percent((100 * at) / 24)}" width="${percent(100 / 24 - 0.4)}" y="${day * CELL_HEIGHT}" height="${CELL_HEIGHT - 2}" rx="2"><title>${words}</title></rect>`;
  });
  const hours = [0, 3, 6, 9, 12, 15, 18, 21].map(
    (at) => html`<text x="${percent((100 * at) / 24)}" y="${height - 4}">${String(at).padStart(2, "0")}</text>`,
  );
  return html`<div class="plot heat" role="img" aria-label="${label}"><svg class="chart" height="${height}" aria-hidden="true">${rows}</svg><svg class="chart front" height="${height}">${marks}${hours}</svg></div>`;
}
