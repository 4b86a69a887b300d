import type { Merchant } from "../domain/merchant.ts";

/** What a merchant's optional rate lets through: a token for each attempt, by the monotonic clock, saved up for a second at most. */
export interface RateBucket {
  tokens: number;
  filledMs: number;
}

export const createFullBucket = (): RateBucket => ({ tokens: 0, filledMs: Number.NEGATIVE_INFINITY });

type RateLimited = Pick<Merchant, "webhookRate">;

/** How often a lane that has used its rate up comes back: one timer and one read for all that it may send then. */
const REFILL_TURN_SECONDS = 0.1;

/** Attempts that may begin now: Infinity without a rate. */
export function tokensLeft({ webhookRate }: RateLimited, bucket: RateBucket, monotonicMs: number): number {
  if (webhookRate === null) return Number.POSITIVE_INFINITY;
  const gained = ((monotonicMs - bucket.filledMs) / 1_000) * webhookRate;
  bucket.tokens = Math.min(webhookRate, bucket.tokens + gained);
  bucket.filledMs = monotonicMs;
  return Math.floor(bucket.tokens);
}

/** Real milliseconds until the next attempt may begin; 0: now. */
export function rateWaitMs(limited: RateLimited, bucket: RateBucket, monotonicMs: number): number {
  if (limited.webhookRate === null || tokensLeft(limited, bucket, monotonicMs) >= 1) return 0;
  const wanted = Math.max(1, limited.webhookRate * REFILL_TURN_SECONDS);
  // A timer may come a fraction of a millisecond before its time.
  return Math.ceil(((wanted - bucket.tokens) / limited.webhookRate) * 1_000) + 1;
}

/** An attempt begins. */
export function spendToken({ webhookRate }: RateLimited, bucket: RateBucket) {
  if (webhookRate !== null) bucket.tokens -= 1;
}
