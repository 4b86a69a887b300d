import type { Merchant } from "../domain/merchant.ts";

/** One token per attempt, at most one second's worth. */
export interface RateBucket {
  tokens: number;
  /** Monotonic clock. */
  refilledMs: number;
}

export const createFullBucket = (): RateBucket => ({ tokens: 0, refilledMs: Number.NEGATIVE_INFINITY });

type RateLimited = Pick<Merchant, "webhookRate">;

/** A lane waits for this many seconds' worth, so one timer and one read serve several attempts. */
const REFILL_SECONDS = 0.1;

/** Infinity without a rate. */
export function tokensLeft({ webhookRate }: RateLimited, bucket: RateBucket, monotonicMs: number): number {
  if (webhookRate === null) return Number.POSITIVE_INFINITY;
  const gained = ((monotonicMs - bucket.refilledMs) / 1_000) * webhookRate;
  bucket.tokens = Math.min(webhookRate, bucket.tokens + gained);
  bucket.refilledMs = monotonicMs;
  return Math.floor(bucket.tokens);
}

/** Real milliseconds until the next attempt may start. */
export function rateWaitMs(limited: RateLimited, bucket: RateBucket, monotonicMs: number): number {
  if (limited.webhookRate === null || tokensLeft(limited, bucket, monotonicMs) >= 1) return 0;
  const tokensWanted = Math.max(1, limited.webhookRate * REFILL_SECONDS);
  // A timer may fire a fraction of a millisecond early.
  return Math.ceil(((tokensWanted - bucket.tokens) / limited.webhookRate) * 1_000) + 1;
}

export function spendToken({ webhookRate }: RateLimited, bucket: RateBucket) {
  if (webhookRate !== null) bucket.tokens -= 1;
}
