import type { CellTotals } from "../../domain/experiment.ts";

export const emptyTally = (): CellTotals => ({ customers: 0, due: 0, got: 0, dueDue: 0, dueGot: 0, gotGot: 0 });

/**
 * Adds invoices of one customer, who had `due` failed and `got` recovered in this tally before (0: not in it).
 *
 * Customers are the unit of the variance. Their failures share causes, so ten invoices from one customer say less than ten from
 * ten customers.
 */
export function countCustomer(tally: CellTotals, due: number, got: number, moreDue: number, moreGot: number) {
  const dueNow = due + moreDue;
  const gotNow = got + moreGot;
  if (due === 0) tally.customers++;
  tally.due += moreDue;
  tally.got += moreGot;
  tally.dueDue += dueNow * dueNow - due * due;
  tally.dueGot += dueNow * gotNow - due * got;
  tally.gotGot += gotNow * gotNow - got * got;
}

/** Adds `other` to `tally`. The two must not share customers. */
export function addTally(tally: CellTotals, other: CellTotals): CellTotals {
  tally.customers += other.customers;
  tally.due += other.due;
  tally.got += other.got;
  tally.dueDue += other.dueDue;
  tally.dueGot += other.dueGot;
  tally.gotGot += other.gotGot;
  return tally;
}

export interface RecoveryRate {
  share: number;
  /** Sampling variance of `share` over customers; above 0. */
  variance: number;
  customers: number;
  due: number;
  got: number;
}

/** Below this number the normal approximation of the intervals is unreliable. */
export const CUSTOMERS_MIN = 100;

/**
 * Adds this many customers with everything recovered, and as many with nothing, to the variance of an arm. Otherwise an arm in
 * which no customer has paid yet would look certain.
 *
 * The intervals reach about 3.2 standard deviations. Half the square of that keeps them valid for rare outcomes (Agresti and
 * Coull, 1998).
 *
 * @see docs/decisions/0014-experiments.md
 */
export const PSEUDO_CUSTOMER_COUNT = 5;

/**
 * Returns the recovered share, with the variance for a ratio of sums over independent customers.
 *
 * @returns null if there are too few customers, or a few large ones outweigh the rest
 */
export function recoveryRateOf(tally: CellTotals): RecoveryRate | null {
  const { customers, due, got, dueDue } = tally;
  // Mean customer size, weighted by amount: `due / size` equal customers would have the same concentration.
  const size = dueDue / due;
  if (customers < CUSTOMERS_MIN || due / size < CUSTOMERS_MIN) return null;
  const padded = addTally(pseudoTally(size), tally);
  // The pseudo-customers must not narrow the interval, so the variance is scaled back to the real total.
  return { share: got / due, variance: (varianceOf(padded) * padded.due) / due, customers, due, got };
}

function pseudoTally(size: number): CellTotals {
  const [due, got] = [2 * PSEUDO_CUSTOMER_COUNT * size, PSEUDO_CUSTOMER_COUNT * size];
  return { customers: 2 * PSEUDO_CUSTOMER_COUNT, due, got, dueDue: due * size, dueGot: got * size, gotGot: got * size };
}

function varianceOf({ customers, due, got, dueDue, dueGot, gotGot }: CellTotals): number {
  const share = got / due;
  const squares = gotGot - 2 * share * dueGot + share * share * dueDue;
  return (squares / (due * due)) * (customers / (customers - 1));
}
