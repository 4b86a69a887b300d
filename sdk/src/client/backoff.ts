import type { TransportAnswer } from "./transport.ts";

const FIRST_DELAY_MS = 250;
const DELAY_MAX_MS = 30_000;

/** Whether repeating a request may help. Repeating an ingest is safe. */
export const isRetryable = (status: number) => status === 429 || status >= 500;

/**
 * Half of an exponential delay, plus up to the same length at random, so that many clients do not return at once.
 *
 * @param tries  attempts so far, at least 1: the full delay is 250 ms, 500 ms, 1 s, 2 s, … up to 30 s
 * @param retryAfterMs  the answer's minimum, or 0
 * @param jitter  0 to 1
 */
export function backoffDelayMs(tries: number, retryAfterMs: number, jitter: number) {
  const half = Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** (tries - 1)) / 2;
  return Math.max(retryAfterMs, half) + Math.round(half * jitter);
}

/** Parses either form of `Retry-After`. A date is compared with the answer's `Date`, because the local clock may be wrong. */
export function retryAfterMs({ headers }: Pick<TransportAnswer, "headers">) {
  const value = headers["retry-after"];
  if (value === undefined) return 0;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const delayMs = Date.parse(value) - Date.parse(headers.date ?? "");
  return Number.isFinite(delayMs) ? Math.max(0, delayMs) : 0;
}
