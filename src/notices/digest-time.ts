import type { MemberNotices } from "../domain/notice.ts";
import { addDays, atLocalTime, findZone, localDay } from "../engine/local-time.ts";

/** Sunday is 0 in a local day, and 7 in the settings. */
const DAYS_PER_WEEK = 7;

/**
 * Returns when the next digest is written after a time, or null if there is none.
 *
 * @param zoneName  of the person
 */
export function nextDigestAt(
  { digest, digestWeekday, digestHour }: MemberNotices,
  zoneName: string,
  after: Date,
): Date | null {
  if (digest === "off") return null;
  const zone = findZone(zoneName) ?? findZone("UTC")!;
  const today = localDay(zone, after.getTime());
  for (let days = 0; days <= DAYS_PER_WEEK; days++) {
    const day = addDays(today, days);
    const at = atLocalTime(zone, day, digestHour);
    const isRightDay = digest === "daily" || day.weekday === digestWeekday % DAYS_PER_WEEK;
    if (isRightDay && at > after.getTime()) return new Date(at);
  }
  throw new Error("a week has every weekday");
}
