const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Service time from failed attempt 1, 2, … to the next. */
const DELAYS_MS = [100, 5 * SECOND, 15 * SECOND, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE];

export const RETRY_AFTER_MAX_MS = 24 * 60 * MINUTE;

/**
 * @param number  the failed attempt's
 * @param endedAt  service time
 * @param retryAfterMs  can only move the attempt later
 */
export function nextAttemptDueAt(number: number, endedAt: Date, retryAfterMs = 0): Date {
  const delayMs = DELAYS_MS[number - 1];
  if (delayMs === undefined) throw new RangeError(`no attempt follows number ${number}`);
  return new Date(endedAt.getTime() + Math.max(delayMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS)));
}

/**
 * `Retry-After` is seconds or an HTTP date. Returns 0 if it is missing, past or invalid.
 *
 * @param now  real time
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function parseRetryAfterMs(field: string | null, now: Date): number {
  const text = field?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND;
  // `Date.parse` would accept more than HTTP dates.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return 0;
  const at = Date.parse(text);
  return Number.isNaN(at) ? 0 : Math.max(0, at - now.getTime());
}
