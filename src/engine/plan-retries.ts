import { DAY_MS } from "../domain/durations.ts";
import type { Forecast } from "./learned/forecast.ts";
import {
  canPlaceRetry,
  computeValuesToGo,
  createPlanEvaluator,
  evaluatePlan,
  evaluateWith,
  findInsertPosition,
  getPlan,
  insertRetry,
  isFarEnoughApart,
  MAX_PLAN_LENGTH,
  minGapOf,
  moveRetry,
  type PlanEvaluator,
} from "./plan-evaluator.ts";
import type { RetryValue } from "./retry-value.ts";
import { keepsLimit, type PlanLimit } from "./rules/plan-limits.ts";

/** Only the first retry is certain. */
export interface RetryPlan {
  /** Earliest first; empty if no retry is worth making. */
  slots: readonly number[];
  /** As a fraction of the amount due. */
  expectedValue: number;
  /** Slots it was chosen from, earliest first. */
  picked: readonly number[];
  limits: readonly PlanLimit[];
  apartMs: number;
  /** -1: none. */
  excludedSlot: number;
}

/** A second round follows a large gain. */
const MAX_ROUNDS = 2;
const SMALL_GAIN_RATE = 0.002;
/** Smaller gains may come from rounding, and could go on forever. */
const MIN_GAIN = 1e-9;

/**
 * Returns the set of retries with the highest value together: summed over hypotheses, by their probability. So a second retry on
 * the same pay day adds little.
 *
 * Built greedily; then each retry moves to its best slot between its neighbors. Moves past neighbors gain almost nothing and take
 * most time.
 *
 * @param limits  kept by all retries together
 * @param excludedSlot  a slot that no plan may use; -1: none
 * @param apartMs  the shortest time between two of its retries
 */
export function planRetries(
  forecast: Forecast,
  retryCount: number,
  retryValue: RetryValue,
  limits: readonly PlanLimit[] = [],
  excludedSlot = -1,
  apartMs = minGapOf(forecast, retryCount),
): RetryPlan {
  const picked = bestOf24Hours(forecast, excludedSlot);
  forecast.computeLaterChances(picked);
  const length = Math.min(retryCount, MAX_PLAN_LENGTH);
  const evaluator = createPlanEvaluator(forecast, retryValue, length, limits, apartMs);
  // By picked slot, the latest known.
  const gains = new Float64Array(picked.length);
  const evaluationOrder = new Int32Array(picked.length);
  for (let index = 0; index < evaluationOrder.length; index++) evaluationOrder[index] = index;
  let value = 0;
  while (evaluator.retryCount < length) {
    // A second retry is scored differently, so earlier gains say nothing about it.
    const slot = findBestAddition(evaluator, picked, value, gains, evaluationOrder, evaluator.retryCount > 1);
    if (slot < 0) break;
    value = insertRetry(evaluator, findInsertPosition(evaluator, slot), slot);
  }
  return { ...improvePlan(evaluator, picked, value), picked, limits, apartMs, excludedSlot };
}

function improvePlan(
  evaluator: PlanEvaluator,
  picked: readonly number[],
  greedyValue: number,
): Pick<RetryPlan, "slots" | "expectedValue"> {
  let value = greedyValue;
  for (let round = 0; round < MAX_ROUNDS && value > 0; round++) {
    const before = value;
    value = moveEachRetry(evaluator, picked, value);
    if (value < before + SMALL_GAIN_RATE) break;
    computeValuesToGo(evaluator);
  }
  return { slots: getPlan(evaluator), expectedValue: value };
}

/** All slots of the first 24 hours: after a bank fault hours count. */
function bestOf24Hours({ slots, chances }: Forecast, excludedSlot: number): number[] {
  const found: number[] = [];
  const start = slots[0] ?? 0;
  const dayOf = (slot: number) => Math.floor((slots[slot]! - start) / DAY_MS);
  for (let slot = 0; slot < slots.length; slot++) {
    if (slot === excludedSlot) continue;
    const lastSlot = found.at(-1);
    if (lastSlot === undefined || dayOf(slot) === 0 || dayOf(lastSlot) !== dayOf(slot)) found.push(slot);
    else if (chances[slot]! > chances[lastSlot]!) found[found.length - 1] = slot;
  }
  return found;
}

/** Bounds a slot's next gain, which nearly always falls as the plan grows. */
const GAIN_OPTIMISM = 1.2;

/**
 * @param ofPlan  the plan's value without it
 * @param gains  by picked slot, updated here
 * @param isLess  whether gains only fall, so that small ones are skipped
 * @returns the slot; -1: none raises the value
 */
