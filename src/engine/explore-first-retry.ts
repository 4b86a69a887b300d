import type { CasePosterior } from "./learned/case-posterior.ts";
import { elapsedBucket, firstRetryCounts } from "./learned/first-retry-counts.ts";
import type { Forecast } from "./learned/forecast.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import type { RetryPlan } from "./plan-retries.ts";
import { uniformHash } from "./uniform-hash.ts";

/** Fraction of first retries sampled among good times, so that a backtest can weigh the history for another policy. */
export const EXPLORATION_RATE = 0.03;
/** A sampled good time's maximum cost, as a fraction of the plan's value. */
export const EXPLORATION_MAX_LOSS = 0.05;
/**
 * With this many first retries in a time bucket, a quarter of those planned for later move into it, before the limit for all
 * buckets.
 */
export const EARLY_QUARTER_RATE_COUNT = 3;
/** For all buckets together. */
export const EARLY_MAX_RATE = 0.1;
/** An earlier time costs at most this fraction of the amount due, or as much as a good time may. */
export const EARLY_MAX_LOSS = 0.02;
/** A small invoice teaches as much as a large one. */
export const EXPLORATION_MAX_LOSS_USD = 5;

interface SlotChoice {
  slot: number;
  /** Whether it differs from the plan's next slot. */
  drawn: boolean;
  propensityOf(slot: number): number;
}

export const withoutExploration = (best: number): SlotChoice => ({
  slot: best,
  drawn: false,
  propensityOf: (slot) => Number(slot === best),
});

/** A slot before the planned one, and the fraction of cases moved to it. */
interface EarlySlot {
  slot: number;
  share: number;
}

/**
 * Returns the plan's next slot, except for sampled cases.
 *
 * If all first retries came late, nothing would show how early ones do. So some move to time buckets with few first retries, the
 * more the fewer there are. A few others are sampled among good times, judged by the whole plan's value: a slot two weeks later
 * may succeed as often, but wastes the time and the retries before it.
 *
 * @param key  names the case, which is always sampled the same way
 * @param worth  the plan's value by slot of its next retry
 * @param dollars  amount due
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
  // Nothing changed if the plan's slot is the only good one, or was sampled.
  return { slot: drawn ?? best, drawn: drawn !== null && drawn !== best, propensityOf };
}

/** Returns null for most cases. */
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
 * Returns the best slot in each earlier time bucket, if it costs little.
 *
 * @param costMax  as a fraction of the amount due
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

function nearOptimalSlots(plan: RetryPlan, worth: readonly number[], costMax: number): number[] {
  const least = plan.worth - Math.min(costMax, EXPLORATION_MAX_LOSS * plan.worth);
  return plan.picked.filter((slot, n) => slot === plan.slots[0] || worth[n]! >= least);
}
