import { DAY_MS } from "../../domain/durations.ts";
import { dayOfMonth } from "./local-days.ts";
import type { Reason } from "./model-layout.ts";

/** A charge of a customer's that says something of its date. */
export interface DatedCharge {
  /** Day of the month where the customer lives, 1 to 31. */
  date: number;
  at: number;
  approved: boolean;
}

const DATE_COUNT = 31;
const DAYS_PER_MONTH = 30.4;
/** A charge counts less by a factor of e after so many days: people change jobs and cards. */
const FADE_MS = 120 * DAY_MS;
/** What happened on a date tells of the dates around it, by a factor of e less for each so many days. */
const REACH_DAYS = 2;
/** So many of the latest are kept: about what is read of a customer's history. */
const MAX_CHARGES = 24;

const NEARNESS_BY_DATE = Array.from({ length: DATE_COUNT }, (_, one) =>
  Float64Array.from({ length: DATE_COUNT }, (_, other) => {
    const days = Math.abs(one - other);
    return Math.exp(-(days === 0 ? 0 : Math.max(1, Math.min(days, DAYS_PER_MONTH - days))) / REACH_DAYS);
  }),
);

/** Whether an outcome says something of the account; null: it was approved. A lost card or a bank that was down says nothing of it. */
export const isAboutAccount = (reason: Reason | null): boolean =>
  reason === null || reason === "FUNDS" || reason === "GENERIC" || reason === "UNKNOWN" || reason === "LIMIT";

/**
 * Note a charge among those of its customer.
 *
 * @param day  local, since 1970
 * @param reason  why it failed; null: it was approved. What says nothing of the account is not noted
 */
export function recordCharge(charges: DatedCharge[], day: number, at: number, reason: Reason | null) {
  if (!isAboutAccount(reason)) return;
  charges.push({ date: dayOfMonth(day), at, approved: reason === null });
  if (charges.length > MAX_CHARGES) charges.shift();
}

const STEP_EDGES = [0.15, 0.6, 1.2, 2.5];
/** How much was approved around a date by how much failed there, each in so many steps. */
const STEP_COUNT = STEP_EDGES.length + 1;
export const DATE_CELL_COUNT = STEP_COUNT * STEP_COUNT;

/** What a cell says: in steps from 0 to 4, how much was approved and how much failed. */
export const cellSteps = (cell: number) => ({ approved: Math.floor(cell / STEP_COUNT), failed: cell % STEP_COUNT });

/** For each date of the month, the 1st first, which of DATE_CELLS it is in by the charges made until then. */
export function computeDateCells(charges: readonly DatedCharge[], until: number): Uint8Array {
  const approvedByDate = new Float64Array(DATE_COUNT);
  const failedByDate = new Float64Array(DATE_COUNT);
  const chargedByDate = new Uint8Array(DATE_COUNT);
  for (const charge of charges)
    if (charge.at <= until)
      (charge.approved ? approvedByDate : failedByDate)[charge.date - 1]! += Math.exp((charge.at - until) / FADE_MS);
  // Most people are charged on a few dates.
  let count = 0;
  for (let n = 0; n < DATE_COUNT; n++) if (approvedByDate[n]! + failedByDate[n]! > 0) chargedByDate[count++] = n;
  const cells = new Uint8Array(DATE_COUNT);
  for (let date = 0; date < DATE_COUNT; date++) {
    const nearness = NEARNESS_BY_DATE[date]!;
    let good = 0;
    let bad = 0;
    for (let k = 0; k < count; k++) {
      const n = chargedByDate[k]!;
      good += nearness[n]! * approvedByDate[n]!;
      bad += nearness[n]! * failedByDate[n]!;
    }
    cells[date] = STEP_COUNT * stepOf(good) + stepOf(bad);
  }
  return cells;
}

function stepOf(amount: number) {
  let step = 0;
  while (step < STEP_EDGES.length && amount >= STEP_EDGES[step]!) step++;
  return step;
}
