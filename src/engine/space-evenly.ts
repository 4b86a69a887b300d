import { HOUR_MS } from "../domain/durations.ts";
import { MIN_GAP_MS } from "./candidate-times.ts";
import type { RetryContext } from "./choose-retry.ts";
import type { CasePosterior } from "./learned/case-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { shortfallDeviations } from "./learned/shortfall.ts";
import { EXPENSIVE_COST_RATE } from "./retry-value.ts";

/** From so many standard deviations on, fewer approvals than half of those that were said are no chance: some tries are spread evenly. */
export const SHORTFALL_MIN_DEVIATIONS = 3.5;
/** From so many on, the largest share of them. */
export const SHORTFALL_FULL_DEVIATIONS = 5.5;
export const MAX_EVENLY_SPACED_RATE = 0.7;
/** Of more tries than these nobody knows that they do better. */
export const EVENLY_SPACED_RETRY_COUNT = 6;

/** The schedule that others are compared with: days after the failure, spread evenly over a window of so many, the last one an hour before its end. */
export const evenlySpacedDays = (windowDays: number, tries: number): number[] =>
  Array.from({ length: tries }, (_, n) => (windowDays * (n + 1)) / tries - (n + 1 === tries ? 1 / 24 : 0));

/** How many of a case's tries may still be spread evenly. */
const evenlySpacedRetriesLeft = ({ tries }: CasePosterior, { triesLeft }: RetryContext) =>
  Math.min(EVENLY_SPACED_RETRY_COUNT - tries, triesLeft);

/**
 * Share of the next tries of such cases that are spread evenly, whatever is believed of days: where far fewer tries were approved of late than was said,
 * the world is not what was learned. Then no day is known to be better, a plan that keeps to what was best never sees what is best now, and even
 * tries are the best that can be done without knowing.
 *
 * @param hopeless  no try seems worth making
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
 * The slot for the next of the tries that are left when they are spread evenly from the last one to the end of the window, the last one shortly before it.
 *
 * @param slots  moments that may be chosen, earliest first; one at least
 */
export function evenlySpacedSlot(slots: readonly number[], belief: CasePosterior, question: RetryContext): number {
  // From the last try on, and not from what comes of other bills: else who is charged each day would never be tried.
  const { lastTriedAt } = belief;
  const { windowEndsAt } = question;
  const gap = (windowEndsAt - lastTriedAt) / Math.max(1, evenlySpacedRetriesLeft(belief, question));
  return nearestSlot(slots, Math.min(lastTriedAt + Math.max(gap, MIN_GAP_MS), windowEndsAt - HOUR_MS));
}

/** The slot nearest to a moment. */
export function nearestSlot(slots: readonly number[], at: number): number {
  let best = 0;
  for (let slot = 1; slot < slots.length; slot++)
    if (Math.abs(slots[slot]! - at) < Math.abs(slots[best]! - at)) best = slot;
  return best;
}
