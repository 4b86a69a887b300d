import { HOUR_MS } from "../domain/durations.ts";
import { type Forecast, forecastTables } from "./learned/forecast.ts";
import { HYPOTHESIS_COUNT } from "./learned/hypotheses.ts";
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

/** Whether one slot is far enough behind another one for a try at each: the first one's answer is there by then. */
export const isFarEnoughApart = ({ slots, answeredAt }: Forecast, first: number, second: number, apartMs: number) =>
  slots[second]! - slots[first]! >= apartMs && (answeredAt === null || slots[second]! >= answeredAt[first]!);

/** Tries of the longest plan: no budget is larger. */
export const MAX_PLAN_LENGTH = 100;

const { next, later, paidOn } = forecastTables;
/** Place by explanation: what is left of each when that place of the plan is reached; what the tries after it are worth to one whole case. */
const remainingShares = new Float64Array((MAX_PLAN_LENGTH + 1) * HYPOTHESIS_COUNT);
const valuesToGo = new Float64Array((MAX_PLAN_LENGTH + 1) * HYPOTHESIS_COUNT);
/** The slots of the plan: of one kind of array always, because the code made for one kind of list was thrown away at each other kind. */
const planSlots = new Int32Array(MAX_PLAN_LENGTH);
/** For each place: what the tries before it are worth, and the share of cases that reach it. */
const valuesBefore = new Float64Array(MAX_PLAN_LENGTH + 1);
const reachedShares = new Float64Array(MAX_PLAN_LENGTH + 1);
/**
 * What the plan's tries from some place on are worth to those that reach a place, twice for each explanation, as `tables.later`: when
 * those tries find no new pay, and when they do. And from which place on: -1 when it is not worked out.
 */
const restValues = new Float64Array(2 * (MAX_PLAN_LENGTH + 1) * HYPOTHESIS_COUNT);
const restPositions = new Int32Array(MAX_PLAN_LENGTH + 1).fill(-1);

/** 1 when pay came between two tries, else 0: its day only moves on, so the sign tells, and no branch has to be guessed. */
const paidBetween = (paidBefore: number, paidNow: number) => (paidBefore - paidNow) >>> 31;

/**
 * Weighs plans: lists of slots, earliest first, whose chances were foreseen. Only one plan at a time, on the forecast made last: what
 * is worked out of it is kept here and used by what is asked next.
 */
export interface PlanEvaluator {
  forecast: Forecast;
  worth: Float64Array;
  cost: number;
  limits: readonly PlanLimit[];
  apartMs: number;
  /** Tries of the plan looked at. */
  tries: number;
}

/**
 * @param limits  to be kept by what is put into the plan
 * @param apartMs  between two tries of the plan
 */
export function createPlanEvaluator(
  forecast: Forecast,
  { worthAt, cost }: RetryValue,
  limits: readonly PlanLimit[] = [],
  apartMs = MIN_RETRY_GAP_MS,
): PlanEvaluator {
  if (!forecast.isLatest()) throw new Error("another forecast was made meanwhile");
  const { shares, slots } = forecast;
  remainingShares.set(shares);
  reachedShares[0] = shares.reduce((sum, share) => sum + share, 0);
  const worth = new Float64Array(slots.length);
  for (let slot = 0; slot < worth.length; slot++) worth[slot] = worthAt(slots[slot]!);
  return { forecast, worth, cost, limits, apartMs, tries: 0 };
}

/** The plan looked at. */
export const getPlan = ({ tries }: PlanEvaluator): number[] => Array.from(planSlots.subarray(0, tries));

/**
 * Look at that plan from then on.
 *
 * @returns what it is worth, and the chance that one of its tries succeeds
 */
export function evaluatePlan(board: PlanEvaluator, slots: readonly number[]): { worth: number; recovers: number } {
  planSlots.set(slots);
  board.tries = slots.length;
  const worth = evaluateFrom(board, 0);
  return { worth, recovers: reachedShares[0]! - reachedShares[board.tries]! };
}

/** One try more, at that slot and place. @returns what the plan is worth then */
export function insertRetry(board: PlanEvaluator, place: number, slot: number): number {
  planSlots.copyWithin(place + 1, place, board.tries++);
  planSlots[place] = slot;
  return evaluateFrom(board, place);
}

/** Walk through the plan anew from a place on. @returns what the plan is worth */
function evaluateFrom(board: PlanEvaluator, from: number): number {
  for (let place = from; place < board.tries; place++) advancePosition(board, place);
  computeValuesToGo(board);
  return valuesBefore[board.tries]!;
}

/** From a place of the plan to the next one. */
function advancePosition({ worth, cost, forecast }: PlanEvaluator, place: number) {
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

/** Fill `valuesToGo`. Worth is linear in what is left of an explanation, so it holds whatever comes before. */
export function computeValuesToGo({ tries, worth, cost, forecast }: PlanEvaluator) {
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

/** Where in the plan that slot would come; -1 when it is too near to one of its tries, or a limit would not be kept. */
export function findInsertPosition(board: PlanEvaluator, slot: number): number {
  let place = 0;
  while (place < board.tries && planSlots[place]! < slot) place++;
  return canPlaceRetry(board, slot, place, place) ? place : -1;
}

/** Whether a slot is far enough from the tries before a place and those from `after` on, and keeps the limits together with them. */
export function canPlaceRetry(
  { tries, limits, apartMs, forecast }: PlanEvaluator,
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
  // Of a try alone the guard has said that it is allowed; it knows better how early the ones before came.
  if (others.length === 0) return true;
  for (const limit of limits) if (!keepsLimit(limit, others, at)) return false;
  return true;
}

/**
 * What the plan would be worth with a try at that slot between the tries before `place` and those from `after` on: with one try more
 * where both are the same, with another one in its place where `after` is the next.
 */
export function evaluateWith(board: PlanEvaluator, slot: number, place: number, after: number): number {
  const { tries, cost, forecast } = board;
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

/** The share of cases that a try after all others recovers. */
function recoveredLater({ forecast }: PlanEvaluator, row: number, place: number): number {
  const width = forecast.shares.length;
  const rowBefore = planSlots[place - 1]! * width;
  const from = place * width;
  let paid = 0;
  for (let k = 0; k < width; k++)
    paid += remainingShares[from + k]! * later[2 * (row + k) + paidBetween(paidOn[rowBefore + k]!, paidOn[row + k]!)]!;
  return paid;
}

function fillRestValues({ worth, cost, forecast }: PlanEvaluator, place: number, after: number) {
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

/** Makes the try at that place at another slot; before the next walk back only the places after it may be asked about. */
export function moveRetry(board: PlanEvaluator, place: number, slot: number) {
  planSlots[place] = slot;
  advancePosition(board, place);
}
