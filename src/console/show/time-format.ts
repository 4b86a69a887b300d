import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { parseTimestamp } from "../../domain/timestamp.ts";
import { findZone, fromLocalTime } from "../../engine/local-time.ts";
import { type Html, html } from "../html.ts";

const formatsByZone = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const cached = formatsByZone.get(zone);
  if (cached) return cached;
  const format = new Intl.DateTimeFormat("en", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "longOffset",
  });
  formatsByZone.set(zone, format);
  return format;
}

/** `offset` such as +02:00. */
function timePartsIn(zone: string, at: Date) {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  ) as Record<"year" | "month" | "day" | "hour" | "minute" | "second" | "timeZoneName", string>;
  return { ...parts, offset: parts.timeZoneName === "GMT" ? "+00:00" : parts.timeZoneName.slice(3, 9) };
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export type TimePrecision = "minute" | "second" | "millisecond";

/** "9 Mar 2026 14:05". */
export function formatTime(at: Date, zone: string, precision: TimePrecision = "minute"): string {
  const { year, month, day, hour, minute, second } = timePartsIn(zone, at);
  const rest = { minute: "", second: `:${second}`, millisecond: `:${second}${at.toISOString().slice(19, 23)}` };
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year} ${hour}:${minute}${rest[precision]}`;
}

/** 2026-03-09 becomes "9 Mar 2026". */
export function formatDay(date: string): string {
  const [year, month, day] = date.split("-");
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}`;
}

/** 2026-03-09T14:05:00.000+01:00. */
export function formatZonedIso(at: Date, zone: string): string {
  const { year, month, day, hour, minute, second, offset } = timePartsIn(zone, at);
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.${at.toISOString().slice(20, 23)}${offset}`;
}

export const timeElement = (at: Date | null, zone: string, precision?: TimePrecision): Html =>
  at === null
    ? html`<span class="soft">–</span>`
    : html`<time datetime="${at.toISOString()}" title="${at.toISOString()}">${formatTime(at, zone, precision)}</time>`;

const UNITS = [
  ["day", DAY_MS],
  ["hour", HOUR_MS],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** The largest unit, rounded down: "3 days", "25 minutes". */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const [name, unitMs] = UNITS.find(([, unitMs]) => ms >= unitMs)!;
  const whole = Math.floor(ms / unitMs);
  return `${whole} ${name}${whole === 1 ? "" : "s"}`;
}

/** "in 14 minutes" of service time, which runs at `clockRate`. */
export function countdown(at: Date, now: Date, clockRate: number): Html {
  const ms = at.getTime() - now.getTime();
  if (ms <= 0) return html`due now`;
  return html`<span role="timer" data-countdown="${ms}" data-rate="${clockRate}">in ${formatDuration(ms)}</span>`;
}

/** 2026-03-09T14:05, as fields of type datetime-local send it. */
export function toDatetimeLocal(at: Date, zone: string): string {
  const { year, month, day, hour, minute } = timePartsIn(zone, at);
  return `${year}-${month}-${day}T${hour}:${minute}`;
}

/** null if invalid. Of two times the first; in a gap the time after it. */
export function parseDatetimeLocal(text: string, zone: string): Date | null {
  const match = /^[\d-]+T\d\d:\d\d(:\d\d)?$/.exec(text);
  const localTime = match && parseTimestamp(`${text}${match[1] === undefined ? ":00" : ""}Z`);
  if (!localTime) return null;
  return new Date(fromLocalTime(findZone(zone)!, localTime.getTime()));
}
