import { HOUR_MS } from "../domain/durations.ts";
import type { Forecast } from "./learned/forecast.ts";
import { getPlanTables } from "./learned/workspace.ts";
import type { RetryValue } from "./retry-value.ts";
import { keepsLimit, type PlanLimit } from "./rules/plan-limits.ts";

/** Less if the window has no room. */
export const MIN_RETRY_GAP_MS = 20 * HOUR_MS;
const MAX_GAP_RETRIES = 6;

/** Otherwise a short rest of a window would end after one or two retries. */
export const minGapIn = (spanMs: number, retryCount: number): number =>
  Math.min(MIN_RETRY_GAP_MS, spanMs / Math.max(1, Math.min(retryCount, MAX_GAP_RETRIES) - 1));

export const minGapOf = ({ slots }: Forecast, retryCount: number): number =>
  minGapIn((slots.at(-1) ?? 0) - (slots[0] ?? 0), retryCount);

/** The first answer has arrived by the second retry. */
export const isFarEnoughApart = ({ slots, answeredAt }: Forecast, firstSlot: number, second: number, apartMs: number) =>
  slots[second]! - slots[firstSlot]! >= apartMs && (answeredAt === null || slots[second]! >= answeredAt[firstSlot]!);

/** No budget is larger. */
export const MAX_PLAN_LENGTH = 100;

/** 1 if pay arrived between two retries, else 0. The day only increases, so its sign answers without a branch. */
const paidBetween = (paidBefore: number, paidNow: number) => (paidBefore - paidNow) >>> 31;

/**
 * Evaluates plans: slots, earliest first, with later chances computed. Holds one plan at a time. Its arrays lie in the model's
 * workspace, so the next evaluator ends this one; those by position hold one row of hypotheses per position.
 */
export interface PlanEvaluator {
  forecast: Forecast;
  /** By slot, as a fraction of the amount due. */
  valueBySlot: Float64Array;
  cost: number;
  limits: readonly PlanLimit[];
  apartMs: number;
  retryCount: number;
  /** A typed array keeps the loops' optimized code valid. */
  planSlots: Int32Array;
  /** Each hypothesis's remaining probability, and the later retries' value for one whole case. */
  remainingShares: Float64Array;
  valuesToGo: Float64Array;
  /** The earlier retries' value, and the fraction of cases that reach the position. */
  valuesBefore: Float64Array;
  reachedShares: Float64Array;
  /**
   * Value of the retries from some position on, for cases that reach it; twice per hypothesis, as `laterChances`.
   * `restPositions`: that position; -1: not computed.
   */
  restValues: Float64Array;
  restPositions: Int32Array;
}

export function createPlanEvaluator(
  forecast: Forecast,
  { valueAt, cost }: RetryValue,
  maxLength: number,
  limits: readonly PlanLimit[] = [],
  apartMs = MIN_RETRY_GAP_MS,
): PlanEvaluator {
  if (!forecast.isLatest()) throw new Error("the model has made another forecast, which ended this one");
  const { shares, slots } = forecast;
  const positions = maxLength + 1;
  const { remainingShares, valuesToGo, restValues } = getPlanTables(forecast.workspace, positions * shares.length);
  remainingShares.set(shares);
  const reachedShares = new Float64Array(positions);
  reachedShares[0] = shares.reduce((sum, share) => sum + share, 0);
  const valueBySlot = new Float64Array(slots.length);
  for (let slot = 0; slot < slots.length; slot++) valueBySlot[slot] = valueAt(slots[slot]!);
  return {
    forecast,
    valueBySlot,
    cost,
    limits,
    apartMs,
    retryCount: 0,
    remainingShares,
    reachedShares,
    planSlots: new Int32Array(maxLength),
    valuesToGo,
    valuesBefore: new Float64Array(positions),
    restValues,
    restPositions: new Int32Array(positions).fill(-1),
  };
}

export const getPlan = ({ planSlots, retryCount }: PlanEvaluator): number[] =>
  Array.from(planSlots.subarray(0, retryCount));

