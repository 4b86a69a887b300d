import { DAY_MS } from "../keyed-uniform.ts";
import { calendarOf, monthDate } from "../world-calendar.ts";

export const YEAR_START = Date.UTC(2025, 2, 3);
export const YEAR_END = YEAR_START + 365 * DAY_MS;
/** Early, so people have a usual amount of money by the first invoice. */
export const SIMULATION_START = YEAR_START - 45 * DAY_MS;
/** Later than the last invoice's window. */
export const SIMULATION_END = YEAR_END + 40 * DAY_MS;
export const CALENDAR = calendarOf(SIMULATION_START, SIMULATION_END);

/** More before Christmas, in the sales, summer holidays and at the new school year; less in January. */
export const SPENDING_BY_DAY = Float64Array.from({ length: CALENDAR.days }, (_, day) => {
  const today = monthDate(CALENDAR, day);
  if (today >= 1225 || today <= 105) return 1.2;
  if (today >= 1125) return 1.5;
  if (today <= 205) return 0.85;
  if (today >= 715 && today <= 825) return 1.2;
  return today > 825 && today <= 910 ? 1.15 : 1;
});
