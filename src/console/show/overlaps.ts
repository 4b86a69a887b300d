const HOUR_MS = 3_600_000;

/** How long what was rotated still works: value, words, milliseconds of service time. */
export const OVERLAPS = [
  ["now", "ends now", 0],
  ["1h", "for 1 hour", HOUR_MS],
  ["24h", "for 24 hours", 24 * HOUR_MS],
  ["7d", "for 7 days", 7 * 24 * HOUR_MS],
] as const;
