import { chanceAt, type Forecast } from "../model/forecast.ts";
import { phi } from "../model/normal.ts";

/** What a try is worth and costs, as shares of the amount due. */
export interface Stakes {
  /** What a recovery at that moment is worth. */
  worthAt(at: number): number;
  /** Cost of one try. */
  cost: number;
}

/** The tries to come, as seen now: only the first will be made for sure, the rest is planned anew after it. */
export interface TryPlan {
  /** Moments, earliest first; empty when no try is worth its cost. */
  at: readonly number[];
  /** Expected worth of the whole plan, as a share of the amount due. */
  value: number;
  /** The chance that the first try succeeds. */
  chance: number;
  /** For each slot: the chance if it were the very next try. */
  chances: Float64Array;
}

const DAY_MS = 86_400_000;
/** Two planned tries are at least this far apart. */
export const APART_MS = 20 * 3_600_000;
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
  const { slots } = forecast;
  const chances = Float64Array.from(slots, (_, slot) => chanceAt(forecast, slot));
  const picked = bestOfDays(forecast, chances);
  const board = boardOf(forecast, picked, stakes);

  let plan: number[] = [];
  let value = 0;
  while (plan.length < tries) {
    const best = bestInsertion(board, plan, value);
    if (!best) break;
    plan = best.plan;
    value = best.value;
  }
  for (let round = 0; round < ROUNDS; round++) {
    const before = value;
    for (const moved of [...plan]) {
      const rest = plan.filter((other) => other !== moved);
      const without = prefixes(board, rest);
      if (without > value) value = without;
      const best = bestInsertion(board, rest, value);
      if (best) ({ plan, value } = best);
      else if (without === value) plan = rest;
    }
    if (value < before + SETTLED) break;
  }
  const at = plan.map((column) => slots[picked[column]!]!);
  return { at, value, chance: plan.length > 0 ? chances[picked[plan[0]!]!]! : 0, chances };
}

/** What a set of tries would reach. */
export interface Judged {
  /** That one of them succeeds. */
  recovers: number;
  /** Expected worth, as a share of the amount due. */
  worth: number;
}

/**
 * Judges sets of tries, each made unless one before it succeeded.
 *
 * @param slots  indices of the forecast's slots that the sets are made of, earliest first
 * @returns judges a set of those slots, earliest first
 */
export function judgeOf(forecast: Forecast, slots: readonly number[], stakes: Stakes) {
  const board = boardOf(forecast, slots, stakes);
  return (tries: readonly number[]): Judged => {
    const plan = tries.map((slot) => slots.indexOf(slot));
    const worth = prefixes(board, plan);
    let open = 0;
    for (let k = 0; k < board.width; k++) open += board.left[plan.length * board.width + k]!;
    return { recovers: plan.length === 0 ? 0 : 1 - open, worth };
  };
}

