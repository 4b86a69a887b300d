import { HOUR_MS } from "../domain/durations.ts";
import { MIN_GAP_MS } from "./candidate-times.ts";
import type { RetryContext } from "./choose-retry.ts";
import type { CasePosterior } from "./learned/case-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { shortfallDeviations } from "./learned/shortfall.ts";
import { EXPENSIVE_COST_RATE } from "./retry-value.ts";

/** If approvals fall this many standard deviations short of predictions, some retries are spaced evenly. */
export const SHORTFALL_MIN_DEVIATIONS = 3.5;
/** From this many on, the maximum fraction of retries is spaced evenly. */
export const SHORTFALL_FULL_DEVIATIONS = 5.5;
export const MAX_EVENLY_SPACED_RATE = 0.7;
/** More retries are not known to do better. */
export const EVENLY_SPACED_RETRY_COUNT = 6;

/** Returns days after the failure; the last retry is an hour before the window ends. */
export const evenlySpacedDays = (windowDays: number, tries: number): number[] =>
  Array.from({ length: tries }, (_, n) => (windowDays * (n + 1)) / tries - (n + 1 === tries ? 1 / 24 : 0));

const evenlySpacedRetriesLeft = ({ tries }: CasePosterior, { triesLeft }: RetryContext) =>
  Math.min(EVENLY_SPACED_RETRY_COUNT - tries, triesLeft);

/**
 * Fraction of retries spaced evenly in spite of the estimates. If far fewer retries are approved than predicted, the world has
 * changed, and a plan that keeps to the old best days never sees the new ones.
 *
 * @param hopeless  whether the case is not worth retrying
 */
export function evenlySpacedRate(
  learned: LearnedModel,
  belief: CasePosterior,
  question: RetryContext,
  hopeless: boolean,
): number {
  const left = evenlySpacedRetriesLeft(belief, question);
  if (left < 1 || (hopeless && left * question.stakes.cost >= EXPENSIVE_COST_RATE)) return 0;
  const share =
    (shortfallDeviations(learned, belief, question.now) - SHORTFALL_MIN_DEVIATIONS) /
    (SHORTFALL_FULL_DEVIATIONS - SHORTFALL_MIN_DEVIATIONS);
  return MAX_EVENLY_SPACED_RATE * Math.max(0, Math.min(1, share));
}

/**
 * Spaces the remaining retries from the last attempt to shortly before the window ends.
 *
 * @param slots  earliest first; at least one
 */
export function evenlySpacedSlot(slots: readonly number[], belief: CasePosterior, question: RetryContext): number {
  // Not from other invoices' charges: a customer charged each day would never be retried.
  const { lastTriedAt } = belief;
  const { windowEndsAt } = question;
  const gap = (windowEndsAt - lastTriedAt) / Math.max(1, evenlySpacedRetriesLeft(belief, question));
  return nearestSlot(slots, Math.min(lastTriedAt + Math.max(gap, MIN_GAP_MS), windowEndsAt - HOUR_MS));
}

export function nearestSlot(slots: readonly number[], at: number): number {
  let best = 0;
  for (let slot = 1; slot < slots.length; slot++)
    if (Math.abs(slots[slot]! - at) < Math.abs(slots[best]! - at)) best = slot;
  return best;
}
