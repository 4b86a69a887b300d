import { WEEK_MS } from "../domain/durations.ts";
import { type Belief, newBelief, newPerson, type Person } from "../model/belief.ts";
import { bookingOf } from "../model/booking.ts";
import type { Reason } from "../model/layout.ts";
import type { Learned } from "../model/learned.ts";
import { observeFirst, observeTry } from "../model/observe.ts";
import { type DeclineCodes, declineGroup } from "../rules/decline-group.ts";
import type { Instrument } from "../rules/instrument.ts";
import {
  caseNames,
  caseRows,
  codeWeight,
  nameWeights,
  newPast,
  type Past,
  standingOf,
  type Traits,
} from "./case-names.ts";

/** One charge of a bill, whoever made it. */
export interface PastCharge {
  at: Date;
  approved: boolean;
  /** null when nothing was said. */
  codes: DeclineCodes | null;
  /** Nobody charged: a new card stands where a charge would, and says nothing of the customer. */
  isPresumed?: true;
}

/** A bill with its charges, oldest first; the first of them is the one that came with the bill. */
export interface PastBill {
  dollars: number;
  /** How it was charged; null: no attempt tells, so its moments are those of answers, by which a debit was booked already. */
  paymentMethodType: string | null;
  charges: readonly PastCharge[];
}

/** What a customer's history holds, as far as the model looks at it. */
export interface History {
  /** What stays the same over the customer's bills. */
  traits: Omit<Traits, "dollars" | "declineCode" | "adviceCode" | "past">;
  instrument: Instrument;
  /** Local time less UTC at a moment, milliseconds. */
  offsetAt(at: number): number;
  /** Oldest first; the last one is the case that is to be decided, and its first charge was declined. */
  bills: readonly PastBill[];
}

/**
 * What to believe of a customer's open case, worked out from the whole history. Changes nothing that was learned, so it
 * may be asked as often as one likes; the same history gives the same belief.
 *
 * @param booking  which of BOOKINGS the moments are looked at by of what was charged in the present way
 */
export function recall(
  learned: Learned,
  history: History,
  booking = bookingOf(learned, history.traits.paymentMethodType),
): { person: Person; belief: Belief } {
  const person = newPerson(learned, history.traits.country);
  const past = newPast();
  let belief: Belief | null = null;
  for (const bill of history.bills) belief = recallBill(learned, history, booking, person, past, bill);
  if (!belief) throw new RangeError("the last bill of the history was approved, so there is no case");
  return { person, belief };
}

function recallBill(
  learned: Learned,
  history: History,
  booking: number,
  person: Person,
  past: Past,
  bill: PastBill,
): Belief | null {
  const [first, ...tries] = bill.charges;
  if (!first) return null;
  const at = first.at.getTime();
  const bookingOfBill =
    bill.paymentMethodType === history.traits.paymentMethodType ? booking : bookingOf(learned, bill.paymentMethodType);
  const clock = { offsetMs: history.offsetAt(at), booking: bookingOfBill };
  const reasonOf = ({ approved, codes }: PastCharge): Reason | null =>
    approved ? null : codes ? declineGroup(codes, history.instrument) : "UNKNOWN";
  const reason = reasonOf(first);
  const traits: Traits = {
    ...history.traits,
    dollars: bill.dollars,
    declineCode: first.codes?.networkDeclineCode ?? first.codes?.gatewayCode ?? null,
    adviceCode: first.codes?.networkAdviceCode ?? null,
    past: { ...past },
  };
  if (!first.isPresumed) observeFirst(learned, person, nameWeights(caseNames("f", traits)), clock, at, reason);
  past.firsts++;
  if (reason === null) return null;
  past.declined++;
  past.unpaid++;
  const recent = history.bills
    .flatMap(({ charges }) => charges.map((charge) => charge.at.getTime()))
    .filter((time) => time <= at && time > at - WEEK_MS);
  const names = nameWeights(caseNames("r", { ...traits, past: { ...past } }));
  const belief = newBelief(learned, person, {
    reason,
    code: traits.declineCode,
    standing: standingOf(past),
    names,
    codeName: codeWeight(traits),
    rows: caseRows(traits),
    clock,
    failedAt: at,
    recent,
  });
  for (const charge of tries) {
    observeTry(learned, person, belief, charge.at.getTime(), reasonOf(charge));
    if (!charge.approved) continue;
    past.unpaid--;
    past.recovered++;
    past.lastReason = reason;
    break;
  }
  return belief;
}
