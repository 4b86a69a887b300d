import type { Invoice } from "../domain/invoice.ts";
import type { Transaction, TransactionState } from "../domain/transaction.ts";
import type { CaseEnd, SaidEnd } from "../store/cases.ts";

/** Whether this attempt covers all that the invoice asks for. `states`: those that count as paid. */
export const paysInFull = (
  transaction: Pick<Transaction, "invoiceId" | "state" | "currency" | "amount">,
  invoice: Invoice,
  states: readonly TransactionState[] = ["PAID"],
) =>
  transaction.invoiceId === invoice.id &&
  states.includes(transaction.state) &&
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
