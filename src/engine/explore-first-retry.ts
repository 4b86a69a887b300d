import type { CasePosterior } from "./learned/case-posterior.ts";
import { elapsedBucket, firstRetryCounts } from "./learned/first-retry-counts.ts";
import type { Forecast } from "./learned/forecast.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import type { RetryPlan } from "./plan-retries.ts";
import { uniformHash } from "./uniform-hash.ts";

/**
 * Outcomes before retries are sampled for merchants that did not choose. Earlier, sampling would only test the pretrained model.
 */
export const EXPLORATION_MIN_OUTCOMES = 500;
/** Fraction of first retries, so that a backtest can weigh the history for another policy. */
export const EXPLORATION_RATE = 0.03;
/** As a fraction of the plan's value. */
export const EXPLORATION_MAX_LOSS = 0.05;
/** With this many first retries in a time bucket, a quarter of those planned for later move into it. */
export const EARLY_QUARTER_RATE_COUNT = 3;
/** For all buckets together. */
export const EARLY_MAX_RATE = 0.1;
/** As a fraction of the amount due; at least as for a good time. */
export const EARLY_MAX_LOSS = 0.02;
/** A small invoice teaches as much as a large one. */
export const EXPLORATION_MAX_LOSS_USD = 5;

interface SlotChoice {
  slot: number;
  isSampled: boolean;
  propensityOf(slot: number): number;
}

export const withoutExploration = (bestSlot: number): SlotChoice => ({
  slot: bestSlot,
  isSampled: false,
  propensityOf: (slot) => Number(slot === bestSlot),
});

interface EarlySlot {
  slot: number;
  share: number;
}

/**
 * Returns the plan's next slot, except for sampled cases.
 *
 * Some cases move to time buckets with few first retries, since late retries alone show nothing about early ones. A few are
 * sampled among good times, judged by the whole plan's value: a slot two weeks later may succeed as often, but wastes the retries
 * before it.
 *
 * @param key  names the case, which is always sampled the same way
 * @param valuesBySlot  the plan's value by slot of its next retry
 * @param dollars  amount due
 */
export function chooseFirstRetry(
  model: LearnedModel,
  posterior: CasePosterior,
  key: string,
  forecast: Forecast,
  plan: RetryPlan,
  valuesBySlot: readonly number[],
  dollars: number,
): SlotChoice {
  const bestSlot = plan.slots[0]!;
  const costMax = EXPLORATION_MAX_LOSS_USD / dollars;
  const earlierSlots = earlySlots(model, posterior, forecast, plan, valuesBySlot, costMax);
  const goodSlots = nearOptimalSlots(plan, valuesBySlot, costMax);
  const asPlanned = 1 - earlierSlots.reduce((all, { share }) => all + share, 0);
  const propensityOf = (slot: number) => {
    const amongGood = goodSlots.includes(slot) ? EXPLORATION_RATE / goodSlots.length : 0;
    const amongSooner = earlierSlots.find((earlySlot) => earlySlot.slot === slot)?.share ?? 0;
    return amongSooner + asPlanned * (amongGood + (slot === bestSlot ? 1 - EXPLORATION_RATE : 0));
  };
  const sampled = sampleSlot(key, earlierSlots, goodSlots);
  // Nothing changed if the plan's slot is the only good one, or was sampled.
  return { slot: sampled ?? bestSlot, isSampled: sampled !== null && sampled !== bestSlot, propensityOf };
}

function sampleSlot(key: string, earlierSlots: readonly EarlySlot[], goodSlots: readonly number[]): number | null {
  let threshold = uniformHash(`${key}:soon`);
  for (const { slot, share } of earlierSlots) {
    if (threshold < share) return slot;
    threshold -= share;
  }
  const draw = uniformHash(`${key}:lot`);
  return draw < EXPLORATION_RATE ? goodSlots[Math.floor((draw / EXPLORATION_RATE) * goodSlots.length)]! : null;
}

/**
 * The best slot in each earlier time bucket, if it costs little.
 *
 * @param costMax  as a fraction of the amount due
 */
function earlySlots(
  model: LearnedModel,
  posterior: CasePosterior,
  { slots }: Forecast,
  plan: RetryPlan,
  valuesBySlot: readonly number[],
  costMax: number,
): EarlySlot[] {
  const minValue =
    plan.expectedValue - Math.min(costMax, Math.max(EXPLORATION_MAX_LOSS * plan.expectedValue, EARLY_MAX_LOSS));
  const plannedBucket = elapsedBucket(posterior, slots[plan.slots[0]!]!);
  const retryCounts = firstRetryCounts(model, posterior);
  const bestByBucket: { slot: number; value: number }[] = [];
  for (const [n, slot] of plan.picked.entries()) {
    const bucket = elapsedBucket(posterior, slots[slot]!);
    if (bucket >= plannedBucket) break;
    if (valuesBySlot[n]! >= minValue && valuesBySlot[n]! > (bestByBucket[bucket]?.value ?? Number.NEGATIVE_INFINITY))
      bestByBucket[bucket] = { slot, value: valuesBySlot[n]! };
  }
  const earlierSlots = Object.entries(bestByBucket).map(([bucket, { slot }]) => ({
    slot,
    share: 1 / (1 + retryCounts[Number(bucket)]! / EARLY_QUARTER_RATE_COUNT) ** 2,
  }));
  const sum = earlierSlots.reduce((all, { share }) => all + share, 0);
  const scale = Math.min(1, EARLY_MAX_RATE / sum);
  return earlierSlots.map(({ slot, share }) => ({ slot, share: share * scale }));
}

function nearOptimalSlots(plan: RetryPlan, valuesBySlot: readonly number[], costMax: number): number[] {
  const minValue = plan.expectedValue - Math.min(costMax, EXPLORATION_MAX_LOSS * plan.expectedValue);
  return plan.picked.filter((slot, n) => slot === plan.slots[0] || valuesBySlot[n]! >= minValue);
}
