import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";

/** Value, label, and milliseconds of service time. */
export const ROTATION_OVERLAPS = [
  ["now", "ends now", 0],
  ["1h", "for 1 hour", HOUR_MS],
  ["24h", "for 24 hours", DAY_MS],
  ["7d", "for 7 days", 7 * DAY_MS],
] as const;
