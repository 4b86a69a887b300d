import { HOUR_MS } from "../domain/durations.ts";
import { MIN_GAP_MS } from "./candidate-times.ts";
import type { RetryContext } from "./choose-retry.ts";
import type { CasePosterior } from "./learned/case-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { shortfallDeviations } from "./learned/shortfall.ts";
import { EXPENSIVE_COST_RATE } from "./retry-value.ts";

/** Approvals short of predictions by this many standard deviations: some retries are spaced evenly. */
export const SHORTFALL_MIN_DEVIATIONS = 3.5;
/** The maximum fraction is spaced evenly. */
export const SHORTFALL_FULL_DEVIATIONS = 5.5;
export const MAX_EVENLY_SPACED_RATE = 0.7;
/** More retries are not known to do better. */
export const EVENLY_SPACED_RETRY_COUNT = 6;

/** Days after the failure; the last is an hour before the window ends. */
export const evenlySpacedDays = (windowDays: number, retryCount: number): number[] =>
  Array.from(
    { length: retryCount },
    (_, n) => (windowDays * (n + 1)) / retryCount - (n + 1 === retryCount ? 1 / 24 : 0),
  );

const evenlySpacedRetriesLeft = ({ retryCount }: CasePosterior, { retriesLeft }: RetryContext) =>
  Math.min(EVENLY_SPACED_RETRY_COUNT - retryCount, retriesLeft);

/**
 * If far fewer retries are approved than predicted, the world has changed, and a plan that keeps to the old best days never sees
 * the new ones.
 */
export function evenlySpacedRate(
  model: LearnedModel,
  posterior: CasePosterior,
  retryContext: RetryContext,
  isNotWorthRetrying: boolean,
): number {
  const retriesLeft = evenlySpacedRetriesLeft(posterior, retryContext);
  if (retriesLeft < 1 || (isNotWorthRetrying && retriesLeft * retryContext.retryValue.cost >= EXPENSIVE_COST_RATE))
    return 0;
  const share =
    (shortfallDeviations(model, posterior, retryContext.now) - SHORTFALL_MIN_DEVIATIONS) /
    (SHORTFALL_FULL_DEVIATIONS - SHORTFALL_MIN_DEVIATIONS);
  return MAX_EVENLY_SPACED_RATE * Math.max(0, Math.min(1, share));
}

/**
 * From the last attempt to shortly before the window ends.
 *
 * @param slots  earliest first; at least one
 */
export function evenlySpacedSlot(
  slots: readonly number[],
  posterior: CasePosterior,
  retryContext: RetryContext,
): number {
  // Other invoices' charges do not count: a customer charged each day would never be retried.
  const { lastTriedAt } = posterior;
  const { windowEndsAt } = retryContext;
  const gap = (windowEndsAt - lastTriedAt) / Math.max(1, evenlySpacedRetriesLeft(posterior, retryContext));
  return nearestSlot(slots, Math.min(lastTriedAt + Math.max(gap, MIN_GAP_MS), windowEndsAt - HOUR_MS));
}

export function nearestSlot(slots: readonly number[], at: number): number {
  let bestSlot = 0;
  for (let slot = 1; slot < slots.length; slot++)
    if (Math.abs(slots[slot]! - at) < Math.abs(slots[bestSlot]! - at)) bestSlot = slot;
  return bestSlot;
}
