import type { Forecast } from "../model/forecast.ts";
import { APART_MS, type Board, boardOf, PLAN_MAX, placeOf, type Stakes, walk, worthWith } from "./board.ts";

/** The tries to come, as seen now: only the first will be made for sure, the rest is planned anew after it. */
export interface TryPlan {
  /** Slots of the forecast, earliest first; empty when no try is worth its cost. */
  slots: readonly number[];
  /** Expected worth of the whole plan, as a share of the amount due. */
  value: number;
  /** The slots that it was chosen from. */
  picked: readonly number[];
}

const DAY_MS = 86_400_000;
/** Moving every try once is enough, as a rule; a second round is made where the first one gained much. */
const ROUNDS = 2;
const SETTLED = 0.002;
/** A change must gain this much, or rounding could go on for ever. */
const GAIN_MIN = 1e-9;

/**
 * The set of tries worth most together.
 *
 * Only failure lets a case go on, so a plan is a set of moments. Its worth is a sum over explanations: how likely each
 * is, and what the tries reach if it is true. That way a second try on the same pay day counts for little, and one that
 * covers another explanation for much. Found greedily, then each try is moved to where it is best beside the others.
 *
 * @param tries  how many may be planned at most
 */
export function planTries(forecast: Forecast, tries: number, stakes: Stakes): TryPlan {
  const picked = bestOfDays(forecast);
  forecast.foresee(picked);
  const board = boardOf(forecast, stakes);
  // What each picked slot gained when it was looked at last.
  const gains = new Float64Array(picked.length);
  let plan: number[] = [];
  let value = 0;
  while (plan.length < Math.min(tries, PLAN_MAX)) {
    // A second try is scored otherwise than a first one, so what a slot gained as the first says nothing of it.
    const best = bestInsertion(board, plan, picked, value, gains, plan.length > 1);
    if (best.plan === plan) break;
    ({ plan, value } = best);
  }
  for (let round = 0; round < ROUNDS; round++) {
    const before = value;
    for (const moved of [...plan]) {
      const rest = plan.filter((other) => other !== moved);
      const best = bestInsertion(board, rest, picked, value, gains, false);
      if (best.plan !== rest || best.value > value) ({ plan, value } = best);
    }
    if (value < before + SETTLED) break;
  }
  return { slots: plan, value, picked };
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
 * The plan with the one slot more that makes it worth most; the plan itself where none makes it worth more than `least`.
 *
 * @param gains  of the picked slots, as last seen; what is seen now is written
 * @param isLess  each gains less now than it did: whoever gained little is not looked at
 */
function bestInsertion(
  board: Board,
  plan: number[],
  picked: readonly number[],
  least: number,
  gains: Float64Array,
  isLess: boolean,
) {
  const { worth: own } = walk(board, plan);
  let most = Math.max(own, least) + GAIN_MIN;
  let found = -1;
  let foundPlace = 0;
  const order = [...picked.keys()];
  if (isLess) order.sort((a, b) => gains[b]! - gains[a]!);
  for (const n of order) {
    if (isLess && own + gains[n]! * HOPE <= most) break;
    const place = placeOf(board, picked[n]!);
    if (place < 0) continue;
    const worth = worthWith(board, picked[n]!, place);
    gains[n] = worth - own;
    if (worth <= most) continue;
    most = worth;
    found = picked[n]!;
    foundPlace = place;
  }
  return found < 0 ? { plan, value: own } : { plan: plan.toSpliced(foundPlace, 0, found), value: most };
}

/**
 * For each slot that a plan was chosen from: what the plan is worth when its next try is made there instead, and those that still
 * come after it follow.
 */
export function worthOfNext(forecast: Forecast, { slots: plan, picked }: TryPlan, stakes: Stakes): number[] {
  const board = boardOf(forecast, stakes);
  return picked.map((slot) => {
    const follow = plan.slice(1).filter((other) => forecast.slots[other]! - forecast.slots[slot]! >= APART_MS);
    if (board.plan.length !== follow.length) walk(board, follow);
    return worthWith(board, slot, 0);
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
  return sets.map((slots) => walk(board, slots));
}
