import type { TransportAnswer } from "./transport.ts";

const FIRST_DELAY_MS = 250;
const DELAY_MAX_MS = 30_000;

/** Answers that a repetition may turn into a success: too fast, or something is down for a moment. Ingest is safe to repeat. */
export const isRetryable = (status: number) => status === 429 || status >= 500;

/**
 * How long to wait before the next try: half of a delay that doubles, and up to as much again by chance, so that many
 * clients don't come back at once.
 *
 * @param tries  tries made so far, at least 1: delays of 250 ms, 500 ms, 1 s, 2 s, … up to 30 s
 * @param retryAfterMs  what the answer asked for, else 0: it is never undercut
 * @param jitter  0 to 1
 */
export function backoffDelayMs(tries: number, retryAfterMs: number, jitter: number) {
  const half = Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** (tries - 1)) / 2;
  return Math.max(retryAfterMs, half) + Math.round(half * jitter);
}

/** `Retry-After` in either form, 0 without one. The date form is read against the answer's own `Date`, so our clock may be wrong. */
export function retryAfterMs({ headers }: Pick<TransportAnswer, "headers">) {
  const value = headers["retry-after"];
  if (value === undefined) return 0;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const delayMs = Date.parse(value) - Date.parse(headers.date ?? "");
  return Number.isFinite(delayMs) ? Math.max(0, delayMs) : 0;
}
