import { HOUR_MS } from "../domain/durations.ts";
import type { Belief } from "../model/belief.ts";
import type { Learned } from "../model/learned.ts";
import { shortfallOf } from "../model/shortfall.ts";
import type { TryQuestion } from "./choose-try.ts";
import { GAP_MIN_MS } from "./moments.ts";
import { DEAR } from "./stakes.ts";

/** From so many standard deviations on, fewer approvals than half of those that were said are no chance: some tries are spread evenly. */
export const SHORT_FROM = 3.5;
/** From so many on, the largest share of them. */
export const SHORT_FULL = 5.5;
export const SPREAD_SHARE_MAX = 0.7;
/** Of more tries than these nobody knows that they do better. */
export const EVEN_TRIES = 6;

/** The schedule that others are compared with: days after the failure, spread evenly over a window of so many, the last one an hour before its end. */
export const evenDays = (windowDays: number, tries: number): number[] =>
  Array.from({ length: tries }, (_, n) => (windowDays * (n + 1)) / tries - (n + 1 === tries ? 1 / 24 : 0));

/** How many of a case's tries may still be spread evenly. */
const evenTriesLeft = ({ tries }: Belief, { triesLeft }: TryQuestion) => Math.min(EVEN_TRIES - tries, triesLeft);

/**
 * Share of the next tries of such cases that are spread evenly, whatever is believed of days: where far fewer tries were approved of late than was said,
 * the world is not what was learned. Then no day is known to be better, a plan that keeps to what was best never sees what is best now, and even
 * tries are the best that can be done without knowing.
 *
 * @param hopeless  no try seems worth making
 */
export function spreadShare(learned: Learned, belief: Belief, question: TryQuestion, hopeless: boolean): number {
  const left = evenTriesLeft(belief, question);
  if (left < 1 || (hopeless && left * question.stakes.cost >= DEAR)) return 0;
  const share = (shortfallOf(learned, belief, question.now) - SHORT_FROM) / (SHORT_FULL - SHORT_FROM);
  return SPREAD_SHARE_MAX * Math.max(0, Math.min(1, share));
}

/**
 * The slot for the next of the tries that are left when they are spread evenly from the last one to the end of the window, the last one shortly before it.
 *
 * @param slots  moments that may be chosen, earliest first; one at least
 */
export function evenSlot(slots: readonly number[], belief: Belief, question: TryQuestion): number {
  // From the last try on, and not from what comes of other bills: else who is charged each day would never be tried.
  const { lastTriedAt } = belief;
  const { windowEndsAt } = question;
  const gap = (windowEndsAt - lastTriedAt) / Math.max(1, evenTriesLeft(belief, question));
  return nearest(slots, Math.min(lastTriedAt + Math.max(gap, GAP_MIN_MS), windowEndsAt - HOUR_MS));
}

/** The slot nearest to a moment. */
export function nearest(slots: readonly number[], at: number): number {
  let best = 0;
  for (let slot = 1; slot < slots.length; slot++)
    if (Math.abs(slots[slot]! - at) < Math.abs(slots[best]! - at)) best = slot;
  return best;
}
