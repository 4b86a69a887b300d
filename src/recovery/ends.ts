import type { Invoice } from "../domain/invoice.ts";
import type { Transaction } from "../domain/transaction.ts";
import type { CaseEnd } from "../store/cases.ts";

/** Whether this attempt covers all that the invoice asks for. */
export const paysInFull = (transaction: Transaction, invoice: Invoice) =>
  transaction.invoiceId === invoice.id &&
  transaction.state === "PAID" &&
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
export function endOf(invoice: Invoice): CaseEnd {
  const endReason = END_OF_STATE[invoice.state as keyof typeof END_OF_STATE];
  return { invoiceId: invoice.id, endReason, paidAt: endReason === "paid" ? invoice.updatedAt : null };
}
