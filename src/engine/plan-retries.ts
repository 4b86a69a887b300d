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

/** Only the first retry is certain; the others are planned again after it. */
export interface RetryPlan {
  /** Forecast slots, earliest first; empty if no retry is worth making. */
  slots: readonly number[];
  /** The whole plan's expected value as a fraction of the amount due. */
  worth: number;
  /** The slots it was chosen from, earliest first. */
  picked: readonly number[];
  limits: readonly PlanLimit[];
  apartMs: number;
  /** Slots in the order of addition, before moves. */
  grown: readonly number[];
}

/** One round is usually enough. A second follows a large gain. */
const MAX_ROUNDS = 2;
const SMALL_GAIN_RATE = 0.002;
/** Smaller gains may come from rounding, and could go on forever. */
const MIN_GAIN = 1e-9;

/**
 * Returns the set of retries with the highest value together.
 *
 * A case continues only after a failure, so a plan is a set of times. Its value sums over hypotheses: their probability times the
 * retries' value if true. So a second retry on the same pay day adds little, and one that covers another hypothesis adds much.
 * The set is built greedily; then each retry moves to its best slot between its neighbors. Moves past neighbors gain almost
 * nothing and take most time.
 *
 * @param limits  kept by all retries together, so that scarce ones are not spent early
 * @param aside  a slot that no plan may use; -1: none
 */
export function planRetries(
  forecast: Forecast,
  tries: number,
  stakes: RetryValue,
  limits: readonly PlanLimit[] = [],
  aside = -1,
): RetryPlan {
  const picked = bestOf24Hours(forecast, aside);
  forecast.foresee(picked);
  const apartMs = minGapOf(forecast, tries);
  const length = Math.min(tries, MAX_PLAN_LENGTH);
  const board = createPlanEvaluator(forecast, stakes, length, limits, apartMs);
  // By picked slot, the latest known.
  const gains = new Float64Array(picked.length);
  // The picked slots in evaluation order.
  const order = new Int32Array(picked.length);
  for (let n = 0; n < order.length; n++) order[n] = n;
  const grown: number[] = [];
  let worth = 0;
  while (grown.length < length) {
    // A second retry is scored differently, so the first one's gains say nothing about it.
    const slot = findBestAddition(board, picked, worth, gains, order, grown.length > 1);
    if (slot < 0) break;
    grown.push(slot);
    worth = insertRetry(board, findInsertPosition(board, slot), slot);
  }
  return { ...improvePlan(board, picked, worth), picked, limits, apartMs, grown };
}

/** As `planRetries`, which adds the same slots whatever the maximum. */
export function planFewerRetries(forecast: Forecast, tries: number, stakes: RetryValue, plan: RetryPlan): RetryPlan {
  const { picked, limits, apartMs } = plan;
  const grown = plan.grown.slice(0, tries);
  const board = createPlanEvaluator(forecast, stakes, grown.length, limits, apartMs);
  const worth = grown.reduce((_, slot) => insertRetry(board, findInsertPosition(board, slot), slot), 0);
  return { ...improvePlan(board, picked, worth), picked, limits, apartMs, grown };
}

function improvePlan(
  board: PlanEvaluator,
  picked: readonly number[],
  grownTo: number,
): Pick<RetryPlan, "slots" | "worth"> {
  let worth = grownTo;
  for (let round = 0; round < MAX_ROUNDS && worth > 0; round++) {
    const before = worth;
    worth = moveEachRetry(board, picked, worth);
    if (worth < before + SMALL_GAIN_RATE) break;
    computeValuesToGo(board);
  }
  return { slots: getPlan(board), worth };
}

/** Includes all slots of the first 24 hours: after a bank fault hours count. */
function bestOf24Hours({ slots, chances }: Forecast, aside: number): number[] {
  const found: number[] = [];
  const start = slots[0] ?? 0;
  const dayOf = (slot: number) => Math.floor((slots[slot]! - start) / DAY_MS);
  for (let slot = 0; slot < slots.length; slot++) {
    if (slot === aside) continue;
    const last = found.at(-1);
    if (last === undefined || dayOf(slot) === 0 || dayOf(last) !== dayOf(slot)) found.push(slot);
    else if (chances[slot]! > chances[last]!) found[found.length - 1] = slot;
  }
  return found;
}

/** A slot's gain nearly always falls as the plan grows, so its latest gain times this bounds its next one. */
const GAIN_OPTIMISM = 1.2;

