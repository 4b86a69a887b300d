import { WEEK_MS } from "../../domain/durations.ts";
import type { CasePosterior } from "./case-posterior.ts";
import { dayOfMonth, weekdayOf } from "./local-days.ts";
import {
  attemptsWeight,
  COLUMN_GROUPS,
  classOf,
  dateCellWeight,
  dateWeight,
  elapsedWeight,
  fillColumns,
  gapWeight,
  hourWeight,
  otherInvoiceWeight,
  REASONS,
  WEIGHT_STARTS,
  weekAttemptsWeight,
  weekdayWeight,
} from "./model-layout.ts";
import { type BankClock, settlementDay, settlementHour } from "./settlement.ts";

/** Hour, weekday and date in the customer's time zone, the same under every hypothesis. */
export function writeCalendarWeights(of: number, clock: BankClock, at: number, into: Int32Array, from: number): number {
  const day = settlementDay(clock, at);
  into[from] = hourWeight(of, settlementHour(clock, at));
  into[from + 1] = weekdayWeight(of, weekdayOf(day));
  into[from + 2] = dateWeight(of, dayOfMonth(day));
  return from + 3;
}

/** Reason, earlier attempts, and the customer's charges around the same date. */
export function writeHistoryWeights(belief: CasePosterior, at: number, into: Int32Array, from: number): number {
  const of = classOf(belief.reason);
  into[from] = elapsedWeight(of, at - belief.firstFailedAt);
  into[from + 1] = gapWeight(of, at - belief.lastTriedAt);
  into[from + 2] = attemptsWeight(of, belief.tries);
  let recent = 0;
  for (const time of belief.recent) if (time > at - WEEK_MS) recent++;
  into[from + 3] = weekAttemptsWeight(recent);
  const date = dayOfMonth(settlementDay(belief.clock, at));
  into[from + 4] = dateCellWeight(of, belief.dateCells[date - 1]!);
  const { beside } = belief;
  if (beside === null) return from + 5;
  into[from + 5] = otherInvoiceWeight(beside.approved, at - beside.at);
  return from + 6;
}

/** Returns a retry's columns, the same in each of its rows. */
export function fillColumnsAt(belief: CasePosterior, at: number): Int32Array {
  const day = settlementDay(belief.clock, at);
  const columns = new Int32Array(COLUMN_GROUPS);
  fillColumns(
    {
      hour: settlementHour(belief.clock, at),
      weekday: weekdayOf(day),
      date: dayOfMonth(day),
      elapsedMs: at - belief.firstFailedAt,
      gapMs: at - belief.lastTriedAt,
    },
    columns,
  );
  return columns;
}

/**
 * Writes a retry's weights that are the same at every time.
 *
 * @returns how many were written
 */
export function writeCaseWeights({ reason, names, thenName }: CasePosterior, into: Int32Array): number {
  into[0] = WEIGHT_STARTS.reason + REASONS.indexOf(reason);
  into.set(names, 1);
  if (thenName === null) return 1 + names.length;
  into[1 + names.length] = thenName;
  return 2 + names.length;
}

/**
 * Writes a retry's weights that depend on the time, beginning at index `from`.
 *
 * @returns the index after the last one
 */
export function writeTimeWeights(belief: CasePosterior, at: number, into: Int32Array, from: number): number {
  const next = writeCalendarWeights(classOf(belief.reason), belief.clock, at, into, from);
  let count = writeHistoryWeights(belief, at, into, next);
  const columns = fillColumnsAt(belief, at);
  const { rows } = belief;
  for (let row = 0; row < rows.length; row++)
    for (let group = 0; group < COLUMN_GROUPS; group++) into[count++] = rows[row]! + columns[group]!;
  return count;
}

/**
 * Writes all weights in a retry's score except the hypothesis's.
 *
 * @returns how many were written
 */
export const writeRetryWeights = (belief: CasePosterior, at: number, into: Int32Array): number =>
  writeTimeWeights(belief, at, into, writeCaseWeights(belief, into));
