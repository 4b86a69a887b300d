import { HOUR_MS } from "../domain/durations.ts";
import { EXPLANATIONS } from "../model/explanations.ts";
import { type Forecast, tables } from "../model/forecast.ts";
import { keepsLimit, type PlanLimit } from "../rules/plan-limits.ts";
import type { Stakes } from "./stakes.ts";

/** Two planned tries are at least this far apart, or as far as `apartOf` says where the window has no room for that. */
export const APART_MS = 20 * HOUR_MS;
/** For so many tries room is made. */
const ROOM_TRIES = 6;

/** How far apart so many tries may be at least in so much time: what is left of a window of a day or two would else end after one or two of them. */
export const apartIn = (spanMs: number, tries: number): number =>
  Math.min(APART_MS, spanMs / Math.max(1, Math.min(tries, ROOM_TRIES) - 1));

/** The same in the time of a forecast. */
export const apartOf = ({ slots }: Forecast, tries: number): number =>
  apartIn((slots.at(-1) ?? 0) - (slots[0] ?? 0), tries);

/** Whether one slot is far enough behind another one for a try at each: the first one's answer is there by then. */
export const isApart = ({ slots, answeredAt }: Forecast, first: number, second: number, apartMs: number) =>
  slots[second]! - slots[first]! >= apartMs && (answeredAt === null || slots[second]! >= answeredAt[first]!);

/** Tries of the longest plan: no budget is larger. */
export const PLAN_MAX = 100;

const { next, later, paidOn } = tables;
/** Place by explanation: what is left of each when that place of the plan is reached; what the tries after it are worth to one whole case. */
const left = new Float64Array((PLAN_MAX + 1) * EXPLANATIONS);
const toGo = new Float64Array((PLAN_MAX + 1) * EXPLANATIONS);
/** The slots of the plan: of one kind of array always, because the code made for one kind of list was thrown away at each other kind. */
const plan = new Int32Array(PLAN_MAX);
/** For each place: what the tries before it are worth, and the share of cases that reach it. */
const before = new Float64Array(PLAN_MAX + 1);
const reached = new Float64Array(PLAN_MAX + 1);
/**
 * What the plan's tries from some place on are worth to those that reach a place, twice for each explanation, as `tables.later`: when
 * those tries find no new pay, and when they do. And from which place on: -1 when it is not worked out.
 */
const rest = new Float64Array(2 * (PLAN_MAX + 1) * EXPLANATIONS);
const restFrom = new Int32Array(PLAN_MAX + 1).fill(-1);

/** 1 when pay came between two tries, else 0: its day only moves on, so the sign tells, and no branch has to be guessed. */
const came = (paidBefore: number, paidNow: number) => (paidBefore - paidNow) >>> 31;

/**
 * Weighs plans: lists of slots, earliest first, whose chances were foreseen. Only one plan at a time, on the forecast made last: what
 * is worked out of it is kept here and used by what is asked next.
 */
