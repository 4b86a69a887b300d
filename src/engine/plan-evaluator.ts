import { HOUR_MS } from "../domain/durations.ts";
import type { Forecast } from "./learned/forecast.ts";
import type { RetryValue } from "./retry-value.ts";
import { keepsLimit, type PlanLimit } from "./rules/plan-limits.ts";

/** Minimum time between planned retries; less if the window has no room: see `minGapOf`. */
export const MIN_RETRY_GAP_MS = 20 * HOUR_MS;
/** Room is made for this many retries. */
const MAX_GAP_RETRIES = 6;

/** Otherwise the rest of a window, a day or two, would end after one or two retries. */
export const minGapIn = (spanMs: number, tries: number): number =>
  Math.min(MIN_RETRY_GAP_MS, spanMs / Math.max(1, Math.min(tries, MAX_GAP_RETRIES) - 1));

export const minGapOf = ({ slots }: Forecast, tries: number): number =>
  minGapIn((slots.at(-1) ?? 0) - (slots[0] ?? 0), tries);

/** The first answer is there by the second retry. */
export const isFarEnoughApart = ({ slots, answeredAt }: Forecast, first: number, second: number, apartMs: number) =>
  slots[second]! - slots[first]! >= apartMs && (answeredAt === null || slots[second]! >= answeredAt[first]!);

/** No budget is larger. */
export const MAX_PLAN_LENGTH = 100;

/** Returns 1 if pay arrived between two retries, else 0. The day only increases, so its sign answers without a branch. */
const paidBetween = (paidBefore: number, paidNow: number) => (paidBefore - paidNow) >>> 31;

/**
 * Evaluates plans: slots, earliest first, whose later chances were computed. Holds one plan at a time and reuses its results.
 * Arrays by position hold one row of hypotheses per position.
 */
export interface PlanEvaluator {
  forecast: Forecast;
  /** By slot: value of a success, as a fraction of the amount due. */
  worth: Float64Array;
  cost: number;
  limits: readonly PlanLimit[];
  apartMs: number;
  tries: number;
  /** Always a typed array, so that the loops' optimized code stays valid. */
  planSlots: Int32Array;
  /** Each hypothesis's remaining probability at a position, and the later retries' value for one whole case. */
  remainingShares: Float64Array;
  valuesToGo: Float64Array;
  /** By position: the earlier retries' value, and the fraction of cases that reach it. */
  valuesBefore: Float64Array;
  reachedShares: Float64Array;
  /**
   * Value of the retries from some position on, for cases that reach a position; twice per hypothesis, as `later`: without new
   * pay and with it. `restPositions`: that first position; -1: not computed.
   */
  restValues: Float64Array;
  restPositions: Int32Array;
}

export function createPlanEvaluator(
  forecast: Forecast,
  { worthAt, cost }: RetryValue,
  maxLength: number,
  limits: readonly PlanLimit[] = [],
  apartMs = MIN_RETRY_GAP_MS,
): PlanEvaluator {
  const { shares, slots } = forecast;
  const positions = maxLength + 1;
  const remainingShares = new Float64Array(positions * shares.length);
  remainingShares.set(shares);
  const reachedShares = new Float64Array(positions);
  reachedShares[0] = shares.reduce((sum, share) => sum + share, 0);
  const worth = new Float64Array(slots.length);
  for (let slot = 0; slot < slots.length; slot++) worth[slot] = worthAt(slots[slot]!);
  return {
    forecast,
    worth,
    cost,
    limits,
    apartMs,
    tries: 0,
    remainingShares,
    reachedShares,
    planSlots: new Int32Array(maxLength),
    valuesToGo: new Float64Array(positions * shares.length),
    valuesBefore: new Float64Array(positions),
    restValues: new Float64Array(2 * positions * shares.length),
    restPositions: new Int32Array(positions).fill(-1),
  };
}

export const getPlan = ({ planSlots, tries }: PlanEvaluator): number[] => Array.from(planSlots.subarray(0, tries));

/** @returns the plan's value, and the probability that one of its retries succeeds */
export function evaluatePlan(board: PlanEvaluator, slots: readonly number[]): { worth: number; recovers: number } {
  board.planSlots.set(slots);
  board.tries = slots.length;
  const worth = evaluateFrom(board, 0);
  return { worth, recovers: board.reachedShares[0]! - board.reachedShares[board.tries]! };
}

/** Returns the plan's new value. */
export function insertRetry(board: PlanEvaluator, place: number, slot: number): number {
  board.planSlots.copyWithin(place + 1, place, board.tries++);
  board.planSlots[place] = slot;
  return evaluateFrom(board, place);
}

/** Returns the plan's value. */
function evaluateFrom(board: PlanEvaluator, from: number): number {
  for (let place = from; place < board.tries; place++) advancePosition(board, place);
  computeValuesToGo(board);
  return board.valuesBefore[board.tries]!;
}

/** Computes the next position's row from this one's. */
function advancePosition(board: PlanEvaluator, place: number) {
  const { worth, cost, forecast, planSlots, remainingShares, valuesBefore, reachedShares, restPositions } = board;
  const { next, later, paidOn } = forecast;
  const width = forecast.shares.length;
  const row = planSlots[place]! * width;
  const rowBefore = place > 0 ? planSlots[place - 1]! * width : -1;
  const from = place * width;
  let paid = 0;
  for (let k = 0; k < width; k++) {
    const p =
      rowBefore < 0 ? next[row + k]! : later[2 * (row + k) + paidBetween(paidOn[rowBefore + k]!, paidOn[row + k]!)]!;
    const mass = remainingShares[from + k]!;
    paid += mass * p;
    remainingShares[from + width + k] = mass - mass * p;
  }
  valuesBefore[place + 1] = valuesBefore[place]! + paid * worth[planSlots[place]!]! - reachedShares[place]! * cost;
  reachedShares[place + 1] = reachedShares[place]! - paid;
  restPositions[place + 1] = -1;
}

