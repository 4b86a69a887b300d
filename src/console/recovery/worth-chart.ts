import type { ExcludedPeriod } from "../../domain/decision.ts";
import { addDays, atLocalTime, formatDay, type LocalDay } from "../../engine/local-time.ts";
import { isPostponement } from "../../engine/requests-by-hand.ts";
import { type Html, html } from "../html.ts";
import { dayAt, longTime, type PageClock } from "./page-clock.ts";

/** A time at which a retry was considered. */
export interface WorthMark {
  at: Date;
  /** Money to expect, in major units; null: not compared. */
  worth: number | null;
  isChosen: boolean;
  words: string;
  /** Above the mark. */
  label: string | null;
}

interface WorthDays {
  from: Date;
  to: Date;
  marks: readonly WorthMark[];
  ruledOut: readonly ExcludedPeriod[];
  clock: PageClock;
}

const HEIGHT = 196;
const BASE = 150;
const ROOF = 24;
/** Days with a label; on a phone every second of them. */
const LABELS_MAX = 14;
const DAYS_MAX = 366;
/** Of money above a mark, in percent. */
const LABEL_WIDTH = 11;

/** One place for each day of the customer, from stored instants: a day of a clock change has 23 or 25 hours. */
export function worthChart(label: string, days: WorthDays): Html {
  const starts = listDays(days.from, days.to, days.clock);
  const slot = 100 / (starts.length - 1);
  const top = roundUpAxis(Math.max(0, ...days.marks.map(({ worth }) => worth ?? 0)));
  const y = (value: number) => Number((BASE - ((BASE - ROOF) * Math.max(0, value)) / top).toFixed(2));
  const scale = [0, 1, 2, 3].map((n) => {
    const at = y((n * top) / 3);
    return html`<line class="${n === 0 ? "c-base" : "c-grid"}" x1="0" x2="100%" y1="${at}" y2="${at}"/>${n > 0 && html`<text x="0" y="${at - 4}">${axisText((n * top) / 3)}</text>`}`;
  });
  const chosen = days.marks.find(({ isChosen }) => isChosen);
  const chosenDay = dayIndex(starts, chosen?.at ?? days.from);
  const placeOf = (mark: WorthMark) => markPlace(mark, days.marks, starts, slot);
  const front = [
    ...days.ruledOut.map((period) => drawBan(period, starts, slot, days.clock)),
    ...starts.slice(0, -1).map((start, index) => drawDay(start.day, index, chosenDay, starts.length - 1, slot)),
    ...days.marks.map((mark) => {
      const x = placeOf(mark);
      const isLabelled = mark.isChosen || chosen === undefined || Math.abs(x - placeOf(chosen)) >= LABEL_WIDTH;
      return drawMark(isLabelled ? mark : { ...mark, label: null }, x, y);
    }),
  ];
  return html`<div class="plot" role="img" aria-label="${label}"><svg class="chart" height="${HEIGHT}" aria-hidden="true">${scale}</svg><svg class="chart front" height="${HEIGHT}">${front}</svg></div>`;
}

interface DayStart {
  day: LocalDay;
  at: number;
}

/** The starts of the days from one instant to another, and of the day after. */
function listDays(from: Date, to: Date, clock: PageClock): DayStart[] {
  const startOf = (day: LocalDay): DayStart => ({ day, at: atLocalTime(clock.zone, day, 0) });
  const starts = [startOf(dayAt(clock, from))];
  while (starts.at(-1)!.at <= +to && starts.length <= DAYS_MAX) starts.push(startOf(addDays(starts.at(-1)!.day, 1)));
  return starts;
}

/** Clamped to the days on the chart. */
function dayIndex(starts: readonly DayStart[], at: Date): number {
  const after = starts.findIndex((start) => start.at > +at);
  return after < 0 ? starts.length - 2 : Math.max(0, after - 1);
}

/** In days from the first one; a day's part is of its own length. */
function dayPlace(starts: readonly DayStart[], at: Date): number {
  const index = dayIndex(starts, at);
  const [start, end] = [starts[index]!.at, starts[index + 1]!.at];
  return index + Math.min(1, Math.max(0, (+at - start) / (end - start)));
}

const percent = (value: number) => `${Number(value.toFixed(2))}%`;

/** In the middle of its day, or beside another mark of that day. */
function markPlace(mark: WorthMark, marks: readonly WorthMark[], starts: readonly DayStart[], slot: number): number {
  const index = dayIndex(starts, mark.at);
  const sameDay = marks.filter((each) => dayIndex(starts, each.at) === index).sort((a, b) => +a.at - +b.at);
  return (index + (sameDay.indexOf(mark) + 1) / (sameDay.length + 1)) * slot;
}

function drawMark({ worth, isChosen, words, label, at }: WorthMark, x: number, y: (value: number) => number): Html {
  const top = y(worth ?? 0);
  const anchor = x < 8 ? "start" : x > 92 ? "end" : "middle";
  return html`<g data-at="${at.toISOString()}"><title>${words}</title><line class="c-range${isChosen ? "" : " faint"}" x1="${percent(x)}" x2="${percent(x)}" y1="${BASE}" y2="${top}"/><circle class="c-point${isChosen ? " full" : ""}" cx="${percent(x)}" cy="${top}" r="${isChosen ? 7 : 4.5}"/></g>${label !== null && html`<text class="${isChosen ? "chosen" : "alt"}" x="${percent(x)}" y="${top - 13}" text-anchor="${anchor}">${label}</text>`}\n`;
}

function drawBan(
  { from, to, rule }: ExcludedPeriod,
  starts: readonly DayStart[],
  slot: number,
  clock: PageClock,
): Html {
  const [left, right] = [dayPlace(starts, from) * slot, dayPlace(starts, to) * slot];
  return html`<rect class="c-ban${isPostponement(rule) && " by-hand"}" x="${percent(left)}" width="${percent(right - left)}" y="${ROOF}" height="${BASE - ROOF}"><title>${longTime(clock, from)} to ${longTime(clock, to)}: ${rule}</title></rect>\n`;
}

/** The chosen day always has its label. */
function drawDay(day: LocalDay, index: number, chosenDay: number, count: number, slot: number): Html | null {
  const every = Math.ceil(count / LABELS_MAX);
  if ((index - chosenDay) % every !== 0) return null;
  const kind = index === chosenDay ? "chosen" : ((index - chosenDay) / every) % 2 === 0 ? "" : "alt";
  const x = percent((index + 0.5) * slot);
  const [weekday, date] = formatDay(day).split(" ") as [string, string];
  return html`<text class="${kind}" x="${x}" y="170" text-anchor="middle">${weekday}</text><text class="${kind}" x="${x}" y="186" text-anchor="middle">${date}</text>\n`;
}

const axisText = (major: number) => major.toLocaleString("en", { notation: "compact", maximumFractionDigits: 2 });

/** To 3, 3.6, 4.5 and so on, so that thirds are round. */
function roundUpAxis(value: number): number {
  if (value <= 0) return 3;
  const power = 10 ** Math.floor(Math.log10(value / 3));
  return [3, 3.6, 4.5, 6, 7.5, 9, 12, 15, 18, 24, 30].map((step) => step * power).find((top) => top >= value)!;
}
