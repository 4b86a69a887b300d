import { WEEK_MS } from "../domain/durations.ts";
import type { Belief } from "./belief.ts";
import { type Clock, judgedHour, judgedOn } from "./booking.ts";
import { dateOf, weekdayOf } from "./calendar.ts";
import {
  AT,
  besideWeight,
  COLUMN_GROUPS,
  classOf,
  columnsOf,
  dateCellWeight,
  dateWeight,
  elapsedWeight,
  gapWeight,
  hourWeight,
  REASONS,
  triesWeight,
  weekdayWeight,
  weekTriesWeight,
} from "./layout.ts";

/** Weights that a moment adds whatever explains the failure: hour, weekday and date where the customer lives. */
export function momentWeights(of: number, clock: Clock, at: number, into: Int32Array, from: number): number {
  const day = judgedOn(clock, at);
  into[from] = hourWeight(of, judgedHour(clock, at));
  into[from + 1] = weekdayWeight(of, weekdayOf(day));
  into[from + 2] = dateWeight(of, dateOf(day));
  return from + 3;
}

/** Weights that depend on why the case failed, and on what it and its customer went through: the tries before, and how charges went around such a date. */
export function historyWeights(belief: Belief, at: number, into: Int32Array, from: number): number {
  const of = classOf(belief.reason);
  into[from] = elapsedWeight(of, at - belief.firstFailedAt);
  into[from + 1] = gapWeight(of, at - belief.lastTriedAt);
  into[from + 2] = triesWeight(of, belief.tries);
  let recent = 0;
  for (const time of belief.recent) if (time > at - WEEK_MS) recent++;
  into[from + 3] = weekTriesWeight(recent);
  const date = dateOf(judgedOn(belief.clock, at));
  into[from + 4] = dateCellWeight(of, belief.dateCells[date - 1]!);
  const { beside } = belief;
  if (beside === null) return from + 5;
  into[from + 5] = besideWeight(beside.approved, at - beside.at);
  return from + 6;
}

const moment = { hour: 0, weekday: 0, date: 1, elapsedMs: 0, gapMs: 0 };
const columns = new Int32Array(COLUMN_GROUPS);

/** The columns of a try at that moment in each of its rows. Written over by the next call. */
export function columnsAt(belief: Belief, at: number): Int32Array {
  const day = judgedOn(belief.clock, at);
  moment.hour = judgedHour(belief.clock, at);
  moment.weekday = weekdayOf(day);
  moment.date = dateOf(day);
  moment.elapsedMs = at - belief.firstFailedAt;
  moment.gapMs = at - belief.lastTriedAt;
  columnsOf(moment, columns);
  return columns;
}

/** Of what a try's score is made the part that is the same at every moment. @returns how many were written */
export function caseWeights({ reason, names, thenName }: Belief, into: Int32Array): number {
  into[0] = AT.reason + REASONS.indexOf(reason);
  into.set(names, 1);
  if (thenName === null) return 1 + names.length;
  into[1 + names.length] = thenName;
  return 2 + names.length;
}

/** The part that depends on the moment, from a place on. @returns where it ends */
export function timeWeights(belief: Belief, at: number, into: Int32Array, from: number): number {
  const next = momentWeights(classOf(belief.reason), belief.clock, at, into, from);
  let count = historyWeights(belief, at, into, next);
  columnsAt(belief, at);
  const { rows } = belief;
  for (let row = 0; row < rows.length; row++)
    for (let group = 0; group < COLUMN_GROUPS; group++) into[count++] = rows[row]! + columns[group]!;
  return count;
}

/** Everything a try's score is made of, but for what explains the failure. @returns how many were written */
export const tryWeights = (belief: Belief, at: number, into: Int32Array): number =>
  timeWeights(belief, at, into, caseWeights(belief, into));
