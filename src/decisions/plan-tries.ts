import type { Forecast } from "../model/forecast.ts";
import { keepsLimit, type PlanLimit } from "../rules/plan-limits.ts";
import {
  APART_MS,
  type Board,
  boardOf,
  fits,
  insert,
  lookAt,
  PLAN_MAX,
  placeOf,
  planOf,
  type Stakes,
  settle,
  walkBack,
  worthWith,
} from "./board.ts";

/** The tries to come, as seen now: only the first will be made for sure, the rest is planned anew after it. */
export interface TryPlan {
  /** Slots of the forecast, earliest first; empty when no try is worth its cost. */
  slots: readonly number[];
  /** Expected worth of the whole plan, as a share of the amount due. */
  value: number;
  /** The slots that it was chosen from. */
  picked: readonly number[];
  /** What it keeps. */
  limits: readonly PlanLimit[];
}

const DAY_MS = 86_400_000;
/** Moving each try once is enough, as a rule; a second round is made where the first one gained much. */
const ROUNDS = 2;
const SETTLED = 0.002;
/** A change must gain this much, or rounding could go on for ever. */
const GAIN_MIN = 1e-9;

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
 */
export function planTries(
  forecast: Forecast,
  tries: number,
  stakes: Stakes,
  limits: readonly PlanLimit[] = [],
): TryPlan {
  const picked = bestOfDays(forecast);
  forecast.foresee(picked);
  const board = boardOf(forecast, stakes, limits);
  // What each picked slot gained when it was looked at last.
  const gains = new Float64Array(picked.length);
  let value = 0;
  while (board.tries < Math.min(tries, PLAN_MAX)) {
    // A second try is scored otherwise than a first one, so what a slot gained as the first says nothing of it.
    const more = insertBest(board, picked, value, gains, board.tries > 1);
    if (more === value) break;
    value = more;
  }
  for (let round = 0; round < ROUNDS && value > 0; round++) {
    const before = value;
    value = moveEach(board, picked, value);
    if (value < before + SETTLED) break;
    walkBack(board);
  }
  return { slots: planOf(board), value, picked, limits };
}

/** The best slot of each stretch of a day, and all of the first day: after a fault at the bank hours count. */
function bestOfDays({ slots, chances }: Forecast): number[] {
  const found: number[] = [];
  const start = slots[0] ?? 0;
  const dayOf = (slot: number) => Math.floor((slots[slot]! - start) / DAY_MS);
  for (let slot = 0; slot < slots.length; slot++) {
    const last = found.at(-1);
    if (last === undefined || dayOf(slot) === 0 || dayOf(last) !== dayOf(slot)) found.push(slot);
    else if (chances[slot]! > chances[last]!) found[found.length - 1] = slot;
  }
  return found;
}

/** The more tries are planned, the less another one gains, nearly always: so a gain seen before is hoped for again, and this much more. */
const HOPE = 1.2;

/**
 * Adds the one try that makes the plan worth most, if it makes it worth more.
 *
 * @param value  of the plan
 * @param gains  of the picked slots, as last seen; what is seen now is written
 * @param isLess  each gains less now than it did: whoever gained little is not looked at
 * @returns what the plan is worth then
 */
function insertBest(
  board: Board,
  picked: readonly number[],
  value: number,
  gains: Float64Array,
  isLess: boolean,
): number {
  let most = value + GAIN_MIN;
  let found = -1;
  const order = [...picked.keys()];
  if (isLess) order.sort((a, b) => gains[b]! - gains[a]!);
  for (const n of order) {
    if (isLess && value + gains[n]! * HOPE <= most) break;
    const place = placeOf(board, picked[n]!);
    if (place < 0) continue;
    const worth = worthWith(board, picked[n]!, place, place);
    gains[n] = worth - value;
    if (worth <= most) continue;
    most = worth;
    found = picked[n]!;
  }
  if (found < 0) return value;
  return insert(board, placeOf(board, found), found);
}

/** Moves each try in turn, the first one first, to where it is best between the one before it and the one after. @returns what the plan is worth then */
function moveEach(board: Board, picked: readonly number[], value: number): number {
  const plan = planOf(board);
  let most = value;
  let n = 0;
  for (let place = 0; place < plan.length; place++) {
    let best = plan[place]!;
    const next = plan[place + 1] ?? Number.POSITIVE_INFINITY;
    while (n < picked.length && place > 0 && picked[n]! <= plan[place - 1]!) n++;
    for (let m = n; m < picked.length && picked[m]! < next; m++) {
      const slot = picked[m]!;
      if (slot === best || !fits(board, slot, place, place + 1)) continue;
      const worth = worthWith(board, slot, place, place + 1);
      if (worth <= most + GAIN_MIN) continue;
      most = worth;
      best = slot;
    }
    plan[place] = best;
    settle(board, place, best);
  }
  return most;
}

/** The tries of a plan that still come after its next one when that is made at this slot instead. */
export function followers({ slots }: Forecast, { slots: plan, limits }: TryPlan, slot: number): number[] {
  const moments = [slots[slot]!];
  return plan.slice(1).filter((other) => {
    const at = slots[other]!;
    if (at - moments[0]! < APART_MS || !limits.every((limit) => keepsLimit(limit, moments, at))) return false;
    moments.push(at);
    return true;
  });
}

/** For each of these slots: what the plan is worth when its next try is made there instead, and those that still come after it follow. */
export function worthOfNext(forecast: Forecast, plan: TryPlan, stakes: Stakes, slots: readonly number[]) {
  const board = boardOf(forecast, stakes);
  return slots.map((slot) => {
    const follow = followers(forecast, plan, slot);
    // Those that follow are the last ones of the plan, so their number tells them, where no limit takes out one between.
    if (board.tries !== follow.length || plan.limits.length > 0) lookAt(board, follow);
    return worthWith(board, slot, 0, 0);
  });
}

/**
 * What sets of tries would reach: that one of them succeeds, and their worth as a share of the amount due.
 *
 * @param sets  lists of slots of the forecast, earliest first
 */
export function judge(forecast: Forecast, sets: readonly (readonly number[])[], stakes: Stakes) {
  forecast.foresee(sets.flat());
  const board = boardOf(forecast, stakes);
  return sets.map((slots) => lookAt(board, slots));
}