/** @returns the plan's value, and the probability that one of its retries succeeds */
export function evaluatePlan(evaluator: PlanEvaluator, slots: readonly number[]): { value: number; recovers: number } {
  evaluator.planSlots.set(slots);
  evaluator.retryCount = slots.length;
  const value = evaluateFrom(evaluator, 0);
  return { value, recovers: evaluator.reachedShares[0]! - evaluator.reachedShares[evaluator.retryCount]! };
}

export function insertRetry(evaluator: PlanEvaluator, position: number, slot: number): number {
  evaluator.planSlots.copyWithin(position + 1, position, evaluator.retryCount++);
  evaluator.planSlots[position] = slot;
  return evaluateFrom(evaluator, position);
}

function evaluateFrom(evaluator: PlanEvaluator, start: number): number {
  for (let position = start; position < evaluator.retryCount; position++) advancePosition(evaluator, position);
  computeValuesToGo(evaluator);
  return evaluator.valuesBefore[evaluator.retryCount]!;
}

function advancePosition(evaluator: PlanEvaluator, position: number) {
  const { valueBySlot, cost, forecast, planSlots, remainingShares, valuesBefore, reachedShares, restPositions } =
    evaluator;
  const { nextChances, laterChances, paidOn } = forecast;
  const width = forecast.shares.length;
  const row = planSlots[position]! * width;
  const rowBefore = position > 0 ? planSlots[position - 1]! * width : -1;
  const rowStart = position * width;
  let paid = 0;
  for (let k = 0; k < width; k++) {
    const p =
      rowBefore < 0
        ? nextChances[row + k]!
        : laterChances[2 * (row + k) + paidBetween(paidOn[rowBefore + k]!, paidOn[row + k]!)]!;
    const share = remainingShares[rowStart + k]!;
    paid += share * p;
    remainingShares[rowStart + width + k] = share - share * p;
  }
  valuesBefore[position + 1] =
    valuesBefore[position]! + paid * valueBySlot[planSlots[position]!]! - reachedShares[position]! * cost;
  reachedShares[position + 1] = reachedShares[position]! - paid;
  restPositions[position + 1] = -1;
}

/** Earlier retries do not affect it: the value is linear in a hypothesis's remaining probability. */
export function computeValuesToGo(evaluator: PlanEvaluator) {
  const { retryCount, valueBySlot, cost, forecast, planSlots, valuesToGo, restPositions } = evaluator;
  const { laterChances, paidOn } = forecast;
  const width = forecast.shares.length;
  restPositions.fill(-1, 0, retryCount + 1);
  valuesToGo.fill(0, Math.max(0, retryCount - 1) * width, (retryCount + 1) * width);
  for (let position = retryCount - 2; position >= 0; position--) {
    const row = planSlots[position + 1]! * width;
    const rowBefore = planSlots[position]! * width;
    const gain = valueBySlot[planSlots[position + 1]!]!;
    for (let k = 0; k < width; k++) {
      const p = laterChances[2 * (row + k) + paidBetween(paidOn[rowBefore + k]!, paidOn[row + k]!)]!;
      valuesToGo[position * width + k] = p * gain - cost + (1 - p) * valuesToGo[(position + 1) * width + k]!;
    }
  }
}

/** -1 if the slot is too close to another retry or breaks a limit. */
export function findInsertPosition(evaluator: PlanEvaluator, slot: number): number {
  const { planSlots } = evaluator;
  let position = 0;
  while (position < evaluator.retryCount && planSlots[position]! < slot) position++;
  return canPlaceRetry(evaluator, slot, position, position) ? position : -1;
}

