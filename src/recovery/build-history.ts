import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { isApproved } from "../domain/transaction.ts";
import { findCustomerLocale } from "../engine/customer-locale.ts";
import type { DecisionFacts } from "../engine/decision-facts.ts";
import type { CustomerHistory, PastCharge, PastInvoice } from "../engine/infer-posterior.ts";
import { MERCHANT_PLACEHOLDER } from "../engine/learned/merchant-parameters.ts";
import { MAX_OTHER_INVOICE_CHARGES } from "../engine/learned/observe.ts";
import { offsetMs } from "../engine/local-time.ts";
import { isUnsent } from "../engine/rules/unsent-attempts.ts";
import { toUsd } from "../engine/us-dollars.ts";
import type { CustomerInvoice } from "../tables/customer-invoices.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import { declineCodesOf } from "./build-decision-facts.ts";
import { currentCard, mayUseCard } from "./card.ts";
import type { LoadedCase } from "./loaded-case.ts";
import type { DeliveredAction } from "./outcome.ts";
import { paymentProfileOf } from "./payment-profile.ts";

/** Only for the learned engine. The open invoice comes last. */
export function buildHistory(
  view: LoadedCase,
  facts: DecisionFacts,
  actions: readonly DeliveredAction[],
): CustomerHistory {
  const { case: recoveryCase, invoice, subscription, transactions } = view;
  const locale = findCustomerLocale(facts);
  const { cardFunding, cardIssuer } = paymentProfileOf(view);
  const attemptsByInvoice = Map.groupBy(transactions, ({ invoiceId }) => invoiceId);
  const open = toOpenInvoice(view, facts, actions);
  const recentAttempts = findOtherInvoiceAttempts(view, open.charges.at(-1)!.at).slice(0, MAX_OTHER_INVOICE_CHARGES);
  // Later news would say little more, and each replanning would postpone the next retry.
  const includedUntil = recentAttempts.length < MAX_OTHER_INVOICE_CHARGES ? null : recentAttempts.at(-1)!.createdAt;
  const isIncluded = ({ at }: PastCharge) => includedUntil === null || at <= includedUntil;
  const earlier = [...view.customerInvoices, ...findUnpushedInvoices(view, recentAttempts)]
    .filter(({ id }) => id !== invoice.id)
    .map((invoice) => toPastInvoice(invoice, attemptsByInvoice.get(invoice.id) ?? []))
    .map((invoice) => ({ ...invoice, charges: invoice.charges.filter(isIncluded) }))
    .filter(({ charges }) => charges.length > 0)
    // Ties are in id order, so that a decision never depends on row order.
    .sort((a, b) => a.charges[0]!.at.getTime() - b.charges[0]!.at.getTime());
  return {
    traits: {
      tenureDays: subscription ? (recoveryCase.unpaidAt.getTime() - subscription.createdAt.getTime()) / DAY_MS : null,
      billingPeriod: subscription?.billingPeriod ?? null,
      billingPeriodUnit: subscription?.billingPeriodUnit ?? null,
      merchant: MERCHANT_PLACEHOLDER,
      country: locale.country ?? facts.currency,
      paymentMethodType: facts.paymentMethodType,
      network: facts.network,
      funding: cardFunding?.toLowerCase() ?? null,
      issuer: cardIssuer ?? null,
    },
    instrument: facts,
    offsetAt: (at) => offsetMs(locale.zone, at),
    invoices: [...earlier, open],
  };
}

/**
 * Returns the case as it was before a retry, as far as records are dated. The model is trained on these facts.
 *
 * @param actionId  the action that asked for the retry, if any
 */
export function viewBefore(view: LoadedCase, actionId: string, at: Date): LoadedCase {
  return {
    ...view,
    transactions: view.transactions.filter(({ createdAt }) => createdAt < at),
    actions: view.actions.filter(({ id, idealRetryTime }) => id !== actionId && idealRetryTime < at),
    pendingRequests: [],
    issuerDownAt: null,
    customerInvoices: view.customerInvoices
      .filter(({ createdAt }) => createdAt < at)
      .map((invoice) => ({
        ...invoice,
        state: invoice.paidAt !== null && invoice.paidAt >= at ? "UNPAID" : invoice.state,
        unpaidAt: invoice.unpaidAt !== null && invoice.unpaidAt < at ? invoice.unpaidAt : null,
        paidAt: invoice.paidAt !== null && invoice.paidAt < at ? invoice.paidAt : null,
      })),
  };
}

