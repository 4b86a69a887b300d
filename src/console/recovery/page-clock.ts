import { formatClock, formatDay, type LocalDay, localDay, type Zone } from "../../engine/local-time.ts";
import { type Html, html } from "../html.ts";
import { formatTime } from "../show/time-format.ts";

/** The one clock of an invoice's page is the customer's; tooltips have the reader's. */
export interface PageClock {
  zone: Zone;
  readerZone: string;
}

export const dayAt = ({ zone }: PageClock, at: Date): LocalDay => localDay(zone, at.getTime());

/** "Fri 12 March, 09:05" */
export const longTime = (clock: PageClock, at: Date): string =>
  `${formatDay(dayAt(clock, at))}, ${formatClock(clock.zone, at.getTime())}`;

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** "12 Mar" */
export function shortDay(clock: PageClock, at: Date): string {
  const { day, month } = dayAt(clock, at);
  return `${day} ${MONTHS[month - 1]}`;
}

const shortTime = (clock: PageClock, at: Date) => `${shortDay(clock, at)}, ${formatClock(clock.zone, at.getTime())}`;

const readerTime = ({ readerZone }: PageClock, at: Date): string =>
  `Your time (${readerZone}): ${formatTime(at, readerZone)}`;

export const clockTime = (clock: PageClock, at: Date, length: "long" | "short" = "long"): Html =>
  html`<time datetime="${at.toISOString()}" title="${readerTime(clock, at)}">${length === "long" ? longTime(clock, at) : shortTime(clock, at)}</time>`;

/** "Berlin time" */
export const zoneWords = ({ zone: { name } }: PageClock): string =>
  name === "UTC" || name === "Etc/UTC" ? "UTC" : `${name.split("/").at(-1)!.replaceAll("_", " ")} time`;

const MONTH_NAMES = "January February March April May June July August September October November December".split(" ");

/** "March 2027", "March to April 2027" */
export function monthWords(first: LocalDay, last: LocalDay): string {
  const name = ({ month, year }: LocalDay) => `${MONTH_NAMES[month - 1]} ${year}`;
  if (name(first) === name(last)) return name(last);
  return first.year === last.year
    ? `${MONTH_NAMES[first.month - 1]} to ${name(last)}`
    : `${name(first)} to ${name(last)}`;
}
