import { DAY_MS } from "../keyed-uniform.ts";
import { calendarOf, monthDate } from "../world-calendar.ts";

export const YEAR_START = Date.UTC(2024, 8, 2);
export const YEAR_END = YEAR_START + 365 * DAY_MS;
export const SIMULATION_START = YEAR_START - 70 * DAY_MS;
export const SIMULATION_END = YEAR_END + 40 * DAY_MS;
export const CALENDAR = calendarOf(SIMULATION_START, SIMULATION_END);

export const SPENDING_BY_DAY = Float64Array.from({ length: CALENDAR.days }, (_, day) => {
  const month = CALENDAR.month[day]!;
  const today = monthDate(CALENDAR, day);
  if (month === 8) return 0.75;
  if (month === 12) return today > 1220 ? 0.45 : 1.2;
  if (month % 3 === 0 && CALENDAR.date[day]! > 18) return 1.2;
  return month === 5 || month === 10 ? 1.1 : 1;
});
