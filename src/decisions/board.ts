import { EXPLANATIONS } from "../model/explanations.ts";
import { type Forecast, tables } from "../model/forecast.ts";

/** What a try is worth and costs, as shares of the amount due. */
export interface Stakes {
  /** What a recovery at that moment is worth. */
  worthAt(at: number): number;
  /** Cost of one try. */
  cost: number;
}

/** Two planned tries are at least this far apart. */
export const APART_MS = 20 * 3_600_000;
/** Tries of the longest plan: no budget is larger. */
export const PLAN_MAX = 100;

const { next, same, fresh, paidOn } = tables;
/** Place by explanation: what is left of each when that place of the plan is reached; what the tries after it are worth to one whole case. */
const left = new Float64Array((PLAN_MAX + 1) * EXPLANATIONS);
const toGo = new Float64Array((PLAN_MAX + 1) * EXPLANATIONS);
/** For each place: what the tries before it are worth. */
const before = new Float64Array(PLAN_MAX + 1);
/** What the plan's tries from a place on are worth when they find new pay, and when they do not; and whether it is worked out. */
const restFresh = new Float64Array((PLAN_MAX + 1) * EXPLANATIONS);
const restSame = new Float64Array((PLAN_MAX + 1) * EXPLANATIONS);
const isRestKnown = new Uint8Array(PLAN_MAX + 1);

/**
 * Weighs plans: lists of slots, earliest first, whose chances were foreseen. Only one plan at a time, on the forecast made last: what
 * is worked out of it is kept here and used by what is asked next.
 */
export interface Board {
  forecast: Forecast;
  worth: Float64Array;
  cost: number;
  /** The plan looked at. */
  plan: readonly number[];
}

export function boardOf(forecast: Forecast, { worthAt, cost }: Stakes): Board {
  if (!forecast.isLatest()) throw new Error("another forecast was made meanwhile");
  left.set(forecast.shares);
  return { forecast, worth: Float64Array.from(forecast.slots, worthAt), cost, plan: [] };
}

/**
 * Walk through that plan, which is the one looked at from then on.
 *
 * @returns what it is worth, and the chance that one of its tries succeeds
 */
export function walk(board: Board, plan: readonly number[]): { worth: number; recovers: number } {
  const { worth, cost, forecast } = board;
  const width = forecast.shares.length;
  board.plan = plan;
  let open = 1;
  for (let place = 0; place < plan.length; place++) {
    const row = plan[place]! * width;
    const rowBefore = place > 0 ? plan[place - 1]! * width : -1;
    const from = place * width;
    let reached = 0;
    let paid = 0;
    for (let k = 0; k < width; k++) {
      const p =
        rowBefore < 0 ? next[row + k]! : paidOn[row + k] === paidOn[rowBefore + k] ? same[row + k]! : fresh[row + k]!;
      const mass = left[from + k]!;
      reached += mass;
      paid += mass * p;
      left[from + width + k] = mass - mass * p;
    }
    open -= paid;
    before[place + 1] = before[place]! + paid * worth[plan[place]!]! - reached * cost;
  }
  walkBack(board);
  return { worth: before[plan.length]!, recovers: 1 - open };
}

/** Fill `toGo`. Worth is linear in what is left of an explanation, so it holds whatever comes before. */
function walkBack({ plan, worth, cost, forecast }: Board) {
  const width = forecast.shares.length;
  isRestKnown.fill(0, 0, plan.length + 1);
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

/** Where in the plan that slot would come; -1 when it is too near to one of its tries. */
export function placeOf({ plan, forecast: { slots } }: Board, slot: number): number {
  let place = 0;
  while (place < plan.length && plan[place]! < slot) place++;
  if (place > 0 && slots[slot]! - slots[plan[place - 1]!]! < APART_MS) return -1;
  if (place < plan.length && slots[plan[place]!]! - slots[slot]! < APART_MS) return -1;
  return place;
}

/** What the plan would be worth with one try more, at that slot and place. */
export function worthWith(board: Board, slot: number, place: number): number {
  const { plan, cost, forecast } = board;
  const width = forecast.shares.length;
  if (place < plan.length && isRestKnown[place] === 0) fillRest(board, place);
  const gain = board.worth[slot]!;
  const row = slot * width;
  const rowBefore = place > 0 ? plan[place - 1]! * width : -1;
  const rowAfter = place < plan.length ? plan[place]! * width : -1;
  const from = place * width;
  let value = before[place]!;
  for (let k = 0; k < width; k++) {
    const paid = paidOn[row + k]!;
    const p = rowBefore < 0 ? next[row + k]! : paid === paidOn[rowBefore + k] ? same[row + k]! : fresh[row + k]!;
    const rest = rowAfter < 0 ? 0 : paid === paidOn[rowAfter + k] ? restSame[from + k]! : restFresh[from + k]!;
    value += left[from + k]! * (p * gain - cost) + (1 - p) * rest;
  }
  return value;
}

function fillRest({ plan, worth, cost, forecast }: Board, place: number) {
  const width = forecast.shares.length;
  const row = plan[place]! * width;
  const gain = worth[plan[place]!]!;
  for (let k = 0; k < width; k++) {
    const at = place * width + k;
    const mass = left[at]!;
    const later = toGo[at]!;
    const f = fresh[row + k]!;
    const s = same[row + k]!;
    restFresh[at] = mass * (f * gain - cost + (1 - f) * later);
    restSame[at] = mass * (s * gain - cost + (1 - s) * later);
  }
  isRestKnown[place] = 1;
}
