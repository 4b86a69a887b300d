import type { Ruling } from "./attempt-ledger.ts";
import type { Guard } from "./guard.ts";

/** A limit as several tries that are planned together have to keep it. */
export type PlanLimit = Pick<Guard["limits"][number], "times" | "attemptsMax" | "windowMs">;

/**
 * A limit for a plan. Each try may come `earlyMs` before its moment, and the next one not, so windows are that much longer: now and then that is
 * stricter than `findForbiddingRule`, which knows of earlier tries when they came.
 *
 * @param from  nothing is planned before
 */
const toPlanLimit = ({ times, attemptsMax, windowMs }: PlanLimit, earlyMs: number, from: number): PlanLimit => ({
  times: times.filter((at) => at >= from - windowMs - earlyMs),
  attemptsMax,
  windowMs: windowMs + earlyMs,
});

/** The limits that so many more declines could fill, from a moment on. */
export function findFillableLimits({ limits, earlyMs }: Guard, from: number, tries: number): PlanLimit[] {
  const isFillable = ({ times, attemptsMax }: PlanLimit) => times.length + tries > attemptsMax;
  // Most are far from being filled, whenever their attempts were made.
  return limits
    .filter(isFillable)
    .map((limit) => toPlanLimit(limit, earlyMs, from))
    .filter(isFillable);
}

/**
 * Whether one more decline keeps a limit.
 *
 * A fullest window can always be slid to begin at an attempt, so windows begin at each that reaches the new one, in turn: their ends only move on.
 *
 * @param others  moments of planned tries, earliest first, which keep it without this one
 */
export function keepsLimit(
  { times, attemptsMax, windowMs }: PlanLimit,
  others: readonly number[],
  at: number,
): boolean {
  if (times.length + others.length < attemptsMax) return true;
  let time = sortedIndex(times, at - windowMs);
  let other = sortedIndex(others, at - windowMs);
  let timesEnd = time;
  let othersEnd = other;
  for (;;) {
    const nextTime = time < times.length ? times[time]! : at;
    const nextOther = other < others.length ? others[other]! : at;
    const start = Math.min(nextTime, nextOther, at);
    while (timesEnd < times.length && times[timesEnd]! <= start + windowMs) timesEnd++;
    while (othersEnd < others.length && others[othersEnd]! <= start + windowMs) othersEnd++;
    if (1 + timesEnd - time + othersEnd - other > attemptsMax) return false;
    if (start === at) return true;
    if (nextTime === start) time++;
    else other++;
  }
}

/** How many are less than `value`, of whole numbers in order. */
function sortedIndex(numbers: readonly number[], value: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * How few more declines fit between two moments, and the rule that says so; null when that is no fewer than `most`.
 *
 * @param gapMs  between two of them, and before the first
 */
export function findTightestLimit(
  { triesLeft, limits, earlyMs }: Guard,
  [from, to]: readonly [number, number],
  gapMs: number,
  most: number,
): Guard["triesLeft"] {
  let least = triesLeft !== null && triesLeft.count < most ? triesLeft : null;
  for (const limit of limits) {
    if (limit.times.length + most <= limit.attemptsMax) continue;
    const count = countRoom(toPlanLimit(limit, earlyMs, from), from + gapMs, to, gapMs, most);
    if (count < (least?.count ?? most)) least = { sentence: limit.sentence, source: limit.source, count };
  }
  return least;
}

/** The rule by which no try at all fits between two moments, as those before fill its limit to the end; null: one does. */
export const findFullLimit = (guard: Guard, [from, to]: readonly [number, number]): Ruling | null =>
  guard.limits.find((limit) => countRoom(toPlanLimit(limit, guard.earlyMs, from), from, to, 0, 1) === 0) ?? null;

/** Made as soon as each may be, most fit. */
function countRoom(limit: PlanLimit, from: number, to: number, gapMs: number, most: number): number {
  if (limit.times.length + most <= limit.attemptsMax) return most;
  const planned: number[] = [];
  let at: number | undefined = from;
  while (at !== undefined && at < to && planned.length < most) {
    if (!keepsLimit(limit, planned, at)) at = nextFreeTime(limit, planned, at);
    else {
      planned.push(at);
      at += gapMs;
    }
  }
  return planned.length;
}

/** The first moment after this one at which an attempt has just left the window. */
function nextFreeTime({ times, windowMs }: PlanLimit, planned: readonly number[], at: number): number | undefined {
  let next: number | undefined;
  for (const list of [times, planned])
    for (const time of list) {
      const free = time + windowMs + 1;
      if (free > at && (next === undefined || free < next)) next = free;
    }
  return next;
}