/** The best slot of each stretch of a day, and all of the first day: after a fault at the bank hours count. */
export function bestOfDays({ slots }: Forecast, chances: Float64Array): number[] {
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

/** The chances of the picked slots, explanation by explanation, worked out once for the thousands of plans looked at. */
interface Board {
  at: Float64Array;
  worth: Float64Array;
  cost: number;
  width: number;
  chances: Float64Array;
  /** As the very next try; as a later one with pay since the try before; and without. Picked slot by explanation. */
  next: Float64Array;
  fresh: Float64Array;
  same: Float64Array;
  paidOn: Int32Array;
  /** For each place in a plan: what is left of each explanation when it is reached, and the value so far. */
  left: Float64Array;
  valueBefore: Float64Array;
  /** And what the tries after that place are worth to what is left then. */
  toGo: Float64Array;
  /** Around one place, for each explanation: see `around`. */
  paidBefore: Int32Array;
  paidAfter: Int32Array;
  restFresh: Float64Array;
  restSame: Float64Array;
}

const PLAN_MAX = 32;
/** No day of any calendar. */
const NEVER_PAID = -1_000_000;

function boardOf(forecast: Forecast, picked: readonly number[], stakes: Stakes): Board {
  const width = forecast.explanations.length;
  const size = picked.length * width;
  const board: Board = {
    at: Float64Array.from(picked, (slot) => forecast.slots[slot]!),
    worth: Float64Array.from(picked, (slot) => stakes.worthAt(forecast.slots[slot]!)),
    cost: stakes.cost,
    width,
    chances: forecast.chances,
    next: new Float64Array(size),
    fresh: new Float64Array(size),
    same: new Float64Array(size),
    paidOn: new Int32Array(size),
    left: new Float64Array((PLAN_MAX + 1) * width),
    valueBefore: new Float64Array(PLAN_MAX + 1),
    toGo: new Float64Array((PLAN_MAX + 1) * width),
    paidBefore: new Int32Array(width),
    paidAfter: new Int32Array(width),
    restFresh: new Float64Array(width),
    restSame: new Float64Array(width),
  };
  board.left.set(forecast.chances);
  for (let column = 0; column < picked.length; column++) {
    const slot = picked[column]!;
    const next = forecast.next[slot]!;
    const later = forecast.later[slot]!;
    for (let k = 0; k < width; k++) {
      const from = slot * width + k;
      const to = column * width + k;
      const paidOn = forecast.paidOn[from]!;
      board.fresh[to] = phi(later + forecast.fresh[from]!);
      board.same[to] = paidOn === 0 ? board.fresh[to]! : phi(later + forecast.same[from]!);
      board.next[to] = phi(next + (paidOn === forecast.lastPaidOn[k] ? forecast.same[from]! : forecast.fresh[from]!));
      board.paidOn[to] = paidOn;
    }
  }
  return board;
}

/** Fill `left` and `valueBefore` for each place of the plan. @returns the plan's value */
function prefixes(board: Board, plan: readonly number[]): number {
  const { width, left, valueBefore } = board;
  for (let place = 0; place < plan.length; place++) {
    const from = place * width;
    for (let k = 0; k < width; k++) left[from + width + k] = left[from + k]!;
    valueBefore[place + 1] =
      valueBefore[place]! + tryAt(board, plan[place]!, place > 0 ? plan[place - 1]! : -1, left, from + width);
  }
  return valueBefore[plan.length]!;
}

/** The plan with the one slot more that gains most; null when none gains. */
function bestInsertion(board: Board, plan: readonly number[], value: number) {
  prefixes(board, plan);
  afterwards(board, plan);
  const { at } = board;
  let most = value + GAIN_MIN;
  let found = -1;
  let foundPlace = 0;
  let place = -1;
  let before = -1;
  let after = -1;
  for (let column = 0; column < at.length; column++) {
    if (place < 0 || (place < plan.length && plan[place]! < column)) {
      place = Math.max(0, place);
      while (place < plan.length && plan[place]! < column) place++;
      before = place > 0 ? plan[place - 1]! : -1;
      after = place < plan.length ? plan[place]! : -1;
      around(board, place, before, after);
    }
    if (before >= 0 && at[column]! - at[before]! < APART_MS) continue;
    if (after >= 0 && at[after]! - at[column]! < APART_MS) continue;
    const worth = board.valueBefore[place]! + worthBetween(board, column, place, before);
    if (worth > most) {
      most = worth;
      found = column;
      foundPlace = place;
    }
  }
  return found < 0 ? null : { plan: plan.toSpliced(foundPlace, 0, found), value: most };
}

/**
 * Fill `toGo`: for each place of the plan and each explanation, what the tries after that place are still worth to a
 * case that reaches them. Worth is linear in what is left of an explanation, so this holds whatever comes before.
 */
function afterwards(board: Board, plan: readonly number[]) {
  const { width, toGo, same, fresh, paidOn, worth, cost } = board;
  toGo.fill(0, Math.max(0, plan.length - 1) * width, (plan.length + 1) * width);
  for (let place = plan.length - 2; place >= 0; place--) {
    const row = plan[place + 1]! * width;
    const rowBefore = plan[place]! * width;
    const gain = worth[plan[place + 1]!]!;
    for (let k = 0; k < width; k++) {
      const p = paidOn[row + k] === paidOn[rowBefore + k] ? same[row + k]! : fresh[row + k]!;
      toGo[place * width + k] = p * gain - cost + (1 - p) * toGo[(place + 1) * width + k]!;
    }
  }
}

/** Fill in what a try between two of the plan meets, whichever slot it takes; -1: there is none before, or after. */
function around(board: Board, place: number, before: number, after: number) {
  const { width, fresh, same, paidOn, left, toGo, worth, cost, paidBefore, paidAfter, restFresh, restSame } = board;
  const from = place * width;
  const rowBefore = before * width;
  const rowAfter = after * width;
  const gain = after < 0 ? 0 : worth[after]!;
  for (let k = 0; k < width; k++) {
    paidBefore[k] = before < 0 ? NEVER_PAID : paidOn[rowBefore + k]!;
    paidAfter[k] = after < 0 ? NEVER_PAID : paidOn[rowAfter + k]!;
    const mass = after < 0 ? 0 : left[from + k]!;
    const later = toGo[from + k]!;
    const f = after < 0 ? 0 : fresh[rowAfter + k]!;
    const s = after < 0 ? 0 : same[rowAfter + k]!;
    restFresh[k] = mass * (f * gain - cost + (1 - f) * later);
    restSame[k] = mass * (s * gain - cost + (1 - s) * later);
  }
}

/** Worth of one more try at the place that `around` looked at, and of all that come after it. */
function worthBetween(board: Board, column: number, place: number, before: number): number {
  const { width, next, paidOn, left, worth, cost, paidBefore, paidAfter, restFresh, restSame } = board;
  const fresh = before < 0 ? next : board.fresh;
  const same = before < 0 ? next : board.same;
  const row = column * width;
  const from = place * width;
  const gain = worth[column]!;
  let value = 0;
  for (let k = 0; k < width; k++) {
    const paid = paidOn[row + k]!;
    const p = paid === paidBefore[k] ? same[row + k]! : fresh[row + k]!;
    const rest = paid === paidAfter[k] ? restSame[k]! : restFresh[k]!;
    value += left[from + k]! * (p * gain - cost) + (1 - p) * rest;
  }
  return value;
}

/**
 * One try of a plan: what it is worth, while what is left of each explanation shrinks to the part where it fails.
 *
 * @param before  the planned try before it; -1: none, it is the very next one
 */
function tryAt(board: Board, column: number, before: number, left: Float64Array, from: number): number {
  const { width, next, fresh, same, paidOn } = board;
  const row = column * width;
  const rowBefore = before * width;
  let reached = 0;
  let paid = 0;
  for (let k = 0; k < width; k++) {
    const p =
      before < 0 ? next[row + k]! : paidOn[row + k] === paidOn[rowBefore + k] ? same[row + k]! : fresh[row + k]!;
    const mass = left[from + k]!;
    reached += mass;
    paid += mass * p;
    left[from + k] = mass - mass * p;
  }
  return paid * board.worth[column]! - reached * board.cost;
}
