import type { CellTotals } from "../../domain/experiment.ts";

/** A tally of nobody. */
export const emptyTally = (): CellTotals => ({ customers: 0, due: 0, got: 0, dueDue: 0, dueGot: 0, gotGot: 0 });

/**
 * A customer had `due` failed and `got` recovered in this tally (0: was not in it), and has more now. Customers are the unit:
 * what fails for one of them has the same causes, so ten invoices of one customer say less than ten of ten.
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

/** Adds `other` to `tally`, which has none of its customers. */
export function addTally(tally: CellTotals, other: CellTotals): CellTotals {
  tally.customers += other.customers;
  tally.due += other.due;
  tally.got += other.got;
  tally.dueDue += other.dueDue;
  tally.dueGot += other.dueGot;
  tally.gotGot += other.gotGot;
  return tally;
}

/** Recovered of failed, and how far chance may have moved it. */
export interface RecoveryRate {
  share: number;
  /** Variance of `share` between samples of customers; above 0. */
  variance: number;
  customers: number;
  due: number;
  got: number;
}

/** Fewer customers than this, and the normal approximation under every interval here is not to be trusted. */
export const CUSTOMERS_MIN = 100;

/**
 * So many customers of whom everything was recovered, and as many of whom nothing was, are taken for seen when an arm's variance is told. Of 100
 * customers without one who paid, some may pay all the same: what an arm happens not to have shown yet must not look certain. An interval here reaches
 * some 3.2 standard deviations, and half its square is what makes one of that reach hold for rare outcomes too (as Agresti and Coull, 1998, have it).
 *
 * @see docs/decisions/0014-experiments.md
 */
export const PSEUDO_CUSTOMER_COUNT = 5;

/**
 * The recovered share of a tally, with the variance of a ratio of sums over independent customers.
 *
 * @returns null when there are too few customers, or a few large ones are nearly all of it
 */
export function recoveryRateOf(tally: CellTotals): RecoveryRate | null {
  const { customers, due, got, dueDue } = tally;
  // Of a customer, as an amount that failed meets it: `due / size` customers of this size would be as uneven as these ones.
  const size = dueDue / due;
  if (customers < CUSTOMERS_MIN || due / size < CUSTOMERS_MIN) return null;
  const all = addTally(pseudoTally(size), tally);
  // They are no data: as many customers as there are say what they say with them.
  return { share: got / due, variance: (varianceOf(all) * all.due) / due, customers, due, got };
}

/** Both kinds of customers of this size that an arm may not have shown yet. */
function pseudoTally(size: number): CellTotals {
  const [due, got] = [2 * PSEUDO_CUSTOMER_COUNT * size, PSEUDO_CUSTOMER_COUNT * size];
  return { customers: 2 * PSEUDO_CUSTOMER_COUNT, due, got, dueDue: due * size, dueGot: got * size, gotGot: got * size };
}

function varianceOf({ customers, due, got, dueDue, dueGot, gotGot }: CellTotals): number {
  const share = got / due;
  const squares = gotGot - 2 * share * dueGot + share * share * dueDue;
  return (squares / (due * due)) * (customers / (customers - 1));
}
