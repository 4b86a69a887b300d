import type { CellTotals } from "../../domain/experiment.ts";
import { ALPHA_BY_CHECK } from "./arm-checks.ts";
import { sequenceHalfWidth, varianceFor } from "./confidence-sequence.ts";
import { recoveryRateOf } from "./tally.ts";

const DOUBLINGS_MAX = 60;
const BISECTION_ROUNDS = 50;

/** Returns how many counted invoices give an interval with half width `width`, if similar ones come in. */
export const invoicesForWidth = (counted: number, variance: number, width: number, margin: number): number =>
  counted * (variance / varianceFor(width, margin, ALPHA_BY_CHECK.difference));

/**
 * Returns how many invoices an experiment must count until its interval reaches no further than `margin` to each side. From then
 * on, a measured difference of `margin` or more is a verdict, and so is none at all.
 *
 * @param history  past failed and recovered invoices, in the primary measure
 * @param invoices  failed invoices behind `history`, in any measure
 * @returns null if the history has too few customers
 */
export function planInvoiceCount(
  history: CellTotals,
  invoices: number,
  { share, margin }: { share: number; margin: number },
): number | null {
  if (recoveryRateOf(history) === null) return null;
  const isEnough = (factor: number) => halfWidthAt(history, factor, share, margin) <= margin;
  let high = 1;
  for (let doubling = 0; doubling < DOUBLINGS_MAX && !isEnough(high); doubling++) high *= 2;
  let low = 0;
  for (let round = 0; round < BISECTION_ROUNDS; round++) {
    const middle = (low + high) / 2;
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return Math.ceil(high * invoices);
}

/** Half the width of the interval if `factor` times the history is split between the arms. */
function halfWidthAt(history: CellTotals, factor: number, share: number, margin: number): number {
  const [treated, untreated] = [share, 1 - share].map((part) => recoveryRateOf(scaleTally(history, factor * part)));
  if (!treated || !untreated) return Number.POSITIVE_INFINITY;
  return sequenceHalfWidth(treated.variance + untreated.variance, margin, ALPHA_BY_CHECK.difference);
}

const scaleTally = (tally: CellTotals, factor: number): CellTotals => ({
  customers: tally.customers * factor,
  due: tally.due * factor,
  got: tally.got * factor,
  dueDue: tally.dueDue * factor,
  dueGot: tally.dueGot * factor,
  gotGot: tally.gotGot * factor,
});

/** The widest spread that invoices can have if each is another customer's: half of them are recovered. */
export const WIDEST_HISTORY: { tally: CellTotals; invoices: number } = {
  tally: { customers: 1000, due: 1000, got: 500, dueDue: 1000, dueGot: 500, gotGot: 500 },
  invoices: 1000,
};
