import { DAY_MS } from "../domain/durations.ts";
import { dateOf } from "./calendar.ts";
import type { Reason } from "./layout.ts";

/** A charge of a customer's that says something of its date. */
export interface DatedCharge {
  /** Day of the month where the customer lives, 1 to 31. */
  date: number;
  at: number;
  approved: boolean;
}

const DATES = 31;
const MONTH = 30.4;
/** A charge counts less by a factor of e after so many days: people change jobs and cards. */
const FADE_MS = 120 * DAY_MS;
/** What happened on a date tells of the dates around it, by a factor of e less for each so many days. */
const REACH_DAYS = 2;
/** So many of the latest are kept: about what is read of a customer's history. */
const KEPT = 24;

const NEARNESS = Array.from({ length: DATES }, (_, one) =>
  Float64Array.from({ length: DATES }, (_, other) => {
    const days = Math.abs(one - other);
    return Math.exp(-(days === 0 ? 0 : Math.max(1, Math.min(days, MONTH - days))) / REACH_DAYS);
  }),
);

/** Whether an outcome says something of the account; null: it was approved. A lost card or a bank that was down says nothing of it. */
export const saysOfAccount = (reason: Reason | null): boolean =>
  reason === null || reason === "FUNDS" || reason === "GENERIC" || reason === "UNKNOWN" || reason === "LIMIT";

/**
 * Note a charge among those of its customer.
 *
 * @param day  local, since 1970
 * @param reason  why it failed; null: it was approved. What says nothing of the account is not noted
 */
export function noteCharge(charges: DatedCharge[], day: number, at: number, reason: Reason | null) {
  if (!saysOfAccount(reason)) return;
  charges.push({ date: dateOf(day), at, approved: reason === null });
  if (charges.length > KEPT) charges.shift();
}

const EDGES = [0.15, 0.6, 1.2, 2.5];
/** How much was approved around a date by how much failed there, each in so many steps. */
const STEPS = EDGES.length + 1;
export const DATE_CELLS = STEPS * STEPS;

/** What a cell says: in steps from 0 to 4, how much was approved and how much failed. */
export const cellSteps = (cell: number) => ({ approved: Math.floor(cell / STEPS), failed: cell % STEPS });

/** For the call at hand: what was approved and what failed on each date, and the dates with either. */
const approved = new Float64Array(DATES);
const failed = new Float64Array(DATES);
const charged = new Uint8Array(DATES);

/** For each date of the month, the 1st first, which of DATE_CELLS it is in by the charges made until then. */
export function dateCells(charges: readonly DatedCharge[], until: number): Uint8Array {
  approved.fill(0);
  failed.fill(0);
  for (const charge of charges)
    if (charge.at <= until)
      (charge.approved ? approved : failed)[charge.date - 1]! += Math.exp((charge.at - until) / FADE_MS);
  // Most people are charged on a few dates.
  let count = 0;
  for (let n = 0; n < DATES; n++) if (approved[n]! + failed[n]! > 0) charged[count++] = n;
  const cells = new Uint8Array(DATES);
  for (let date = 0; date < DATES; date++) {
    const nearness = NEARNESS[date]!;
    let good = 0;
    let bad = 0;
    for (let k = 0; k < count; k++) {
      const n = charged[k]!;
      good += nearness[n]! * approved[n]!;
      bad += nearness[n]! * failed[n]!;
    }
    cells[date] = STEPS * stepOf(good) + stepOf(bad);
  }
  return cells;
}

function stepOf(amount: number) {
  let step = 0;
  while (step < EDGES.length && amount >= EDGES[step]!) step++;
  return step;
}
