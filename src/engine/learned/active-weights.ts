import { WEEK_MS } from "../../domain/durations.ts";
import type { CasePosterior } from "./case-posterior.ts";
import { dayOfMonth, weekdayOf } from "./local-days.ts";
import {
  attemptsWeight,
  COLUMN_GROUPS,
  COLUMN_STARTS,
  classOf,
  dateCellWeight,
  dateWeight,
  dayPartColumn,
  elapsedBin,
  elapsedWeight,
  gapBin,
  gapWeight,
  hourWeight,
  otherInvoiceWeight,
  REASONS,
  WEIGHT_STARTS,
  weekAttemptsWeight,
  weekdayWeight,
} from "./model-layout.ts";
import { type BankClock, settlementDay, settlementHour } from "./settlement.ts";

/** The same under every hypothesis. */
export function writeCalendarWeights(
  classIndex: number,
  clock: BankClock,
  at: number,
  target: Int32Array,
  start: number,
): number {
  const day = settlementDay(clock, at);
  target[start] = hourWeight(classIndex, settlementHour(clock, at));
  target[start + 1] = weekdayWeight(classIndex, weekdayOf(day));
  target[start + 2] = dateWeight(classIndex, dayOfMonth(day));
  return start + 3;
}

export function writeHistoryWeights(posterior: CasePosterior, at: number, target: Int32Array, start: number): number {
  const classIndex = classOf(posterior.reason);
  target[start] = elapsedWeight(classIndex, at - posterior.firstFailedAt);
  target[start + 1] = gapWeight(classIndex, at - posterior.lastTriedAt);
  target[start + 2] = attemptsWeight(classIndex, posterior.retryCount);
  let recent = 0;
  for (const time of posterior.recent) if (time > at - WEEK_MS) recent++;
  target[start + 3] = weekAttemptsWeight(recent);
  const date = dayOfMonth(settlementDay(posterior.clock, at));
  target[start + 4] = dateCellWeight(classIndex, posterior.dateCells[date - 1]!);
  const { otherCharge } = posterior;
  if (otherCharge === null) return start + 5;
  target[start + 5] = otherInvoiceWeight(otherCharge.approved, at - otherCharge.at);
  return start + 6;
}

/** The column of each group, which is the same in every row. */
export function columnsAt({ clock, firstFailedAt, lastTriedAt }: CasePosterior, at: number): readonly number[] {
  const day = settlementDay(clock, at);
  return [
    dayPartColumn(settlementHour(clock, at)),
    COLUMN_STARTS.weekday + weekdayOf(day),
    COLUMN_STARTS.date + dayOfMonth(day) - 1,
    COLUMN_STARTS.elapsed + elapsedBin(at - firstFailedAt),
    COLUMN_STARTS.gap + gapBin(at - lastTriedAt),
  ];
}

/** @returns how many were written */
export function writeCaseWeights({ reason, features, laterCodeFeature }: CasePosterior, target: Int32Array): number {
  target[0] = WEIGHT_STARTS.reason + REASONS.indexOf(reason);
  target.set(features, 1);
  if (laterCodeFeature === null) return 1 + features.length;
  target[1 + features.length] = laterCodeFeature;
  return 2 + features.length;
}

/**
 * All weights in a retry's score except the hypothesis's.
 *
 * @returns how many were written
 */
export function writeRetryWeights(posterior: CasePosterior, at: number, target: Int32Array): number {
  const { reason, clock, rows } = posterior;
  const end = writeCalendarWeights(classOf(reason), clock, at, target, writeCaseWeights(posterior, target));
  let count = writeHistoryWeights(posterior, at, target, end);
  const columns = columnsAt(posterior, at);
  for (let row = 0; row < rows.length; row++)
    for (let group = 0; group < COLUMN_GROUPS; group++) target[count++] = rows[row]! + columns[group]!;
  return count;
}
