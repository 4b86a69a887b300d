import { DAY_MS } from "./durations.ts";

const DAYS_BY_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** Past events; the second for dates such as a subscription's end. */
const YEAR_MAX = 2199;
export const FUTURE_YEAR_MAX = 9999;
const TIMESTAMP_LENGTH_MIN = 20;
const TIMESTAMP_LENGTH_MAX = 64;
const ZERO = 0x30;
const DASH = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const COLON = 0x3a;
const LOWERCASE_BIT = 0x20; // turns a capital letter into lower case
const LETTER_T = 0x74;
const LETTER_Z = 0x7a;

export const TIMESTAMP_RULE = `must be an RFC 3339 timestamp with Z or an offset, such as 2026-01-31T12:00:00Z, on a real date from 1970 to ${YEAR_MAX}`;
export const FUTURE_TIMESTAMP_RULE = TIMESTAMP_RULE.replace(String(YEAR_MAX), String(FUTURE_YEAR_MAX));

const timestampPattern = (years: string) =>
  `^(${years})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3])(:[0-5][0-9]){2}` +
  "([.][0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";
/** An offset can move the outermost years into range. */
export const TIMESTAMP_PATTERN = timestampPattern("1969|19[7-9][0-9]|2[01][0-9]{2}|2200");
export const FUTURE_TIMESTAMP_PATTERN = timestampPattern("1969|19[7-9][0-9]|[2-9][0-9]{3}");

/**
 * RFC 3339; undefined if invalid. Keeps microseconds. Refuses leap seconds, which nothing can store.
 *
 * @example parseTimestamp("2026-03-01T01:30:00.1239+02:00") // 2026-02-28T23:30:00.123Z
 */
export function parseTimestamp(text: string, yearMax = YEAR_MAX): MicrosecondDate | undefined {
  const time = parseToMs(text, yearMax);
  if (Number.isNaN(time)) return undefined;
  const date: MicrosecondDate = new Date(time);
  const microseconds = Math.round((time - date.getTime()) * 1000);
  if (microseconds > 0) date.microseconds = microseconds;
  return date;
}

/** Two versions of a record may differ by less than a millisecond. */
export interface MicrosecondDate extends Date {
  /** 1 to 999, beyond the milliseconds. */
  microseconds?: number;
}

/** With three decimals; NaN if invalid. */
function parseToMs(text: string, yearMax: number): number {
  if (text.length < TIMESTAMP_LENGTH_MIN || text.length > TIMESTAMP_LENGTH_MAX) return Number.NaN;
  const year = parseTwoDigits(text, 0) * 100 + parseTwoDigits(text, 2);
  const month = parseTwoDigits(text, 5);
  const day = parseTwoDigits(text, 8);
  const hour = parseTwoDigits(text, 11);
  const minute = parseTwoDigits(text, 14);
  const second = parseTwoDigits(text, 17);
  // Invalid numbers are negative. An offset can move the outermost years into range.
  if (year < 1969 || year > yearMax + 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month))
    return Number.NaN;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return Number.NaN;
  if (
    text.charCodeAt(4) !== DASH ||
    text.charCodeAt(7) !== DASH ||
    text.charCodeAt(13) !== COLON ||
    text.charCodeAt(16) !== COLON
  )
    return Number.NaN;
  if ((text.charCodeAt(10) | LOWERCASE_BIT) !== LETTER_T) return Number.NaN;
  let at = 19;
  let microsecond = 0;
  if (text.charCodeAt(at) === POINT) {
    const start = ++at;
    for (let unit = 100_000; at < text.length; at++) {
      const digit = text.charCodeAt(at) - ZERO;
      if (digit < 0 || digit > 9) break;
      microsecond += unit * digit;
      unit = unit <= 1 ? 0 : unit / 10;
    }
    if (at === start) return Number.NaN;
  }
  const isUtc = at === text.length - 1 && (text.charCodeAt(at) | LOWERCASE_BIT) === LETTER_Z;
  const minutes = hour * 60 + minute - (isUtc ? 0 : parseOffsetMinutes(text, at));
  const time = daysSince1970(year, month, day) * DAY_MS + minutes * 60_000 + second * 1000 + microsecond / 1000;
  return time >= 0 && time < daysSince1970(yearMax + 1, 1, 1) * DAY_MS ? time : Number.NaN;
}

/** NaN without an offset. */
function parseOffsetMinutes(text: string, at: number): number {
  if (text.length !== at + 6 || text.charCodeAt(at + 3) !== COLON) return Number.NaN;
  const sign = text.charCodeAt(at);
  if (sign !== PLUS && sign !== DASH) return Number.NaN;
  const hours = parseTwoDigits(text, at + 1);
  const minutes = parseTwoDigits(text, at + 4);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return Number.NaN;
  return (sign === PLUS ? 1 : -1) * (hours * 60 + minutes);
}

const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
const daysIn = (year: number, month: number) => (month === 2 && isLeap(year) ? 29 : DAYS_BY_MONTH[month - 1]!);

/** Howard Hinnant's days_from_civil; faster than Date.UTC. */
function daysSince1970(year: number, month: number, day: number) {
  const marchYear = month > 2 ? year : year - 1;
  const dayOfYear = Math.trunc((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const leapDays = Math.trunc(marchYear / 4) - Math.trunc(marchYear / 100) + Math.trunc(marchYear / 400);
  return marchYear * 365 + leapDays + dayOfYear - 719_468;
}

/** Below any valid number. */
const NO_NUMBER = -1_000_000;

function parseTwoDigits(text: string, at: number) {
  const high = text.charCodeAt(at) - ZERO;
  const low = text.charCodeAt(at + 1) - ZERO;
  return high >= 0 && high <= 9 && low >= 0 && low <= 9 ? high * 10 + low : NO_NUMBER;
}
