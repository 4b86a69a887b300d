import { HOUR_MS } from "../domain/durations.ts";
import type { Belief } from "../model/belief.ts";
import type { Learned } from "../model/learned.ts";
import { shortfallOf } from "../model/shortfall.ts";

/** From so many standard deviations on, fewer approvals than were said are no chance: some tries are spread evenly. */
export const SHORT_FROM = 5;
/** From so many on, the largest share of them. */
export const SHORT_FULL = 7;
export const SPREAD_SHARE_MAX = 0.7;
/** Of more tries than these nobody knows that they do better. */
export const EVEN_TRIES = 6;

/**
 * Share of the next tries of such cases that are spread evenly, whatever is believed of moments: where far fewer tries were approved of late than was said,
 * the world is not what was learned. Then no moment is known to be better, a plan that keeps to what was best never sees what is best now, and even
 * tries are the best that can be done without knowing.
 */
export function spreadShare(learned: Learned, belief: Belief): number {
  const share = (shortfallOf(learned, belief) - SHORT_FROM) / (SHORT_FULL - SHORT_FROM);
  return SPREAD_SHARE_MAX * Math.max(0, Math.min(1, share));
}

/**
 * The slot for the next of so many tries that are spread evenly from now to the end of the window, the last one shortly before it.
 *
 * @param slots  moments that may be chosen, earliest first; one at least
 */
export function evenSlot(slots: readonly number[], now: number, windowEndsAt: number, triesLeft: number): number {
  const tries = Math.min(EVEN_TRIES, triesLeft);
  return nearest(slots, Math.min(now + (windowEndsAt - now) / tries, windowEndsAt - HOUR_MS));
}

/** The slot nearest to a moment. */
export function nearest(slots: readonly number[], at: number): number {
  let best = 0;
  for (let slot = 1; slot < slots.length; slot++)
    if (Math.abs(slots[slot]! - at) < Math.abs(slots[best]! - at)) best = slot;
  return best;
}
