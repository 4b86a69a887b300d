import { WEEK_MS } from "../domain/durations.ts";
import { paymentSchemeOf } from "../domain/payment-schemes.ts";
import {
  type CaseTraits,
  caseRows,
  codeFeatureIndex,
  createFeatureIndexer,
  declineFeaturesOf,
  newPaymentRecord,
  type PaymentRecord,
  standingOf,
} from "./case-features.ts";
import {
  type CasePosterior,
  type CustomerPosterior,
  newCasePosterior,
  newCustomerPosterior,
} from "./learned/case-posterior.ts";
import { applyDecline } from "./learned/decline-features.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import type { Reason } from "./learned/model-layout.ts";
import { observeFirstCharge, observeOtherInvoice, observeRetry } from "./learned/observe.ts";
import { likeliestSettlement } from "./learned/settlement.ts";
import { type Instrument, isCard } from "./rules/instrument.ts";
import { type DeclineCodes, findDeclineGroup } from "./rules/interpret-decline.ts";
import { normalizeCardCode, removeWords } from "./rules/response-codes.ts";

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
export interface PastInvoice {
  dollars: number;
  /** How it was charged; null: no attempt tells, so its moments are those of answers, by which a debit was booked already. */
  paymentMethodType: string | null;
  charges: readonly PastCharge[];
}

/** What a customer's history holds, as far as the model looks at it. */
export interface CustomerHistory {
  /** What stays the same over the customer's bills. */
  traits: Omit<CaseTraits, "dollars" | "declineCode" | "adviceCode" | "past">;
  instrument: Instrument;
  /** Local time less UTC at a moment, milliseconds. */
  offsetAt(at: number): number;
  /** Oldest first; the last one is the case that is to be decided, and its first charge was declined. */
  bills: readonly PastInvoice[];
}

/**
 * What to believe of a customer's open case, worked out from the whole history. Changes nothing that was learned, so it
 * may be asked as often as one likes; the same history gives the same belief.
 *
 * @param booking  which of BOOKINGS the moments are looked at by of what was charged in the present way
 */
export function inferPosterior(
  learned: LearnedModel,
  history: CustomerHistory,
  booking = likeliestSettlement(learned, history.traits.paymentMethodType),
): { person: CustomerPosterior; belief: CasePosterior } {
  const person = newCustomerPosterior(learned, history.traits.country);
  const past = newPaymentRecord();
  const names = createFeatureIndexer(history.traits);
  const cases = new Map<PastInvoice, { belief: CasePosterior; reason: Reason; isOpen: boolean }>();
  const last = history.bills.at(-1)!;
  for (const [bill, charge] of chargesInOrder(history.bills)) {
    const at = charge.at.getTime();
    const reason = reasonOf(history, charge);
    const own = cases.get(bill);
    // What nothing more is known of needs no belief.
    const others = [...cases]
      .filter(
        ([other, { isOpen }]) => other !== bill && isOpen && (other === last || other.charges.at(-1)!.at > charge.at),
      )
      .map(([, { belief }]) => belief);
    const before = others.length === 0 ? null : person.cycles.slice();
    if (charge === bill.charges[0]) {
      const belief = observeFirstOfInvoice(learned, history, booking, person, past, bill, reason, names);
      if (belief) cases.set(bill, { belief, reason: reason!, isOpen: true });
    } else if (own?.isOpen) {
      observeRetry(learned, person, own.belief, at, reason);
      if (!charge.approved)
        applyDecline(own.belief, declineFeaturesOf(codeOf(history, bill.charges[0]!), codeOf(history, charge)));
      else {
        own.isOpen = false;
        past.unpaid--;
        past.recovered++;
        past.lastReason = own.reason;
      }
    } else continue;
    if (before && !charge.isPresumed)
      for (const belief of others) observeOtherInvoice(belief, at, reason, before, person.cycles);
  }
  const open = cases.get(last);
  if (!open) throw new RangeError("the last bill of the history was approved, so there is no case");
  return { person, belief: open.belief };
}

/** All charges, oldest first; of the same moment in the order of the bills. */
const chargesInOrder = (bills: readonly PastInvoice[]) =>
  bills
    .flatMap((bill) => bill.charges.map((charge) => [bill, charge] as const))
    .sort(([, one], [, other]) => one.at.getTime() - other.at.getTime());

/** Why a charge failed; null: it did not. */
const reasonOf = ({ instrument }: CustomerHistory, { approved, codes }: PastCharge): Reason | null =>
  approved ? null : codes ? findDeclineGroup(codes, instrument) : "UNKNOWN";

/** The name by which a code is learned, whatever stands around it. Of a debit 1 and 01 may be two reasons. */
export const normalizeCode = (instrument: Instrument, code: string) =>
  isCard(instrument) ? normalizeCardCode(code) : removeWords(code).trim();

/** The code of a decline; null: nobody said one. */
function codeOf(history: CustomerHistory, { codes }: PastCharge): string | null {
  const response = codes?.networkDeclineCode ?? null;
  return response === null ? (codes?.gatewayCode?.trim() ?? null) : normalizeCode(history.instrument, response);
}

const schemeName = ({ paymentMethodType: type }: Pick<PastInvoice, "paymentMethodType">) =>
  type && paymentSchemeOf(type);

/** A bill's first charge: the case that began with it; null when it was approved. */
function observeFirstOfInvoice(
  learned: LearnedModel,
  history: CustomerHistory,
  booking: number,
  person: CustomerPosterior,
  past: PaymentRecord,
  bill: PastInvoice,
  reason: Reason | null,
  names: ReturnType<typeof createFeatureIndexer>,
): CasePosterior | null {
  const first = bill.charges[0]!;
  const at = first.at.getTime();
  const bookingOfBill =
    schemeName(bill) === schemeName(history.traits) ? booking : likeliestSettlement(learned, bill.paymentMethodType);
  const clock = { offsetMs: history.offsetAt(at), booking: bookingOfBill };
  const advice = first.codes?.networkAdviceCode ?? null;
  const traits: CaseTraits = {
    ...history.traits,
    dollars: bill.dollars,
    declineCode: codeOf(history, first),
    adviceCode: advice && normalizeCode(history.instrument, advice),
    past,
  };
  if (!first.isPresumed) observeFirstCharge(learned, person, names("f", traits), clock, at, reason);
  past.firsts++;
  if (reason === null) return null;
  past.declined++;
  past.unpaid++;
  const recent = history.bills
    .flatMap(({ charges }) => charges.map((charge) => charge.at.getTime()))
    .filter((time) => time <= at && time > at - WEEK_MS);
  return newCasePosterior(learned, person, {
    reason,
    code: traits.declineCode,
    standing: standingOf(past),
    names: names("r", traits),
    codeName: codeFeatureIndex(traits),
    rows: caseRows(traits),
    clock,
    failedAt: at,
    recent,
  });
}
