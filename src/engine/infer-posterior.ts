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

/** By anyone. */
export interface PastCharge {
  at: Date;
  approved: boolean;
  /** Null if not reported. */
  codes: DeclineCodes | null;
  /** No charge: a new card stands in its place, and says nothing about the customer. */
  isPresumed?: true;
}

/** Charges are oldest first, beginning with the invoice's first one. */
export interface PastInvoice {
  dollars: number;
  /** Null if no attempt names it. Then its times are those of answers, by which a debit was already booked. */
  paymentMethodType: string | null;
  charges: readonly PastCharge[];
}

export interface CustomerHistory {
  /** Shared by all of the customer's invoices. */
  traits: Omit<CaseTraits, "dollars" | "declineCode" | "adviceCode" | "past">;
  instrument: Instrument;
  /** Local time minus UTC, in milliseconds. */
  offsetAt(at: number): number;
  /** Oldest first. The last one is the case's, whose first charge was declined. */
  bills: readonly PastInvoice[];
}

/**
 * Computes an open case's posterior from the customer's whole history. Deterministic; the model stays unchanged.
 *
 * @param booking  index into SETTLEMENT_PATTERNS, for charges with the current payment method
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
    // A case without later facts needs no posterior.
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

/** Oldest first; ties in invoice order. */
const chargesInOrder = (bills: readonly PastInvoice[]) =>
  bills
    .flatMap((bill) => bill.charges.map((charge) => [bill, charge] as const))
    .sort(([, one], [, other]) => one.at.getTime() - other.at.getTime());

/** Returns null if the charge did not fail. */
const reasonOf = ({ instrument }: CustomerHistory, { approved, codes }: PastCharge): Reason | null =>
  approved ? null : codes ? findDeclineGroup(codes, instrument) : "UNKNOWN";

/** Returns a code's learned name, without text around it. For a debit, 1 and 01 may be two reasons. */
export const normalizeCode = (instrument: Instrument, code: string) =>
  isCard(instrument) ? normalizeCardCode(code) : removeWords(code).trim();

function codeOf(history: CustomerHistory, { codes }: PastCharge): string | null {
  const response = codes?.networkDeclineCode ?? null;
  return response === null ? (codes?.gatewayCode?.trim() ?? null) : normalizeCode(history.instrument, response);
}

const schemeName = ({ paymentMethodType: type }: Pick<PastInvoice, "paymentMethodType">) =>
  type && paymentSchemeOf(type);

/** Returns the case that began with the charge; null if it was approved. */
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
