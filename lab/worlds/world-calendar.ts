import { DAY_MS, HOUR_MS } from "./keyed-uniform.ts";

export interface Calendar {
  firstDay: number;
  days: number;
  /** 0 is Sunday. */
  weekday: Uint8Array;
  date: Uint8Array;
  /** 1 to 12. */
  month: Uint8Array;
  lastDate: Uint8Array;
}

export interface Zone {
  utcOffsetHours: number;
  summer?: "US" | "EU" | "AU";
}

/** With two more days at either end for local time. */
export function calendarOf(from: number, to: number): Calendar {
  const firstDay = Math.floor(from / DAY_MS) - 2;
  const days = Math.ceil(to / DAY_MS) + 2 - firstDay;
  const dates = Array.from({ length: days }, (_, day) => new Date((firstDay + day) * DAY_MS));
  return {
    firstDay,
    days,
    weekday: Uint8Array.from(dates, (date) => date.getUTCDay()),
    date: Uint8Array.from(dates, (date) => date.getUTCDate()),
    month: Uint8Array.from(dates, (date) => date.getUTCMonth() + 1),
    lastDate: Uint8Array.from(dates, (date) => lastDateOfMonth(date.getUTCFullYear(), date.getUTCMonth())),
  };
}

const lastDateOfMonth = (year: number, month: number) => new Date(Date.UTC(year, month + 1, 0)).getUTCDate();

export const monthDate = ({ month, date }: Calendar, day: number) => month[day]! * 100 + date[day]!;

/** In 2025. Other years differ by a few days, which does not matter here. */
const SUMMER_TIMES = { US: [309, 1101], EU: [330, 1025], AU: [1005, 405] } as const;

/** Returns by calendar day how far local time is ahead of UTC, in ms. */
export function computeOffsets({ utcOffsetHours, summer }: Zone, calendar: Calendar): Float64Array {
  return Float64Array.from({ length: calendar.days }, (_, day) => {
    const today = monthDate(calendar, day);
    const [first, last] = summer ? SUMMER_TIMES[summer] : [Number.POSITIVE_INFINITY, 0];
    const isSummer = first < last ? today >= first && today <= last : today >= first || today <= last;
    return (utcOffsetHours + Number(isSummer)) * HOUR_MS;
  });
}

export const toLocalTime = (calendar: Calendar, offsets: Float64Array, at: number) =>
  at + offsets[Math.floor(at / DAY_MS) - calendar.firstDay]!;

export const calendarDayOf = ({ firstDay }: Calendar, local: number) => Math.floor(local / DAY_MS) - firstDay;

/** With its fraction. */
export const hourOf = (local: number) => (local / HOUR_MS) % 24;

/** Month and date. Holidays that follow the moon are as in 2025. */
const HOLIDAYS: Readonly<Record<string, readonly number[]>> = {
  US: [120, 217, 526, 619, 704, 901, 1127, 1128],
  GB: [418, 421, 505, 526, 825, 1226],
  DE: [418, 421, 501, 529, 609, 1003, 1226],
  FR: [421, 501, 508, 529, 714, 815, 1111],
  ES: [106, 418, 501, 815, 1013, 1206, 1208],
  AU: [127, 418, 421, 425, 609, 1226],
  IN: [126, 314, 815, 1002, 1020, 1021],
  SG: [129, 130, 501, 809, 1020],
  BR: [303, 304, 421, 501, 907, 1120],
  SA: [330, 331, 401, 606, 607, 608, 923],
  MX: [205, 501, 916, 1120, 1212],
};
const HOLIDAYS_EVERYWHERE = [101, 1225];

/** 1 for each calendar day on which banks and offices work. */
export function computeWorkDays(country: string, calendar: Calendar): Uint8Array {
  const holidays = new Set([...HOLIDAYS_EVERYWHERE, ...(HOLIDAYS[country] ?? [])]);
  // Saudi Arabia works from Sunday to Thursday.
  const weekend = country === "SA" ? [5, 6] : [0, 6];
  return Uint8Array.from({ length: calendar.days }, (_, day) =>
    Number(!weekend.includes(calendar.weekday[day]!) && !holidays.has(monthDate(calendar, day))),
  );
}

/** At the same time of day: on `date`, or on a shorter month's last day. */
export function addMonths(start: number, months: number, date: number): number {
  const first = new Date(start);
  const year = first.getUTCFullYear();
  const month = first.getUTCMonth() + months;
  return Date.UTC(year, month, Math.min(date, lastDateOfMonth(year, month))) + (start % DAY_MS);
}
