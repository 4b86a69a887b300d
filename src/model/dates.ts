import { dateOf } from "./calendar.ts";
import type { Reason } from "./layout.ts";

/** How a customer's charges went, by the day of the month on which they were made. Changed by `noteCharge`. */
export interface Dates {
  /** For each date, how many were approved and how many failed for want of money; a younger one weighs more than one. */
  approved: Float64Array;
  failed: Float64Array;
  /** When the first of them was made; null before. */
  since: number | null;
}

const DATES = 31;
const MONTH = 30.4;
const DAY_MS = 86_400_000;
/** A charge counts less by a factor of e after so many days: people change jobs and cards. */
const FADE_MS = 120 * DAY_MS;
/** What happened on a date tells of the dates around it, by a factor of e less for each so many days. */
const REACH_DAYS = 2;

const NEARNESS = Array.from({ length: DATES }, (_, one) =>
  Float64Array.from({ length: DATES }, (_, other) => {
    const days = Math.abs(one - other);
    return Math.exp(-Math.min(days, MONTH - days) / REACH_DAYS);
  }),
);

/** Of somebody who was never charged. */
export const newDates = (): Dates => ({
  approved: new Float64Array(DATES),
  failed: new Float64Array(DATES),
  since: null,
});

/**
 * Note a charge.
 *
 * @param day  local, since 1970
 * @param reason  why it failed; null: it was approved. What is no matter of money says nothing about a date, and is not noted
 */
export function noteCharge(dates: Dates, day: number, at: number, reason: Reason | null) {
  if (reason !== null && reason !== "FUNDS" && reason !== "GENERIC" && reason !== "UNKNOWN" && reason !== "LIMIT")
    return;
  dates.since ??= at;
  // The old fade by the young growing: so nothing has to be written anew.
  (reason === null ? dates.approved : dates.failed)[dateOf(day) - 1]! += Math.exp((at - dates.since) / FADE_MS);
}

const EDGES = [0.15, 0.6, 1.2, 2.5];
/** How much was approved around a date by how much failed there, each in so many steps. */
const STEPS = EDGES.length + 1;
export const DATE_CELLS = STEPS * STEPS;

/** What a cell says: in steps from 0 to 4, how much was approved and how much failed. */
export const cellSteps = (cell: number) => ({ approved: Math.floor(cell / STEPS), failed: cell % STEPS });

/** For each date of the month which of DATE_CELLS it is in, as of a moment; the first is the 1st. */
export function dateCells({ approved, failed, since }: Dates, now: number): Uint8Array {
  const faded = Math.exp(((since ?? now) - now) / FADE_MS);
  return Uint8Array.from(NEARNESS, (nearness) => {
    let good = 0;
    let bad = 0;
    for (let n = 0; n < DATES; n++) {
      good += nearness[n]! * approved[n]!;
      bad += nearness[n]! * failed[n]!;
    }
    return STEPS * stepOf(faded * good) + stepOf(faded * bad);
  });
}

function stepOf(amount: number) {
  let step = 0;
  while (step < EDGES.length && amount >= EDGES[step]!) step++;
  return step;
}
