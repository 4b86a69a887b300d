import { WEEK_MS } from "../domain/durations.ts";
import { paymentSchemeOf } from "../domain/payment-schemes.ts";
import {
  applyDecline,
  type CaseTraits,
  caseRows,
  codeFeatureIndex,
  createFeatureIndexer,
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
  codes: DeclineCodes | null;
  /** A new card stands in its place; no charge. */
  isPresumed?: true;
}

/** Charges are oldest first. */
export interface PastInvoice {
  dollars: number;
  /** Null if no attempt names it: then times are those of answers, by which a debit was booked. */
  paymentMethodType: string | null;
  charges: readonly PastCharge[];
}

export interface CustomerHistory {
  traits: Omit<CaseTraits, "dollars" | "declineCode" | "adviceCode" | "past">;
  instrument: Instrument;
  /** In milliseconds. */
  offsetAt(at: number): number;
  /** Oldest first. The last one is the case's. */
  invoices: readonly PastInvoice[];
}

/**
 * Deterministic; leaves the model unchanged.
 *
 * @param booking  index into SETTLEMENT_PATTERNS, for charges with the current payment method
 */
export function inferPosterior(
  model: LearnedModel,
  history: CustomerHistory,
  booking = likeliestSettlement(model, history.traits.paymentMethodType),
): { customer: CustomerPosterior; posterior: CasePosterior } {
  const customer = newCustomerPosterior(model, history.traits.country);
  const past = newPaymentRecord();
  const indexFeatures = createFeatureIndexer(history.traits);
  const cases = new Map<PastInvoice, { posterior: CasePosterior; reason: Reason; isOpen: boolean }>();
  const lastInvoice = history.invoices.at(-1)!;
  for (const [invoice, charge] of chargesInOrder(history.invoices)) {
    const at = charge.at.getTime();
    const reason = reasonOf(history, charge);
    const ownCase = cases.get(invoice);
    const otherCases = [...cases]
      .filter(
        ([otherInvoice, { isOpen }]) =>
          otherInvoice !== invoice &&
          isOpen &&
          (otherInvoice === lastInvoice || otherInvoice.charges.at(-1)!.at > charge.at),
      )
      .map(([, { posterior }]) => posterior);
    const before = otherCases.length === 0 ? null : customer.cycles.slice();
    if (charge === invoice.charges[0]) {
      const posterior = observeFirstOfInvoice(model, history, booking, customer, past, invoice, reason, indexFeatures);
      if (posterior) cases.set(invoice, { posterior, reason: reason!, isOpen: true });
    } else if (ownCase?.isOpen) {
      observeRetry(model, customer, ownCase.posterior, at, reason);
      if (!charge.approved)
        applyDecline(ownCase.posterior, codeOf(history, invoice.charges[0]!), codeOf(history, charge));
      else {
        ownCase.isOpen = false;
        past.unpaid--;
        past.recovered++;
        past.lastReason = ownCase.reason;
      }
    } else continue;
    if (before && !charge.isPresumed)
      for (const posterior of otherCases) observeOtherInvoice(posterior, at, reason, before, customer.cycles);
  }
  const open = cases.get(lastInvoice);
  if (!open) throw new RangeError("the last bill of the history was approved, so there is no case");
  return { customer, posterior: open.posterior };
}

/** Oldest first; ties in invoice order. */
const chargesInOrder = (invoices: readonly PastInvoice[]) =>
  invoices
    .flatMap((invoice) => invoice.charges.map((charge) => [invoice, charge] as const))
    .sort(([, a], [, b]) => a.at.getTime() - b.at.getTime());

/** Null if the charge did not fail. */
const reasonOf = ({ instrument }: CustomerHistory, { approved, codes }: PastCharge): Reason | null =>
  approved ? null : codes ? findDeclineGroup(codes, instrument) : "UNKNOWN";

/** A code's learned name, without text around it. For a debit, 1 and 01 may be two reasons. */
export const normalizeCode = (instrument: Instrument, code: string) =>
  isCard(instrument) ? normalizeCardCode(code) : removeWords(code).trim();

function codeOf(history: CustomerHistory, { codes }: PastCharge): string | null {
  const response = codes?.networkDeclineCode ?? null;
  return response === null ? (codes?.gatewayCode?.trim() ?? null) : normalizeCode(history.instrument, response);
}

const schemeName = ({ paymentMethodType: type }: Pick<PastInvoice, "paymentMethodType">) =>
  type && paymentSchemeOf(type);

/** The case that began with the charge; null if it was approved. */
function observeFirstOfInvoice(
  model: LearnedModel,
  history: CustomerHistory,
  booking: number,
  customer: CustomerPosterior,
  past: PaymentRecord,
  invoice: PastInvoice,
  reason: Reason | null,
  indexFeatures: ReturnType<typeof createFeatureIndexer>,
): CasePosterior | null {
  const firstCharge = invoice.charges[0]!;
  const at = firstCharge.at.getTime();
  const bookingOfInvoice =
    schemeName(invoice) === schemeName(history.traits)
      ? booking
      : likeliestSettlement(model, invoice.paymentMethodType);
  const clock = { offsetMs: history.offsetAt(at), booking: bookingOfInvoice };
  const advice = firstCharge.codes?.networkAdviceCode ?? null;
  const traits: CaseTraits = {
    ...history.traits,
    dollars: invoice.dollars,
    declineCode: codeOf(history, firstCharge),
    adviceCode: advice && normalizeCode(history.instrument, advice),
    past,
  };
  if (!firstCharge.isPresumed) observeFirstCharge(model, customer, indexFeatures("f", traits), clock, at, reason);
  past.firstCharges++;
  if (reason === null) return null;
  past.declined++;
  past.unpaid++;
  const recent = history.invoices
    .flatMap(({ charges }) => charges.map((charge) => charge.at.getTime()))
    .filter((time) => time <= at && time > at - WEEK_MS);
  return newCasePosterior(model, customer, {
    reason,
    code: traits.declineCode,
    standing: standingOf(past),
    features: indexFeatures("r", traits),
    codeFeature: codeFeatureIndex(traits),
    rows: caseRows(traits),
    clock,
    failedAt: at,
    recent,
  });
}
