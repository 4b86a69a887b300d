import { DAY_MS } from "../domain/durations.ts";

/** `month` 1 to 12, `weekday` 0 for Sunday. */
export interface LocalDay {
  year: number;
  month: number;
  day: number;
  weekday: number;
}

/** Caches offsets, since Intl is slow. No zone changes its offset twice in a day. */
export interface Zone {
  name: string;
  format: Intl.DateTimeFormat;
  /** By UTC day number; NaN on days with a change. */
  offsets: Map<number, number>;
}

const zoneByName = new Map<string, Zone | null>();
/** IANA has some 600 names; misspelled ones must not fill the memory. */
const MAX_ZONES = 2000;
const MAX_OFFSETS = 2000;

/** Takes an IANA name; null if unknown. */
export function findZone(name: string): Zone | null {
  const knownZone = zoneByName.get(name);
  if (knownZone !== undefined) return knownZone;
  if (zoneByName.size >= MAX_ZONES) zoneByName.clear();
  const zone = createZone(name);
  zoneByName.set(name, zone);
  return zone;
}

function createZone(name: string): Zone | null {
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    return { name, format, offsets: new Map() };
  } catch {
    return null; // RangeError: no such zone.
  }
}

/** In milliseconds. */
export function offsetMs(zone: Zone, at: number): number {
  const day = Math.floor(at / DAY_MS);
  let offset = zone.offsets.get(day);
  if (offset === undefined) {
    if (zone.offsets.size >= MAX_OFFSETS) zone.offsets.clear();
    const firstOffset = exactOffsetMs(zone, day * DAY_MS);
    offset = firstOffset === exactOffsetMs(zone, (day + 1) * DAY_MS) ? firstOffset : Number.NaN;
    zone.offsets.set(day, offset);
  }
  return Number.isNaN(offset) ? exactOffsetMs(zone, at) : offset;
}

function exactOffsetMs(zone: Zone, at: number) {
  const second = Math.floor(at / 1000) * 1000;
  const field: Record<string, number> = {};
  for (const part of zone.format.formatToParts(second)) field[part.type] = Number(part.value);
  const { year, month, day, hour, minute } = field as Record<"year" | "month" | "day" | "hour" | "minute", number>;
  return Date.UTC(year, month - 1, day, hour, minute, field.second!) - second;
}

export function localDay(zone: Zone, at: number): LocalDay {
  const local = new Date(at + offsetMs(zone, at));
  return dayOf(local);
}

/** 0 to 23 */
export const localHour = (zone: Zone, at: number): number => new Date(at + offsetMs(zone, at)).getUTCHours();

const dayOf = (local: Date): LocalDay => ({
  year: local.getUTCFullYear(),
  month: local.getUTCMonth() + 1,
  day: local.getUTCDate(),
  weekday: local.getUTCDay(),
});

export const addDays = (day: LocalDay, days: number): LocalDay =>
  dayOf(new Date(Date.UTC(day.year, day.month - 1, day.day + days)));

export const atLocalTime = (zone: Zone, { year, month, day }: LocalDay, hour: number): number =>
  fromLocalTime(zone, Date.UTC(year, month - 1, day, hour));

/** `localMs`: local time written as UTC. Times that clocks skip move past the change; of a repeated time, the first is taken. */
export function fromLocalTime(zone: Zone, localMs: number): number {
  const before = offsetMs(zone, localMs - DAY_MS);
  const after = offsetMs(zone, localMs + DAY_MS);
  if (before === after) return localMs - before;
  const earlier = localMs - Math.max(before, after);
  const laterGuess = localMs - Math.min(before, after);
  for (const at of [earlier, laterGuess]) if (at + offsetMs(zone, at) === localMs) return at;
  return localMs - before;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = "January February March April May June July August September October November December".split(" ");

/** "Tue 14 April" */
export const formatDay = ({ weekday, day, month }: LocalDay) => `${WEEKDAYS[weekday]} ${day} ${MONTHS[month - 1]}`;

const padTwoDigits = (number: number) => `${number < 10 ? "0" : ""}${number}`;

/** "09:07" */
export function formatClock(zone: Zone, at: number): string {
  const local = new Date(at + offsetMs(zone, at));
  return `${padTwoDigits(local.getUTCHours())}:${padTwoDigits(local.getUTCMinutes())}`;
}

/** "Tue 14 April, 09:07 (Europe/Berlin)" */
export const formatZonedTime = (zone: Zone, at: number) =>
  `${formatDay(localDay(zone, at))}, ${formatClock(zone, at)} (${zone.name})`;