/**
 * @param ofPlan  the plan's value without it
 * @param gains  latest gains of picked slots, updated here
 * @param isLess  whether gains only fall, so that small ones are skipped
 * @returns the slot; -1: none raises the value
 */
function findBestAddition(
  board: PlanEvaluator,
  picked: readonly number[],
  ofPlan: number,
  gains: Float64Array,
  order: Int32Array,
  isLess: boolean,
): number {
  let most = ofPlan + MIN_GAIN;
  let found = -1;
  if (isLess) sortByGain(order, gains);
  for (let looks = 0; looks < picked.length; looks++) {
    const n = order[looks]!;
    if (isLess && ofPlan + gains[n]! * GAIN_OPTIMISM <= most) break;
    const place = findInsertPosition(board, picked[n]!);
    if (place < 0) continue;
    const worth = evaluateWith(board, picked[n]!, place, place);
    gains[n] = worth - ofPlan;
    if (worth <= most) continue;
    most = worth;
    found = picked[n]!;
  }
  return found;
}

/** Highest gain first; ties by time. An insertion sort, since the order hardly changes between retries. */
function sortByGain(order: Int32Array, gains: Float64Array) {
  for (let n = 1; n < gains.length; n++) {
    const one = order[n]!;
    const gain = gains[one]!;
    let place = n;
    for (; place > 0; place--) {
      const other = order[place - 1]!;
      if (gains[other]! > gain || (gains[other] === gain && other < one)) break;
      order[place] = other;
    }
    order[place] = one;
  }
}

/** Moves retries in order. Returns the plan's value. */
function moveEachRetry(board: PlanEvaluator, picked: readonly number[], ofPlan: number): number {
  const plan = getPlan(board);
  let most = ofPlan;
  let n = 0;
  for (let place = 0; place < plan.length; place++) {
    let best = plan[place]!;
    const next = plan[place + 1] ?? Number.POSITIVE_INFINITY;
    while (n < picked.length && place > 0 && picked[n]! <= plan[place - 1]!) n++;
    for (let m = n; m < picked.length && picked[m]! < next; m++) {
      const slot = picked[m]!;
      if (slot === best || !canPlaceRetry(board, slot, place, place + 1)) continue;
      const worth = evaluateWith(board, slot, place, place + 1);
      if (worth <= most + MIN_GAIN) continue;
      most = worth;
      best = slot;
    }
    plan[place] = best;
    moveRetry(board, place, best);
  }
  return most;
}

/** Returns the plan's retries that still follow if its next one is made at this slot. */
export function findFollowingSlots(
  forecast: Forecast,
  { slots: plan, limits, apartMs }: RetryPlan,
  slot: number,
): number[] {
  const { slots } = forecast;
  let from = 1;
  while (from < plan.length && !isFarEnoughApart(forecast, slot, plan[from]!, apartMs)) from++;
  if (limits.length === 0) return plan.slice(from);
  const moments = [slots[slot]!];
  return plan.slice(from).filter((other) => {
    const then = slots[other]!;
    if (!limits.every((limit) => keepsLimit(limit, moments, then))) return false;
    moments.push(then);
    return true;
  });
}

/** By picked slot: the plan's value if its next retry is made there and the others follow as far as they can. */
export function valuesByNextSlot(forecast: Forecast, plan: RetryPlan, stakes: RetryValue): number[] {
  const board = createPlanEvaluator(forecast, stakes, plan.slots.length);
  const worth: number[] = [];
  let looked: readonly number[] | null = null;
  for (const slot of plan.picked) {
    const follow = findFollowingSlots(forecast, plan, slot);
    if (looked === null || !isSuffix(looked, follow)) {
      evaluatePlan(board, follow);
      looked = follow;
    }
    worth.push(evaluateWith(board, slot, 0, looked.length - follow.length));
  }
  return worth;
}

/** The last retries' value does not depend on the earlier ones, so one evaluation serves both. */
function isSuffix(of: readonly number[], end: readonly number[]): boolean {
  const from = of.length - end.length;
  if (from < 0) return false;
  for (let n = 0; n < end.length; n++) if (end[n] !== of[from + n]) return false;
  return true;
}

/**
 * Returns each set's probability of success, and its value as a fraction of the amount due.
 *
 * @param sets  forecast slots, earliest first
 */
export function evaluateSets(forecast: Forecast, sets: readonly (readonly number[])[], stakes: RetryValue) {
  forecast.foresee(sets.flat());
  const board = createPlanEvaluator(forecast, stakes, Math.max(0, ...sets.map(({ length }) => length)));
  return sets.map((slots) => evaluatePlan(board, slots));
}
