import { DAY_MS, HOUR_MS } from "./keyed-random.ts";

/** In local days. A monthly `day` after the month's end means its last day. */
export type PayRhythm =
  | { kind: "weekly"; weekday: number }
  | { kind: "fortnightly"; weekday: number; phase: 0 | 1 }
  | { kind: "monthly"; day: number }
  | { kind: "twice_monthly"; days: readonly [number, number] };

export interface PaySchedule {
  rhythm: PayRhythm;
  utcOffsetHours: number;
  /** Local hour. */
  postingHour: number;
}

/** After `afterMs`, earliest first. Pay dated on a weekend is posted on the Friday before. */
export function findNextPaydays(paid: PaySchedule, afterMs: number, count: number): number[] {
  const offsetMs = paid.utcOffsetHours * HOUR_MS;
  const found: number[] = [];
  for (let day = Math.floor((afterMs + offsetMs) / DAY_MS); found.length < count; day++) {
    const at = day * DAY_MS + paid.postingHour * HOUR_MS - offsetMs;
    if (at > afterMs && isPayday(paid.rhythm, day)) found.push(at);
  }
  return found;
}

/** @param day  local days since January 1, 1970, a Thursday */
function isPayday(rhythm: PayRhythm, day: number) {
  const weekday = (day + 4) % 7;
  switch (rhythm.kind) {
    case "weekly":
      return weekday === rhythm.weekday;
    case "fortnightly":
      return weekday === rhythm.weekday && Math.floor((day + 4) / 7) % 2 === rhythm.phase;
    case "monthly":
      return isPostedOnDay(rhythm.day, day, weekday);
    case "twice_monthly":
      return rhythm.days.some((date) => isPostedOnDay(date, day, weekday));
  }
}

/** On that day itself, or on the Friday before its weekend. */
function isPostedOnDay(date: number, day: number, weekday: number) {
  if (weekday === 0 || weekday === 6) return false;
  const nominalDays = weekday === 5 ? [day, day + 1, day + 2] : [day];
  return nominalDays.some((nominal) => {
    const at = new Date(nominal * DAY_MS);
    const lastDate = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate();
    return at.getUTCDate() === Math.min(date, lastDate);
  });
}
