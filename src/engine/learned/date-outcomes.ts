import { DAY_MS } from "../../domain/durations.ts";
import { dayOfMonth } from "./local-days.ts";
import type { Reason } from "./model-layout.ts";

export interface DatedCharge {
  /** Local day of the month, 1 to 31. */
  date: number;
  at: number;
  approved: boolean;
}

const DATE_COUNT = 31;
const DAYS_PER_MONTH = 30.4;
/** Falls by a factor of e over this time: people change jobs and cards. */
const FADE_MS = 120 * DAY_MS;
/** A charge also counts for neighboring dates, less by a factor of e over this many days. */
const REACH_DAYS = 2;
/** About as many as are loaded from a customer's history. */
const MAX_CHARGES = 24;

const NEARNESS_BY_DATE = Array.from({ length: DATE_COUNT }, (_, date) =>
  Float64Array.from({ length: DATE_COUNT }, (_, otherDate) => {
    const days = Math.abs(date - otherDate);
    return Math.exp(-(days === 0 ? 0 : Math.max(1, Math.min(days, DAYS_PER_MONTH - days))) / REACH_DAYS);
  }),
);

/** Unlike a lost card or a bank that was down. Null: approved. */
export const isAboutAccount = (reason: Reason | null): boolean =>
  reason === null || reason === "FUNDS" || reason === "GENERIC" || reason === "UNKNOWN" || reason === "LIMIT";

/**
 * Ignores charges that say nothing about the account.
 *
 * @param day  local, since 1970
 * @param reason  null: approved
 */
export function recordCharge(charges: DatedCharge[], day: number, at: number, reason: Reason | null) {
  if (!isAboutAccount(reason)) return;
  charges.push({ date: dayOfMonth(day), at, approved: reason === null });
  if (charges.length > MAX_CHARGES) charges.shift();
}

const STEP_EDGES = [0.15, 0.6, 1.2, 2.5];
/** A cell combines approval and failure steps around a date. */
const STEP_COUNT = STEP_EDGES.length + 1;
export const DATE_CELL_COUNT = STEP_COUNT * STEP_COUNT;

/** 0 to 4. */
export const cellSteps = (cell: number) => ({ approved: Math.floor(cell / STEP_COUNT), failed: cell % STEP_COUNT });

/** The 1st first, from charges made until then. */
export function computeDateCells(charges: readonly DatedCharge[], until: number): Uint8Array {
  const approvedByDate = new Float64Array(DATE_COUNT);
  const failedByDate = new Float64Array(DATE_COUNT);
  const chargedByDate = new Uint8Array(DATE_COUNT);
  for (const charge of charges)
    if (charge.at <= until)
      (charge.approved ? approvedByDate : failedByDate)[charge.date - 1]! += Math.exp((charge.at - until) / FADE_MS);
  // Most customers have few.
  let count = 0;
  for (let n = 0; n < DATE_COUNT; n++) if (approvedByDate[n]! + failedByDate[n]! > 0) chargedByDate[count++] = n;
  const cells = new Uint8Array(DATE_COUNT);
  for (let date = 0; date < DATE_COUNT; date++) {
    const nearness = NEARNESS_BY_DATE[date]!;
    let goodShare = 0;
    let bad = 0;
    for (let k = 0; k < count; k++) {
      const n = chargedByDate[k]!;
      goodShare += nearness[n]! * approvedByDate[n]!;
      bad += nearness[n]! * failedByDate[n]!;
    }
    cells[date] = STEP_COUNT * stepOf(goodShare) + stepOf(bad);
  }
  return cells;
}

function stepOf(amount: number) {
  let step = 0;
  while (step < STEP_EDGES.length && amount >= STEP_EDGES[step]!) step++;
  return step;
}