/** Fills `valuesToGo`, which earlier retries do not affect: the value is linear in a hypothesis's remaining probability. */
export function computeValuesToGo(board: PlanEvaluator) {
  const { tries, worth, cost, forecast, planSlots, valuesToGo, restPositions } = board;
  const { later, paidOn } = forecast;
  const width = forecast.shares.length;
  restPositions.fill(-1, 0, tries + 1);
  valuesToGo.fill(0, Math.max(0, tries - 1) * width, (tries + 1) * width);
  for (let place = tries - 2; place >= 0; place--) {
    const row = planSlots[place + 1]! * width;
    const rowBefore = planSlots[place]! * width;
    const gain = worth[planSlots[place + 1]!]!;
    for (let k = 0; k < width; k++) {
      const p = later[2 * (row + k) + paidBetween(paidOn[rowBefore + k]!, paidOn[row + k]!)]!;
      valuesToGo[place * width + k] = p * gain - cost + (1 - p) * valuesToGo[(place + 1) * width + k]!;
    }
  }
}

/** Returns -1 if the slot is too close to another retry or breaks a limit. */
export function findInsertPosition(board: PlanEvaluator, slot: number): number {
  const { planSlots } = board;
  let place = 0;
  while (place < board.tries && planSlots[place]! < slot) place++;
  return canPlaceRetry(board, slot, place, place) ? place : -1;
}

/** Checks distance and limits against the retries before `place` and from `after` on. */
export function canPlaceRetry(
  { tries, limits, apartMs, forecast, planSlots }: PlanEvaluator,
  slot: number,
  place: number,
  after: number,
): boolean {
  const { slots } = forecast;
  const at = slots[slot]!;
  if (place > 0 && !isFarEnoughApart(forecast, planSlots[place - 1]!, slot, apartMs)) return false;
  if (after < tries && !isFarEnoughApart(forecast, slot, planSlots[after]!, apartMs)) return false;
  if (limits.length === 0) return true;
  const others: number[] = [];
  for (let n = 0; n < tries; n++) if (n < place || n >= after) others.push(slots[planSlots[n]!]!);
  // The guard already allowed a single retry, and knows better how early the previous ones came.
  if (others.length === 0) return true;
  for (const limit of limits) if (!keepsLimit(limit, others, at)) return false;
  return true;
}

/**
 * Returns the plan's value with a retry at that slot between those before `place` and those from `after` on. If both are equal,
 * it is an additional retry; if `after` is the next position, it replaces one.
 */
export function evaluateWith(board: PlanEvaluator, slot: number, place: number, after: number): number {
  const { tries, cost, forecast, planSlots, remainingShares, valuesBefore, reachedShares, restValues, restPositions } =
    board;
  const { next, later, paidOn } = forecast;
  const width = forecast.shares.length;
  const gain = board.worth[slot]!;
  const row = slot * width;
  const from = place * width;
  const base = valuesBefore[place]! - cost * reachedShares[place]!;
  if (after >= tries) return base + gain * (place === 0 ? forecast.chances[slot]! : recoveredLater(board, row, place));
  if (restPositions[place] !== after) fillRestValues(board, place, after);
  const rowAfter = planSlots[after]! * width;
  let worth = base;
  if (place === 0) {
    for (let k = 0; k < width; k++) {
      const others = restValues[2 * k + paidBetween(paidOn[row + k]!, paidOn[rowAfter + k]!)]!;
      worth += others + next[row + k]! * (remainingShares[k]! * gain - others);
    }
    return worth;
  }
  const rowBefore = planSlots[place - 1]! * width;
  for (let k = 0; k < width; k++) {
    const paid = paidOn[row + k]!;
    const others = restValues[2 * (from + k) + paidBetween(paid, paidOn[rowAfter + k]!)]!;
    const p = later[2 * (row + k) + paidBetween(paidOn[rowBefore + k]!, paid)]!;
    worth += others + p * (remainingShares[from + k]! * gain - others);
  }
  return worth;
}

/** For a retry after all others. */
function recoveredLater({ forecast, planSlots, remainingShares }: PlanEvaluator, row: number, place: number): number {
  const { later, paidOn } = forecast;
  const width = forecast.shares.length;
  const rowBefore = planSlots[place - 1]! * width;
  const from = place * width;
  let paid = 0;
  for (let k = 0; k < width; k++)
    paid += remainingShares[from + k]! * later[2 * (row + k) + paidBetween(paidOn[rowBefore + k]!, paidOn[row + k]!)]!;
  return paid;
}

function fillRestValues(board: PlanEvaluator, place: number, after: number) {
  const { worth, cost, forecast, planSlots, remainingShares, valuesToGo, restValues, restPositions } = board;
  const { later } = forecast;
  const width = forecast.shares.length;
  const row = 2 * planSlots[after]! * width;
  const gain = worth[planSlots[after]!]!;
  for (let k = 0; k < width; k++) {
    const at = place * width + k;
    const mass = remainingShares[at]!;
    const onward = valuesToGo[after * width + k]!;
    const same = later[row + 2 * k]!;
    const fresh = later[row + 2 * k + 1]!;
    restValues[2 * at] = mass * (same * gain - cost + (1 - same) * onward);
    restValues[2 * at + 1] = mass * (fresh * gain - cost + (1 - fresh) * onward);
  }
  restPositions[place] = after;
}

/** Until `computeValuesToGo` runs again, only later positions may be evaluated. */
export function moveRetry(board: PlanEvaluator, place: number, slot: number) {
  board.planSlots[place] = slot;
  advancePosition(board, place);
}