const toPastCharge = (t: TransactionFacts): PastCharge => {
  const approved = isApproved(t);
  return { at: t.createdAt, approved, codes: approved ? null : declineCodesOf(t) };
};

/** A person may have used another card, and a blocked attempt reached no bank. */
export const isCardAnswer = (t: TransactionFacts) =>
  (t.state === "FAILED" || isApproved(t)) && t.initiator !== "CUSTOMER" && !isUnsent(t);

/** Oldest first. */
const findOtherInvoiceAttempts = ({ case: recoveryCase, invoice, transactions }: LoadedCase, since: Date) =>
  transactions.filter(
    (t) =>
      t.createdAt > since && t.customerId === recoveryCase.customerId && t.invoiceId !== invoice.id && isCardAnswer(t),
  );

function findUnpushedInvoices(
  { customerInvoices }: LoadedCase,
  recentAttempts: readonly TransactionFacts[],
): OtherInvoice[] {
  const knownIds = new Set(customerInvoices.map(({ id }) => id));
  return [...Map.groupBy(recentAttempts, ({ invoiceId }) => invoiceId)]
    .filter(([id]) => !knownIds.has(id))
    .map(([id, [firstAttempt]]) => {
      const { amount, currency, createdAt } = firstAttempt!;
      return { id, amount, currency, state: "UNPAID", createdAt, unpaidAt: null, paidAt: null };
    });
}

type OtherInvoice = Omit<CustomerInvoice, "customerId" | "subscriptionId" | "isPlanned">;

/** By its attempts, or else by its state and case. */
function toPastInvoice(
  { amount, currency, state, createdAt, unpaidAt, paidAt }: OtherInvoice,
  attempts: readonly TransactionFacts[],
) {
  const dollars = toUsd(amount, currency);
  const cardAnswers = attempts.filter(isCardAnswer);
  const charges = cardAnswers.map(toPastCharge);
  const firstCharge = charges[0];
  if (firstCharge) {
    // Only half a year of attempts is loaded. If the invoice failed before that, its first attempt is missing.
    const sinceMs = unpaidAt === null ? 0 : firstCharge.at.getTime() - unpaidAt.getTime();
    if (sinceMs > (firstCharge.approved ? HOUR_MS : DAY_MS))
      charges.unshift({ at: unpaidAt!, approved: false, codes: null });
    return { dollars, paymentMethodType: cardAnswers[0]!.paymentMethodType ?? null, charges };
  }
  if (unpaidAt !== null) {
    charges.push({ at: unpaidAt, approved: false, codes: null });
    if (paidAt !== null && paidAt > unpaidAt) charges.push({ at: paidAt, approved: true, codes: null });
  } else if (state === "PAID") charges.push({ at: createdAt, approved: true, codes: null });
  return { dollars, paymentMethodType: null, charges };
}

/** Failures on the current card. A retry without a transaction counts once its outcome is known. */
function toOpenInvoice(view: LoadedCase, facts: DecisionFacts, actions: readonly DeliveredAction[]): PastInvoice {
  const { case: recoveryCase, invoice, transactions } = view;
  const card = currentCard(view);
  const since = facts.cardChangedAt?.getTime() ?? Number.NEGATIVE_INFINITY;
  const failed = transactions
    .filter((t) => t.invoiceId === invoice.id && t.state === "FAILED" && isCardAnswer(t) && mayUseCard(t, card))
    .map(toPastCharge);
  for (const { type, status, transactionId, attemptedAt, idealRetryTime } of actions)
    if (type === "RETRY" && status === "FAILED" && transactionId === null)
      failed.push({ at: attemptedAt ?? idealRetryTime, approved: false, codes: null });
  const charges = failed.filter(({ at }) => at.getTime() >= since).sort((a, b) => a.at.getTime() - b.at.getTime());
  const firstCharge = charges[0];
  const presumed = { approved: false, codes: null };
  if (facts.cardChangedAt !== null) {
    if (!firstCharge) charges.push({ ...presumed, at: facts.cardChangedAt, isPresumed: true });
  } else if (!firstCharge || firstCharge.at.getTime() > recoveryCase.unpaidAt.getTime() + DAY_MS)
    // If never pushed, the first attempt was made when the invoice became unpaid.
    charges.unshift({ ...presumed, at: recoveryCase.unpaidAt });
  const { paymentMethodType } = facts;
  return { dollars: toUsd(invoice.amount, invoice.currency), paymentMethodType, charges };
}
