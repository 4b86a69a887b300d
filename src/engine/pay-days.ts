import { DAY_MS } from "../domain/durations.ts";
import { isPostedOnDate, workingDayOfMonth } from "./learned/pay-cycles.ts";
import type { LocalDay } from "./local-time.ts";

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
  const dayNumber = Date.UTC(day.year, day.month - 1, day.day) / DAY_MS;
  const isPostedFor = (date: number) => isPostedOnDate(date)(dayNumber);
  if (isPostedFor(31)) return { words: "the last business day of the month", weight: 3 };
  const usualDates = country === null ? [] : (USUAL_PAY_DATES[country] ?? []);
  for (const date of usualDates) if (isPostedFor(date)) return { words: `wages of the ${date}th`, weight: 3 };
  if (country !== null && FIFTH_BUSINESS_DAY.has(country) && workingDayOfMonth(dayNumber) === 5)
    return { words: "the fifth business day of the month", weight: 3 };
  for (const date of USUAL_PAY_DATES_EVERYWHERE)
    if (isPostedFor(date)) return { words: date === 1 ? "the first of the month" : `the ${date}th`, weight: 2 };
  if (day.weekday === 5 && country !== null && PAID_ON_FRIDAYS.has(country))
    return { words: "weekly wages come on Fridays", weight: 1 };
  return null;
}
