import { calendarOf, monthDate } from "../calendar.ts";
import { DAY_MS } from "../coin.ts";

export const FROM = Date.UTC(2025, 2, 3);
export const TO = FROM + 365 * DAY_MS;
/** People live from here on, so that by the first bill there is as much money as on any day. */
export const LIVES_FROM = FROM - 45 * DAY_MS;
/** Beyond the longest window of the last bill. */
export const LIVES_TO = TO + 40 * DAY_MS;
export const CALENDAR = calendarOf(LIVES_FROM, LIVES_TO);

/** What the season does to spending: the weeks up to Christmas, the sales, a lean January, summer holidays, a new school year. */
export const SEASON = Float64Array.from({ length: CALENDAR.days }, (_, day) => {
  const today = monthDate(CALENDAR, day);
  if (today >= 1225 || today <= 105) return 1.2;
  if (today >= 1125) return 1.5;
  if (today <= 205) return 0.85;
  if (today >= 715 && today <= 825) return 1.2;
  return today > 825 && today <= 910 ? 1.15 : 1;
});