/** Against the retries before `position` and from `after` on. */
export function canPlaceRetry(
  { retryCount, limits, apartMs, forecast, planSlots }: PlanEvaluator,
  slot: number,
  position: number,
  after: number,
): boolean {
  const { slots } = forecast;
  const at = slots[slot]!;
  if (position > 0 && !isFarEnoughApart(forecast, planSlots[position - 1]!, slot, apartMs)) return false;
  if (after < retryCount && !isFarEnoughApart(forecast, slot, planSlots[after]!, apartMs)) return false;
  if (limits.length === 0) return true;
  const otherTimes: number[] = [];
  for (let index = 0; index < retryCount; index++)
    if (index < position || index >= after) otherTimes.push(slots[planSlots[index]!]!);
  // The guard, which knows actual times, allowed a single retry.
  if (otherTimes.length === 0) return true;
  for (const limit of limits) if (!keepsLimit(limit, otherTimes, at)) return false;
  return true;
}

/**
 * The plan's value with a retry between those before `position` and those from `after` on: an additional one if both are equal.
 */
export function evaluateWith(evaluator: PlanEvaluator, slot: number, position: number, after: number): number {
  const {
    retryCount,
    cost,
    forecast,
    planSlots,
    remainingShares,
    valuesBefore,
    reachedShares,
    restValues,
    restPositions,
  } = evaluator;
  const { nextChances, laterChances, paidOn } = forecast;
  const width = forecast.shares.length;
  const gain = evaluator.valueBySlot[slot]!;
  const row = slot * width;
  const rowStart = position * width;
  const base = valuesBefore[position]! - cost * reachedShares[position]!;
  if (after >= retryCount)
    return base + gain * (position === 0 ? forecast.chances[slot]! : recoveredLater(evaluator, row, position));
  if (restPositions[position] !== after) fillRestValues(evaluator, position, after);
  const rowAfter = planSlots[after]! * width;
  let value = base;
  if (position === 0) {
    for (let k = 0; k < width; k++) {
      const laterValue = restValues[2 * k + paidBetween(paidOn[row + k]!, paidOn[rowAfter + k]!)]!;
      value += laterValue + nextChances[row + k]! * (remainingShares[k]! * gain - laterValue);
    }
    return value;
  }
  const rowBefore = planSlots[position - 1]! * width;
  for (let k = 0; k < width; k++) {
    const paid = paidOn[row + k]!;
    const laterValue = restValues[2 * (rowStart + k) + paidBetween(paid, paidOn[rowAfter + k]!)]!;
    const p = laterChances[2 * (row + k) + paidBetween(paidOn[rowBefore + k]!, paid)]!;
    value += laterValue + p * (remainingShares[rowStart + k]! * gain - laterValue);
  }
  return value;
}

function recoveredLater(
  { forecast, planSlots, remainingShares }: PlanEvaluator,
  row: number,
  position: number,
): number {
  const { laterChances, paidOn } = forecast;
  const width = forecast.shares.length;
  const rowBefore = planSlots[position - 1]! * width;
  const rowStart = position * width;
  let paid = 0;
  for (let k = 0; k < width; k++)
    paid +=
      remainingShares[rowStart + k]! *
      laterChances[2 * (row + k) + paidBetween(paidOn[rowBefore + k]!, paidOn[row + k]!)]!;
  return paid;
}

function fillRestValues(evaluator: PlanEvaluator, position: number, after: number) {
  const { valueBySlot, cost, forecast, planSlots, remainingShares, valuesToGo, restValues, restPositions } = evaluator;
  const { laterChances } = forecast;
  const width = forecast.shares.length;
  const row = 2 * planSlots[after]! * width;
  const gain = valueBySlot[planSlots[after]!]!;
  for (let k = 0; k < width; k++) {
    const at = position * width + k;
    const share = remainingShares[at]!;
    const onward = valuesToGo[after * width + k]!;
    const sameValue = laterChances[row + 2 * k]!;
    const freshValue = laterChances[row + 2 * k + 1]!;
    restValues[2 * at] = share * (sameValue * gain - cost + (1 - sameValue) * onward);
    restValues[2 * at + 1] = share * (freshValue * gain - cost + (1 - freshValue) * onward);
  }
  restPositions[position] = after;
}

/** Until `computeValuesToGo` runs again, only later positions may be evaluated. */
export function moveRetry(evaluator: PlanEvaluator, position: number, slot: number) {
  evaluator.planSlots[position] = slot;
  advancePosition(evaluator, position);
}
