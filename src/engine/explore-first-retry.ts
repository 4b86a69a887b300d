import type { CasePosterior } from "./learned/case-posterior.ts";
import { elapsedBucket, firstRetryCounts } from "./learned/first-retry-counts.ts";
import type { Forecast } from "./learned/forecast.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import type { RetryPlan } from "./plan-retries.ts";
import { uniformHash } from "./uniform-hash.ts";

/** Share of first tries whose moment is drawn by lot among good ones, so that history can be weighed again for another policy. */
export const EXPLORATION_RATE = 0.03;
/** A moment that is drawn among good ones costs at most this share of what the plan is worth. */
export const EXPLORATION_MAX_LOSS = 0.05;
/** When so many first tries were made in a stretch of time, a quarter of those planned for later would be made there: less, by the limit for all stretches. */
export const EARLY_QUARTER_RATE_COUNT = 3;
/** Of all first tries at most this share is made sooner than planned. */
export const EARLY_MAX_RATE = 0.1;
/** A moment that is drawn among sooner ones costs at most this share of what is due, or what one among good ones may cost. */
export const EARLY_MAX_LOSS = 0.02;
/** No lot costs more US dollars than this: a small invoice teaches as much as a large one. */
export const EXPLORATION_MAX_LOSS_USD = 5;

interface SlotChoice {
  slot: number;
  /** Another slot than the plan's next one. */
  drawn: boolean;
  /** The chance with which a slot was to be chosen. */
  propensityOf(slot: number): number;
}

/** Where no lot is drawn: the plan's next slot. */
export const withoutExploration = (best: number): SlotChoice => ({
  slot: best,
  drawn: false,
  propensityOf: (slot) => Number(slot === best),
});

/** A slot before the planned one, and the share of cases that are tried there. */
interface EarlySlot {
  slot: number;
  share: number;
}

/**
 * The moment of a first try: the plan's next one, but for those that are drawn, to learn.
 *
 * Where first tries are planned for later, nobody sees what sooner ones would bring, and what is once believed of them stays believed: so a stretch of time in
 * which few were made is tried, the fewer the oftener. It costs a try, and the plan's others follow. Of the rest a few are drawn among good moments. What a plan
 * is worth says which are good, not the chance of the try: a slot two weeks later may promise as much, and costs the time and the tries that would have come before it.
 *
 * @param key  names the case: the same is drawn when it is decided again
 * @param worth  what the plan is worth with its next try at each slot that it was chosen from
 * @param dollars  what is due, in US dollars
 */
export function chooseFirstRetry(
  learned: LearnedModel,
  belief: CasePosterior,
  key: string,
  forecast: Forecast,
  plan: RetryPlan,
  worth: readonly number[],
  dollars: number,
): SlotChoice {
  const best = plan.slots[0]!;
  const costMax = EXPLORATION_MAX_LOSS_USD / dollars;
  const sooner = earlySlots(learned, belief, forecast, plan, worth, costMax);
  const good = nearOptimalSlots(plan, worth, costMax);
  const asPlanned = 1 - sooner.reduce((all, { share }) => all + share, 0);
  const propensityOf = (slot: number) => {
    const amongGood = good.includes(slot) ? EXPLORATION_RATE / good.length : 0;
    const amongSooner = sooner.find((one) => one.slot === slot)?.share ?? 0;
    return amongSooner + asPlanned * (amongGood + (slot === best ? 1 - EXPLORATION_RATE : 0));
  };
  const drawn = sampleSlot(key, sooner, good);
  // Where the plan's own is the only good one, or is drawn among them, no lot changed anything.
  return { slot: drawn ?? best, drawn: drawn !== null && drawn !== best, propensityOf };
}

/** The slot that is drawn; null: none, as for most cases. */
function sampleSlot(key: string, sooner: readonly EarlySlot[], good: readonly number[]): number | null {
  let soon = uniformHash(`${key}:soon`);
  for (const { slot, share } of sooner) {
    if (soon < share) return slot;
    soon -= share;
  }
  const drawn = uniformHash(`${key}:lot`);
  return drawn < EXPLORATION_RATE ? good[Math.floor((drawn / EXPLORATION_RATE) * good.length)]! : null;
}

/**
 * The best slot of each stretch of time before the one that is planned for, where that costs little.
 *
 * @param costMax  of any lot, as a share of what is due
 */
function earlySlots(
  learned: LearnedModel,
  belief: CasePosterior,
  { slots }: Forecast,
  plan: RetryPlan,
  worth: readonly number[],
  costMax: number,
): EarlySlot[] {
  const least = plan.worth - Math.min(costMax, Math.max(EXPLORATION_MAX_LOSS * plan.worth, EARLY_MAX_LOSS));
  const planned = elapsedBucket(belief, slots[plan.slots[0]!]!);
  const made = firstRetryCounts(learned, belief);
  const best: { slot: number; worth: number }[] = [];
  for (const [n, slot] of plan.picked.entries()) {
    const stretch = elapsedBucket(belief, slots[slot]!);
    if (stretch >= planned) break;
    if (worth[n]! >= least && worth[n]! > (best[stretch]?.worth ?? Number.NEGATIVE_INFINITY))
      best[stretch] = { slot, worth: worth[n]! };
  }
  const sooner = Object.entries(best).map(([stretch, { slot }]) => ({
    slot,
    share: 1 / (1 + made[Number(stretch)]! / EARLY_QUARTER_RATE_COUNT) ** 2,
  }));
  const sum = sooner.reduce((all, { share }) => all + share, 0);
  const scale = Math.min(1, EARLY_MAX_RATE / sum);
  return sooner.map(({ slot, share }) => ({ slot, share: share * scale }));
}

/** The plan's next slot, and others that cost the plan little. */
function nearOptimalSlots(plan: RetryPlan, worth: readonly number[], costMax: number): number[] {
  const least = plan.worth - Math.min(costMax, EXPLORATION_MAX_LOSS * plan.worth);
  return plan.picked.filter((slot, n) => slot === plan.slots[0] || worth[n]! >= least);
}