export interface Board {
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
export function boardOf(
  forecast: Forecast,
  { worthAt, cost }: Stakes,
  limits: readonly PlanLimit[] = [],
  apartMs = APART_MS,
): Board {
  if (!forecast.isLatest()) throw new Error("another forecast was made meanwhile");
  const { shares, slots } = forecast;
  left.set(shares);
  reached[0] = shares.reduce((sum, share) => sum + share, 0);
  const worth = new Float64Array(slots.length);
  for (let slot = 0; slot < worth.length; slot++) worth[slot] = worthAt(slots[slot]!);
  return { forecast, worth, cost, limits, apartMs, tries: 0 };
}

/** The plan looked at. */
export const planOf = ({ tries }: Board): number[] => Array.from(plan.subarray(0, tries));

/**
 * Look at that plan from then on.
 *
 * @returns what it is worth, and the chance that one of its tries succeeds
 */
export function lookAt(board: Board, slots: readonly number[]): { worth: number; recovers: number } {
  plan.set(slots);
  board.tries = slots.length;
  const worth = walk(board, 0);
  return { worth, recovers: reached[0]! - reached[board.tries]! };
}

/** One try more, at that slot and place. @returns what the plan is worth then */
export function insert(board: Board, place: number, slot: number): number {
  plan.copyWithin(place + 1, place, board.tries++);
  plan[place] = slot;
  return walk(board, place);
}

/** Walk through the plan anew from a place on. @returns what the plan is worth */
function walk(board: Board, from: number): number {
  for (let place = from; place < board.tries; place++) step(board, place);
  walkBack(board);
  return before[board.tries]!;
}

/** From a place of the plan to the next one. */
function step({ worth, cost, forecast }: Board, place: number) {
  const width = forecast.shares.length;
  const row = plan[place]! * width;
  const rowBefore = place > 0 ? plan[place - 1]! * width : -1;
  const from = place * width;
  let paid = 0;
  for (let k = 0; k < width; k++) {
    const p = rowBefore < 0 ? next[row + k]! : later[2 * (row + k) + came(paidOn[rowBefore + k]!, paidOn[row + k]!)]!;
    const mass = left[from + k]!;
    paid += mass * p;
    left[from + width + k] = mass - mass * p;
  }
  before[place + 1] = before[place]! + paid * worth[plan[place]!]! - reached[place]! * cost;
  reached[place + 1] = reached[place]! - paid;
  restFrom[place + 1] = -1;
}

/** Fill `toGo`. Worth is linear in what is left of an explanation, so it holds whatever comes before. */
export function walkBack({ tries, worth, cost, forecast }: Board) {
  const width = forecast.shares.length;
  restFrom.fill(-1, 0, tries + 1);
  toGo.fill(0, Math.max(0, tries - 1) * width, (tries + 1) * width);
  for (let place = tries - 2; place >= 0; place--) {
    const row = plan[place + 1]! * width;
    const rowBefore = plan[place]! * width;
    const gain = worth[plan[place + 1]!]!;
    for (let k = 0; k < width; k++) {
      const p = later[2 * (row + k) + came(paidOn[rowBefore + k]!, paidOn[row + k]!)]!;
      toGo[place * width + k] = p * gain - cost + (1 - p) * toGo[(place + 1) * width + k]!;
    }
  }
}

/** Where in the plan that slot would come; -1 when it is too near to one of its tries, or a limit would not be kept. */
export function placeOf(board: Board, slot: number): number {
  let place = 0;
  while (place < board.tries && plan[place]! < slot) place++;
  return fits(board, slot, place, place) ? place : -1;
}

/** Whether a slot is far enough from the tries before a place and those from `after` on, and keeps the limits together with them. */
export function fits({ tries, limits, apartMs, forecast }: Board, slot: number, place: number, after: number): boolean {
  const { slots } = forecast;
  const at = slots[slot]!;
  if (place > 0 && !isApart(forecast, plan[place - 1]!, slot, apartMs)) return false;
  if (after < tries && !isApart(forecast, slot, plan[after]!, apartMs)) return false;
  if (limits.length === 0) return true;
  const others: number[] = [];
  for (let n = 0; n < tries; n++) if (n < place || n >= after) others.push(slots[plan[n]!]!);
  // Of a try alone the guard has said that it is allowed; it knows better how early the ones before came.
  if (others.length === 0) return true;
  for (const limit of limits) if (!keepsLimit(limit, others, at)) return false;
  return true;
}

/**
 * What the plan would be worth with a try at that slot between the tries before `place` and those from `after` on: with one try more
 * where both are the same, with another one in its place where `after` is the next.
 */
export function worthWith(board: Board, slot: number, place: number, after: number): number {
  const { tries, cost, forecast } = board;
  const width = forecast.shares.length;
  const gain = board.worth[slot]!;
  const row = slot * width;
  const from = place * width;
  const base = before[place]! - cost * reached[place]!;
  if (after >= tries) return base + gain * (place === 0 ? forecast.chances[slot]! : paidLater(board, row, place));
  if (restFrom[place] !== after) fillRest(board, place, after);
  const rowAfter = plan[after]! * width;
  let worth = base;
  if (place === 0) {
    for (let k = 0; k < width; k++) {
      const others = rest[2 * k + came(paidOn[row + k]!, paidOn[rowAfter + k]!)]!;
      worth += others + next[row + k]! * (left[k]! * gain - others);
    }
    return worth;
  }
  const rowBefore = plan[place - 1]! * width;
  for (let k = 0; k < width; k++) {
    const paid = paidOn[row + k]!;
    const others = rest[2 * (from + k) + came(paid, paidOn[rowAfter + k]!)]!;
    const p = later[2 * (row + k) + came(paidOn[rowBefore + k]!, paid)]!;
    worth += others + p * (left[from + k]! * gain - others);
  }
  return worth;
}

/** The share of cases that a try after all others recovers. */
function paidLater({ forecast }: Board, row: number, place: number): number {
  const width = forecast.shares.length;
  const rowBefore = plan[place - 1]! * width;
  const from = place * width;
  let paid = 0;
  for (let k = 0; k < width; k++)
    paid += left[from + k]! * later[2 * (row + k) + came(paidOn[rowBefore + k]!, paidOn[row + k]!)]!;
  return paid;
}

function fillRest({ worth, cost, forecast }: Board, place: number, after: number) {
  const width = forecast.shares.length;
  const row = 2 * plan[after]! * width;
  const gain = worth[plan[after]!]!;
  for (let k = 0; k < width; k++) {
    const at = place * width + k;
    const mass = left[at]!;
    const onward = toGo[after * width + k]!;
    const same = later[row + 2 * k]!;
    const fresh = later[row + 2 * k + 1]!;
    rest[2 * at] = mass * (same * gain - cost + (1 - same) * onward);
    rest[2 * at + 1] = mass * (fresh * gain - cost + (1 - fresh) * onward);
  }
  restFrom[place] = after;
}

/** Makes the try at that place at another slot; before the next walk back only the places after it may be asked about. */
export function settle(board: Board, place: number, slot: number) {
  plan[place] = slot;
  step(board, place);
}
