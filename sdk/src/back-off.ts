import type { TransportAnswer } from "./transport.ts";

const FIRST_DELAY_MS = 250;
const DELAY_MAX_MS = 30_000;

/** Answers that a repetition may turn into a success: too fast, or a part of the service is down for a moment. */
export const mayBeRepeated = (status: number) => status === 429 || status === 502 || status === 503 || status === 504;

/**
 * How long to wait before the next try.
 *
 * @param tries  tries made so far, at least 1: 250 ms, 500 ms, 1 s, 2 s, … up to 30 s
 * @param answer  the last answer; its `Retry-After` lengthens the delay and never shortens it
 * @param jitter  0 to 1: how much of a quarter of the delay is added, so that many clients don't come back at once
 */
export function delayBeforeNextTryMs(tries: number, answer: TransportAnswer | null, jitter: number) {
  const exponential = Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** (tries - 1));
  return Math.max(retryAfterMs(answer), Math.round(exponential * (1 + jitter / 4)));
}

/** `Retry-After` in either form. The date form is read against the answer's own `Date`, so our clock may be wrong. */
function retryAfterMs(answer: TransportAnswer | null) {
  const value = answer?.headers["retry-after"];
  if (value === undefined) return 0;
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const delayMs = Date.parse(value) - Date.parse(answer?.headers.date ?? "");
  return Number.isFinite(delayMs) ? Math.max(0, delayMs) : 0;
}
