import { calendarOf, monthDate } from "../calendar.ts";
import { DAY_MS } from "../coin.ts";

export const FROM = Date.UTC(2024, 8, 2);
export const TO = FROM + 365 * DAY_MS;
/** Companies live from here on, so that by the first bill their limits are as full as they are on any day. */
export const LIVES_FROM = FROM - 70 * DAY_MS;
/** Beyond the longest window of the last bill. */
export const LIVES_TO = TO + 40 * DAY_MS;
export const CALENDAR = calendarOf(LIVES_FROM, LIVES_TO);

/** How much companies spend on each day: quarters' ends, conferences, budgets that lapse; August, and the year's last days. */
export const TEMPO = Float64Array.from({ length: CALENDAR.days }, (_, day) => {
  const month = CALENDAR.month[day]!;
  const today = monthDate(CALENDAR, day);
  if (month === 8) return 0.75;
  if (month === 12) return today > 1220 ? 0.45 : 1.2;
  if (month % 3 === 0 && CALENDAR.date[day]! > 18) return 1.2;
  return month === 5 || month === 10 ? 1.1 : 1;
});
