import type { Ruling } from "./attempt-ledger.ts";
import type { Guard } from "./guard.ts";

/** Planned retries must keep it together. */
export type PlanLimit = Pick<Guard["limits"][number], "times" | "attemptsMax" | "windowMs">;

/**
 * One retry may run `earlyMs` early while the next does not, so windows are that much longer. Sometimes stricter than
 * `findForbiddingRule`, which knows actual times.
 *
 * @param from  nothing is planned before this time
 */
const toPlanLimit = ({ times, attemptsMax, windowMs }: PlanLimit, earlyMs: number, from: number): PlanLimit => ({
  times: times.filter((at) => at >= from - windowMs - earlyMs),
  attemptsMax,
  windowMs: windowMs + earlyMs,
});

/** Those that this many more declines could fill. */
export function findFillableLimits({ limits, earlyMs }: Guard, from: number, retryCount: number): PlanLimit[] {
  const isFillable = ({ times, attemptsMax }: PlanLimit) => times.length + retryCount > attemptsMax;
  // By number first: most limits are far from full.
  return limits
    .filter(isFillable)
    .map((limit) => toPlanLimit(limit, earlyMs, from))
    .filter(isFillable);
}

/**
 * A fullest window can be shifted to begin at an attempt, so only windows that begin at one and reach the new one are checked;
 * their ends only move forward.
 *
 * @param plannedTimes  earliest first; keep the limit without this one
 */
export function keepsLimit(
  { times, attemptsMax, windowMs }: PlanLimit,
  plannedTimes: readonly number[],
  at: number,
): boolean {
  if (times.length + plannedTimes.length < attemptsMax) return true;
  let timesStart = sortedIndex(times, at - windowMs);
  let plannedStart = sortedIndex(plannedTimes, at - windowMs);
  let timesEnd = timesStart;
  let plannedEnd = plannedStart;
  for (;;) {
    const nextTime = timesStart < times.length ? times[timesStart]! : at;
    const nextOther = plannedStart < plannedTimes.length ? plannedTimes[plannedStart]! : at;
    const start = Math.min(nextTime, nextOther, at);
    while (timesEnd < times.length && times[timesEnd]! <= start + windowMs) timesEnd++;
    while (plannedEnd < plannedTimes.length && plannedTimes[plannedEnd]! <= start + windowMs) plannedEnd++;
    if (1 + timesEnd - timesStart + plannedEnd - plannedStart > attemptsMax) return false;
    if (start === at) return true;
    if (nextTime === start) timesStart++;
    else plannedStart++;
  }
}

/** Counts those less than `value`; `numbers` ascend. */
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
 * How many more declines fit between two times, and the rule that limits them; null if at least `most` fit.
 *
 * @param gapMs  between two declines, and before the first
 */
export function findTightestLimit(
  { attemptsLeft, limits, earlyMs }: Guard,
  [from, to]: readonly [number, number],
  gapMs: number,
  most: number,
): Guard["attemptsLeft"] {
  let tightest = attemptsLeft !== null && attemptsLeft.count < most ? attemptsLeft : null;
  for (const limit of limits) {
    if (limit.times.length + most <= limit.attemptsMax) continue;
    const count = countRoom(toPlanLimit(limit, earlyMs, from), from + gapMs, to, gapMs, most);
    if (count < (tightest?.count ?? most)) tightest = { sentence: limit.sentence, source: limit.source, count };
  }
  return tightest;
}

/** Filled by earlier attempts for the whole range; null if a retry fits. */
export const findFullLimit = (guard: Guard, [from, to]: readonly [number, number]): Ruling | null =>
  guard.limits.find((limit) => countRoom(toPlanLimit(limit, guard.earlyMs, from), from, to, 0, 1) === 0) ?? null;

/** Most attempts fit if each is made as early as allowed. */
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

/** An attempt has just left the window. */
function nextFreeTime({ times, windowMs }: PlanLimit, planned: readonly number[], at: number): number | undefined {
  let earliestFree: number | undefined;
  for (const list of [times, planned])
    for (const timesStart of list) {
      const free = timesStart + windowMs + 1;
      if (free > at && (earliestFree === undefined || free < earliestFree)) earliestFree = free;
    }
  return earliestFree;
}
