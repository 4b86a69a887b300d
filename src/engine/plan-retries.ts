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

/** The tries to come, as seen now: only the first will be made for sure, the rest is planned anew after it. */
export interface RetryPlan {
  /** Slots of the forecast, earliest first; empty when no try brings what it must. */
  slots: readonly number[];
  /** Expected, of the whole plan, as a share of the amount due. */
  worth: number;
  /** The slots that it was chosen from, earliest first. */
  picked: readonly number[];
  /** What it keeps. */
  limits: readonly PlanLimit[];
  /** How far apart its tries are at least. */
  apartMs: number;
  /** The slots that it grew by, in that order, before they were moved. */
  grown: readonly number[];
}

/** Moving each try once is enough, as a rule; a second round is made where the first one gained much. */
const MAX_ROUNDS = 2;
const SMALL_GAIN_RATE = 0.002;
/** A change must gain this much, or rounding could go on for ever. */
const MIN_GAIN = 1e-9;

/**
 * The set of tries worth most together.
 *
 * Only failure lets a case go on, so a plan is a set of moments. Its worth is a sum over explanations: how likely each
 * is, and what the tries reach if it is true. That way a second try on the same pay day counts for little, and one that
 * covers another explanation for much. Found greedily, then each try is moved to where it is best between its neighbours: to let it
 * jump over others gained one part in eight thousand, and most of the looking was for that.
 *
 * @param tries  how many may be planned at most
 * @param limits  to be kept by all tries of the plan together: where few are allowed in a stretch of time, they are not spent early
 * @param aside  a slot that no plan is made with; -1: none
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
  // What each picked slot gained when it was looked at last.
  const gains = new Float64Array(picked.length);
  // The picked slots, in the order in which they are looked at.
  const order = new Int32Array(picked.length);
  for (let n = 0; n < order.length; n++) order[n] = n;
  const grown: number[] = [];
  let worth = 0;
  while (grown.length < length) {
    // A second try is scored otherwise than a first one, so what a slot gained as the first says nothing of it.
    const slot = findBestAddition(board, picked, worth, gains, order, grown.length > 1);
    if (slot < 0) break;
    grown.push(slot);
    worth = insertRetry(board, findInsertPosition(board, slot), slot);
  }
  return { ...improvePlan(board, picked, worth), picked, limits, apartMs, grown };
}

/** What `planRetries` finds on the same terms where only so many tries may be planned: a plan grows by the same slots however many they may become. */
export function planFewerRetries(forecast: Forecast, tries: number, stakes: RetryValue, plan: RetryPlan): RetryPlan {
  const { picked, limits, apartMs } = plan;
  const grown = plan.grown.slice(0, tries);
  const board = createPlanEvaluator(forecast, stakes, grown.length, limits, apartMs);
  const worth = grown.reduce((_, slot) => insertRetry(board, findInsertPosition(board, slot), slot), 0);
  return { ...improvePlan(board, picked, worth), picked, limits, apartMs, grown };
}

/** Moves the tries that a plan has grown by to where they are best. */
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

/** The best slot of each 24 hours, and all of the first ones: after a fault at the bank hours count. */
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

/** The more tries are planned, the less another one gains, nearly always: so a gain seen before is hoped for again, and this much more. */
const GAIN_OPTIMISM = 1.2;

/**
 * The one try more that makes the plan worth most.
 *
 * @param ofPlan  what the plan is worth without it
 * @param gains  of the picked slots, as last seen; what is seen now is written
 * @param isLess  each gains less now than it did: whoever gained little is not looked at
 * @returns its slot; -1: none makes it worth more
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

/**
 * Puts those first that gained most, of as many the earlier one. They hardly change their order from one try to the next, so each is moved to its place
 * by hand: a list made and sorted anew each time took a tenth of a decision.
 */
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

/** Moves each try in turn, the first one first, to where it is best between the one before it and the one after. @returns what the plan is worth then */
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

/** The tries of a plan that still come after its next one when that is made at this slot instead. */
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

/** For each slot that a plan was chosen from: what it is worth when its next try is made there instead, and those that still come after it follow. */
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

/** Whether a list ends with another one. What those tries are worth does not depend on what comes before, so one look serves both. */
function isSuffix(of: readonly number[], end: readonly number[]): boolean {
  const from = of.length - end.length;
  if (from < 0) return false;
  for (let n = 0; n < end.length; n++) if (end[n] !== of[from + n]) return false;
  return true;
}

/**
 * What sets of tries would reach: that one of them succeeds, and their worth as a share of the amount due.
 *
 * @param sets  lists of slots of the forecast, earliest first
 */
export function evaluateSets(forecast: Forecast, sets: readonly (readonly number[])[], stakes: RetryValue) {
  forecast.foresee(sets.flat());
  const board = createPlanEvaluator(forecast, stakes, Math.max(0, ...sets.map(({ length }) => length)));
  return sets.map((slots) => evaluatePlan(board, slots));
}
