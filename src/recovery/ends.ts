import type { Case, EndReason } from "../domain/case.ts";
import { type Invoice, inRecovery } from "../domain/invoice.ts";
import type { Transaction } from "../domain/transaction.ts";
import type { CaseEnd, SaidEnd } from "../store/cases.ts";
import type { CaseView } from "./case-view.ts";

/** Whether this attempt covers all that the invoice asks for. `isPaid`: what counts as paid. */
export const paysInFull = (
  transaction: Pick<Transaction, "invoiceId" | "state" | "currency" | "amount">,
  invoice: Invoice,
  isPaid: (transaction: Pick<Transaction, "state">) => boolean = ({ state }) => state === "PAID",
) =>
  transaction.invoiceId === invoice.id &&
  isPaid(transaction) &&
  transaction.currency === invoice.currency &&
  transaction.amount >= invoice.amount;

const END_OF_STATE = {
  PAID: "paid",
  VOIDED: "voided",
  UNCOLLECTIBLE: "uncollectible",
  REFUNDED: "refunded",
  DRAFT: "draft",
} as const;

/** The end of a case that an invoice in a state outside recovery says. */
export function endOf({
  state,
  updatedAt,
  amount,
  currency,
}: Pick<Invoice, "state" | "updatedAt" | "amount" | "currency">): CaseEnd {
  const endReason = END_OF_STATE[state as keyof typeof END_OF_STATE];
  return { endReason, paidAt: endReason === "paid" ? updatedAt : null, amount, currency };
}

/** The end of a case that a payment in full brings. */
export const endByPayment = ({
  invoiceId,
  createdAt,
  updatedAt,
}: Pick<Transaction, "invoiceId" | "createdAt" | "updatedAt">): SaidEnd => ({
  invoiceId,
  endReason: "paid",
  paidAt: createdAt,
  saidAt: updatedAt,
  amount: null,
  currency: null,
});

/** The end of a case, or that it has none yet. */
export type End = Pick<Case, "endedAt" | "endReason" | "paidAt">;
export const OPEN: End = { endedAt: null, endReason: null, paidAt: null };

/** Whether, why and since when the case is over, by the facts, or else because a person said so. */
export function endOfCase({ case: kase, invoice, subscription, transactions, isStopped }: CaseView, now: Date): End {
  if (kase.endedAt) return { endedAt: kase.endedAt, endReason: kase.endReason, paidAt: kase.paidAt };
  const ended = (endReason: EndReason, paidAt: Date | null = null): End => ({ endedAt: now, endReason, paidAt });
  if (!inRecovery(invoice.state)) {
    const { endReason, paidAt } = endOf(invoice);
    return ended(endReason, paidAt);
  }
  const payment = transactions.find((t) => paysInFull(t, invoice) && t.updatedAt >= kase.unpaidAt);
  if (payment) return ended("paid", payment.createdAt);
  if (subscription?.state === "CANCELED") return ended("subscription_canceled");
  if (subscription?.state === "EXPIRED") return ended("subscription_expired");
  if (now >= kase.windowEndsAt) return ended("window_over");
  return isStopped ? ended("stopped_by_hand") : OPEN;
}
