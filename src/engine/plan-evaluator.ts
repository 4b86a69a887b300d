import { HOUR_MS } from "../domain/durations.ts";
import type { Forecast } from "./learned/forecast.ts";
import type { RetryValue } from "./retry-value.ts";
import { keepsLimit, type PlanLimit } from "./rules/plan-limits.ts";

/** Two planned tries are at least this far apart, or as far as `minGapOf` says where the window has no room for that. */
export const MIN_RETRY_GAP_MS = 20 * HOUR_MS;
/** For so many tries room is made. */
const MAX_GAP_RETRIES = 6;

/** How far apart so many tries may be at least in so much time: what is left of a window of a day or two would else end after one or two of them. */
export const minGapIn = (spanMs: number, tries: number): number =>
  Math.min(MIN_RETRY_GAP_MS, spanMs / Math.max(1, Math.min(tries, MAX_GAP_RETRIES) - 1));

/** The same in the time of a forecast. */
export const minGapOf = ({ slots }: Forecast, tries: number): number =>
  minGapIn((slots.at(-1) ?? 0) - (slots[0] ?? 0), tries);

/** Whether one slot is late enough after another for a retry at each: the first answer is there by then. */
export const isFarEnoughApart = ({ slots, answeredAt }: Forecast, first: number, second: number, apartMs: number) =>
  slots[second]! - slots[first]! >= apartMs && (answeredAt === null || slots[second]! >= answeredAt[first]!);

/** The maximum length of a plan: no budget is larger. */
export const MAX_PLAN_LENGTH = 100;

/** Returns 1 if pay arrived between two retries, else 0. Its day only increases, so the sign answers without a branch. */
const paidBetween = (paidBefore: number, paidNow: number) => (paidBefore - paidNow) >>> 31;

/**
 * Evaluates plans: lists of slots, earliest first, whose later chances were computed. It holds one plan at a time, and reuses what it
 * computed for that plan. Arrays by position hold one row of hypotheses for each position of the plan.
 */
export interface PlanEvaluator {
  forecast: Forecast;
  /** By slot: value of a success there, as a fraction of the amount due. */
  worth: Float64Array;
  cost: number;
  limits: readonly PlanLimit[];
  apartMs: number;
  /** Number of retries in the plan. */
  tries: number;
  /** The slots of the plan. Always a typed array, so that the optimized code of the loops stays valid. */
  planSlots: Int32Array;
  /** Probability of each hypothesis that is left at a position, and value of the retries after it for one whole case. */
  remainingShares: Float64Array;
  valuesToGo: Float64Array;
  /** By position: value of the retries before it, and the fraction of cases that reach it. */
  valuesBefore: Float64Array;
  reachedShares: Float64Array;
  /**
   * Value of the plan's retries from some position on, for the cases that reach a position; twice per hypothesis, as `later` of a
   * forecast: those retries find no new pay, and they do. `restPositions` says from which position on; -1: not computed.
   */
  restValues: Float64Array;
  restPositions: Int32Array;
}

/**
 * @param maxLength  of the plans to be evaluated
 * @param limits  to be kept by a retry that is put into the plan
 * @param apartMs  minimum time between two retries of the plan
 */
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

/** Returns the slots of the current plan. */
export const getPlan = ({ planSlots, tries }: PlanEvaluator): number[] => Array.from(planSlots.subarray(0, tries));

/**
 * Sets and evaluates a plan.
 *
 * @returns its value, and the probability that one of its retries succeeds
 */
export function evaluatePlan(board: PlanEvaluator, slots: readonly number[]): { worth: number; recovers: number } {
  board.planSlots.set(slots);
  board.tries = slots.length;
  const worth = evaluateFrom(board, 0);
  return { worth, recovers: board.reachedShares[0]! - board.reachedShares[board.tries]! };
}

/** Inserts a retry at that slot and position. Returns the new value of the plan. */
export function insertRetry(board: PlanEvaluator, place: number, slot: number): number {
  board.planSlots.copyWithin(place + 1, place, board.tries++);
  board.planSlots[place] = slot;
  return evaluateFrom(board, place);
}

/** Evaluates the plan again from a position on. Returns its value. */
function evaluateFrom(board: PlanEvaluator, from: number): number {
  for (let place = from; place < board.tries; place++) advancePosition(board, place);
  computeValuesToGo(board);
  return board.valuesBefore[board.tries]!;
}

/** Computes the row of the next position from that of this one. */
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

/**
 * Fills `valuesToGo`. The value is linear in the remaining probability of a hypothesis, so it does not depend on earlier retries.
 */
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

/** Returns the position of a new slot in the plan; -1 if it is too close to another retry or breaks a limit. */
export function findInsertPosition(board: PlanEvaluator, slot: number): number {
  const { planSlots } = board;
  let place = 0;
  while (place < board.tries && planSlots[place]! < slot) place++;
  return canPlaceRetry(board, slot, place, place) ? place : -1;
}

/**
 * Whether a slot is far enough from the retries before a position and from those from `after` on, and keeps the limits together
 * with them.
 */
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
  // The guard has already allowed a single retry; it knows better how early the previous ones came.
  if (others.length === 0) return true;
  for (const limit of limits) if (!keepsLimit(limit, others, at)) return false;
  return true;
}

/**
 * Returns the value of the plan with a retry at that slot between the retries before `place` and those from `after` on. If both
 * are equal, it is an additional retry; if `after` is the next position, it replaces one.
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

/** Returns the fraction of cases that a retry after all others recovers. */
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

/**
 * Moves the retry at that position to another slot. Before `computeValuesToGo` runs again, only later positions may be evaluated.
 */
export function moveRetry(board: PlanEvaluator, place: number, slot: number) {
  board.planSlots[place] = slot;
  advancePosition(board, place);
}
