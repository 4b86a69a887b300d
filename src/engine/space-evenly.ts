import { HOUR_MS } from "../domain/durations.ts";
import { MIN_GAP_MS } from "./candidate-times.ts";
import type { RetryContext } from "./choose-retry.ts";
import type { CasePosterior } from "./learned/case-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { shortfallDeviations } from "./learned/shortfall.ts";
import { EXPENSIVE_COST_RATE } from "./retry-value.ts";

/** If approvals fall short of the predicted ones by this many standard deviations, some retries are spaced evenly. */
export const SHORTFALL_MIN_DEVIATIONS = 3.5;
/** From this many on, the largest fraction of retries is spaced evenly. */
export const SHORTFALL_FULL_DEVIATIONS = 5.5;
export const MAX_EVENLY_SPACED_RATE = 0.7;
/** More retries than this are not known to do better. */
export const EVENLY_SPACED_RETRY_COUNT = 6;

/** Returns the reference schedule: days after the failure, spaced evenly over the window, the last one an hour before its end. */
export const evenlySpacedDays = (windowDays: number, tries: number): number[] =>
  Array.from({ length: tries }, (_, n) => (windowDays * (n + 1)) / tries - (n + 1 === tries ? 1 / 24 : 0));

/** Returns how many retries of a case may still be spaced evenly. */
const evenlySpacedRetriesLeft = ({ tries }: CasePosterior, { triesLeft }: RetryContext) =>
  Math.min(EVENLY_SPACED_RETRY_COUNT - tries, triesLeft);

/**
 * Returns the fraction of retries that are spaced evenly in spite of the estimates. If far fewer retries were approved recently
 * than predicted, the world has changed: no day is known to be better, and a plan that keeps to the old best days never sees the
 * new ones. Evenly spaced retries are best without knowledge.
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
 * Returns the slot of the next retry if the remaining ones are spaced evenly from the last attempt to shortly before the end of
 * the window.
 *
 * @param slots  times to choose from, earliest first; at least one
 */
export function evenlySpacedSlot(slots: readonly number[], belief: CasePosterior, question: RetryContext): number {
  // Counted from the last attempt and not from charges of other invoices: otherwise a customer who is charged each day would
  // never be retried.
  const { lastTriedAt } = belief;
  const { windowEndsAt } = question;
  const gap = (windowEndsAt - lastTriedAt) / Math.max(1, evenlySpacedRetriesLeft(belief, question));
  return nearestSlot(slots, Math.min(lastTriedAt + Math.max(gap, MIN_GAP_MS), windowEndsAt - HOUR_MS));
}

/** Returns the slot nearest to a time. */
export function nearestSlot(slots: readonly number[], at: number): number {
  let best = 0;
  for (let slot = 1; slot < slots.length; slot++)
    if (Math.abs(slots[slot]! - at) < Math.abs(slots[best]! - at)) best = slot;
  return best;
}
