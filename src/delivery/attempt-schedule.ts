const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Service time from the end of failed attempt 1, 2, … to the next one: the schedule of the interface, "Events". */
const DELAYS_MS = [100, 5 * SECOND, 15 * SECOND, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE];

/** A receiver may ask for patience, but not for so much that its event is forgotten. */
export const RETRY_AFTER_MAX_MS = 24 * 60 * MINUTE;

/**
 * When the next attempt is due.
 *
 * @param number  of the attempt that failed, 1 to 6
 * @param endedAt  its end, in service time: delays run from here, never from its start
 * @param retryAfterMs  what the receiver asked for; it only ever pushes the attempt later
 */
export function nextAttemptDueAt(number: number, endedAt: Date, retryAfterMs = 0): Date {
  const delayMs = DELAYS_MS[number - 1];
  if (delayMs === undefined) throw new RangeError(`no attempt follows number ${number}`);
  return new Date(endedAt.getTime() + Math.max(delayMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS)));
}

/**
 * Milliseconds that a `Retry-After` field asks to wait: seconds, or an HTTP date. 0 for a missing, past or broken one.
 *
 * @param now  real time: the receiver's dates know no other
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function parseRetryAfterMs(field: string | null, now: Date): number {
  const text = field?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND;
  // Every form of an HTTP date begins with the day's name; anything else Date.parse would take is a guess.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return 0;
  const at = Date.parse(text);
  return Number.isNaN(at) ? 0 : Math.max(0, at - now.getTime());
}
