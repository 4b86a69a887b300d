import type { Tally } from "../domain/experiment.ts";

/** A tally of nobody. */
export const emptyTally = (): Tally => ({ customers: 0, due: 0, got: 0, dueDue: 0, dueGot: 0, gotGot: 0 });

/**
 * A customer had `due` failed and `got` recovered in this tally (0: was not in it), and has more now. Customers are the unit:
 * what fails for one of them has the same causes, so ten invoices of one customer say less than ten of ten.
 */
export function countCustomer(tally: Tally, due: number, got: number, moreDue: number, moreGot: number) {
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
export function addTally(tally: Tally, other: Tally): Tally {
  tally.customers += other.customers;
  tally.due += other.due;
  tally.got += other.got;
  tally.dueDue += other.dueDue;
  tally.dueGot += other.dueGot;
  tally.gotGot += other.gotGot;
  return tally;
}

/** Recovered of failed, and how far chance may have moved it. */
export interface Rate {
  share: number;
  /** Variance of `share` between samples of customers. */
  variance: number;
  customers: number;
  due: number;
  got: number;
}

/** Fewer customers than this, and the normal approximation under every interval here is not to be trusted. */
export const CUSTOMERS_MIN = 100;

/**
 * The recovered share of a tally, with the variance of a ratio of sums over independent customers.
 *
 * @returns null when there are too few customers, or a few large ones are nearly all of it
 */
export function rateOf({ customers, due, got, dueDue, dueGot, gotGot }: Tally): Rate | null {
  // As many customers of one size as would be as uneven as these ones.
  if (customers < CUSTOMERS_MIN || (due * due) / dueDue < CUSTOMERS_MIN) return null;
  const share = got / due;
  const squares = gotGot - 2 * share * dueGot + share * share * dueDue;
  const variance = (Math.max(0, squares) / (due * due)) * (customers / (customers - 1));
  return { share, variance, customers, due, got };
}
