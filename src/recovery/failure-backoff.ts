const FIRST_BACKOFF_MS = 60_000;
const MAX_BACKOFF_MS = 24 * 60 * 60_000;

/** A minute, then two, four, … at most a day of service time. */
export const failureBackoffMs = (failuresBefore: number) =>
  Math.min(FIRST_BACKOFF_MS * 2 ** failuresBefore, MAX_BACKOFF_MS);
