import { addDays, type LocalDay } from "./local-time.ts";

export interface PayDay {
  /** Completes "… is a likely pay day: …". */
  words: string;
  /** Higher is likelier. */
  weight: number;
}

/** Besides those everywhere. An assumption. */
const USUAL_PAY_DATES: Readonly<Record<string, readonly number[]>> = {
  CH: [25],
  ES: [28],
  FR: [28],
  GB: [28],
  IT: [27],
  JP: [25],
  KR: [25],
  NL: [25],
  SE: [25],
};
/** Wages, pensions and benefits. */
const USUAL_PAY_DATES_EVERYWHERE: readonly number[] = [1, 15];
/** Weekly or fortnightly wages. */
const PAID_ON_FRIDAYS = new Set(["US", "CA", "GB", "AU"]);
/** Wages are due by then. */
const FIFTH_BUSINESS_DAY = new Set(["BR"]);

/**
 * Assumptions, listed in docs/guides/decisions.md. Pay due on a weekend comes on the business day before; bank holidays are
 * ignored.
 */
export function findPayDay(day: LocalDay, country: string | null): PayDay | null {
  if (isWeekend(day)) return null;
  if (daysToMonthEnd(day) <= daysOffAfter(day)) return { words: "the last business day of the month", weight: 3 };
  const usualDates = country === null ? [] : (USUAL_PAY_DATES[country] ?? []);
  for (const date of usualDates) if (isPostedFor(day, date)) return { words: `wages of the ${date}th`, weight: 3 };
  if (country !== null && FIFTH_BUSINESS_DAY.has(country) && businessDayOfMonth(day) === 5)
    return { words: "the fifth business day of the month", weight: 3 };
  for (const date of USUAL_PAY_DATES_EVERYWHERE)
    if (isPostedFor(day, date)) return { words: date === 1 ? "the first of the month" : `the ${date}th`, weight: 2 };
  if (day.weekday === 5 && country !== null && PAID_ON_FRIDAYS.has(country))
    return { words: "weekly wages come on Fridays", weight: 1 };
  return null;
}

const isWeekend = (day: LocalDay) => day.weekday === 0 || day.weekday === 6;

const daysOffAfter = (day: LocalDay) => (day.weekday === 5 ? 2 : 0);

const daysInMonth = (day: LocalDay) => new Date(Date.UTC(day.year, day.month, 0)).getUTCDate();
const daysToMonthEnd = (day: LocalDay) => daysInMonth(day) - day.day;

/** Or the business day before, if the date is on a weekend. */
function isPostedFor(day: LocalDay, date: number) {
  for (let days = 0; days <= daysOffAfter(day); days++) if (addDays(day, days).day === date) return true;
  return false;
}

function businessDayOfMonth(day: LocalDay) {
  let count = 0;
  for (let date = 1; date <= day.day; date++) if (!isWeekend(addDays(day, date - day.day))) count++;
  return count;
}