function findBestAddition(
  evaluator: PlanEvaluator,
  picked: readonly number[],
  ofPlan: number,
  gains: Float64Array,
  evaluationOrder: Int32Array,
  isLess: boolean,
): number {
  let most = ofPlan + MIN_GAIN;
  let found = -1;
  if (isLess) sortByGain(evaluationOrder, gains);
  for (let rank = 0; rank < picked.length; rank++) {
    const index = evaluationOrder[rank]!;
    if (isLess && ofPlan + gains[index]! * GAIN_OPTIMISM <= most) break;
    const position = findInsertPosition(evaluator, picked[index]!);
    if (position < 0) continue;
    const value = evaluateWith(evaluator, picked[index]!, position, position);
    gains[index] = value - ofPlan;
    if (value <= most) continue;
    most = value;
    found = picked[index]!;
  }
  return found;
}

/** Ties by time. An insertion sort, since the order hardly changes. */
function sortByGain(evaluationOrder: Int32Array, gains: Float64Array) {
  for (let index = 1; index < gains.length; index++) {
    const moved = evaluationOrder[index]!;
    const gain = gains[moved]!;
    let position = index;
    for (; position > 0; position--) {
      const other = evaluationOrder[position - 1]!;
      if (gains[other]! > gain || (gains[other] === gain && other < moved)) break;
      evaluationOrder[position] = other;
    }
    evaluationOrder[position] = moved;
  }
}

function moveEachRetry(evaluator: PlanEvaluator, picked: readonly number[], ofPlan: number): number {
  const plan = getPlan(evaluator);
  let most = ofPlan;
  let index = 0;
  for (let position = 0; position < plan.length; position++) {
    let bestSlot = plan[position]!;
    const nextSlot = plan[position + 1] ?? Number.POSITIVE_INFINITY;
    while (index < picked.length && position > 0 && picked[index]! <= plan[position - 1]!) index++;
    for (let m = index; m < picked.length && picked[m]! < nextSlot; m++) {
      const slot = picked[m]!;
      if (slot === bestSlot || !canPlaceRetry(evaluator, slot, position, position + 1)) continue;
      const value = evaluateWith(evaluator, slot, position, position + 1);
      if (value <= most + MIN_GAIN) continue;
      most = value;
      bestSlot = slot;
    }
    plan[position] = bestSlot;
    moveRetry(evaluator, position, bestSlot);
  }
  return most;
}

/** Retries that still follow if the next one is made at this slot. */
export function findFollowingSlots(
  forecast: Forecast,
  { slots: plan, limits, apartMs }: RetryPlan,
  slot: number,
): number[] {
  const { slots } = forecast;
  let from = 1;
  while (from < plan.length && !isFarEnoughApart(forecast, slot, plan[from]!, apartMs)) from++;
  if (limits.length === 0) return plan.slice(from);
  const times = [slots[slot]!];
  return plan.slice(from).filter((other) => {
    const time = slots[other]!;
    if (!limits.every((limit) => keepsLimit(limit, times, time))) return false;
    times.push(time);
    return true;
  });
}

/** By picked slot: the plan's value if its next retry is made there and the others follow as far as they can. */
export function valuesByNextSlot(forecast: Forecast, plan: RetryPlan, retryValue: RetryValue): number[] {
  const evaluator = createPlanEvaluator(forecast, retryValue, plan.slots.length);
  const values: number[] = [];
  let evaluated: readonly number[] | null = null;
  for (const slot of plan.picked) {
    const follow = findFollowingSlots(forecast, plan, slot);
    if (evaluated === null || !isSuffix(evaluated, follow)) {
      evaluatePlan(evaluator, follow);
      evaluated = follow;
    }
    values.push(evaluateWith(evaluator, slot, 0, evaluated.length - follow.length));
  }
  return values;
}

/** Earlier retries do not affect the last ones' value, so one evaluation serves both. */
function isSuffix(sequence: readonly number[], suffix: readonly number[]): boolean {
  const from = sequence.length - suffix.length;
  if (from < 0) return false;
  for (let index = 0; index < suffix.length; index++) if (suffix[index] !== sequence[from + index]) return false;
  return true;
}

/**
 * Probability of success, and value as a fraction of the amount due.
 *
 * @param sets  forecast slots, earliest first
 */
export function evaluateSets(forecast: Forecast, sets: readonly (readonly number[])[], retryValue: RetryValue) {
  forecast.computeLaterChances(sets.flat());
  const evaluator = createPlanEvaluator(forecast, retryValue, Math.max(0, ...sets.map(({ length }) => length)));
  return sets.map((slots) => evaluatePlan(evaluator, slots));
}
