import { moneyWords } from "../domain/currency.ts";
import type { InvoiceConflict } from "../store/invoice-conflicts.ts";
import type { Conflict } from "./balance.ts";

/** A conflict as it is stored: dates are ISO 8601 text. */
type Facts = { [Field in "paid" | "amount"]: number } & Record<
  "currency" | "paidCurrency" | "paidAt" | "unpaidAt",
  string
>;

/** What contradicts what, as a sentence, and what to do about it. `when`: writes a moment. */
export function conflictWords({ kind, facts }: InvoiceConflict, when: (at: Date) => string): string {
  const { paid, amount, currency, paidCurrency, paidAt, unpaidAt } = facts as Facts;
  switch (kind as Conflict["kind"]) {
    case "paid_but_unpaid":
      return `Payments of ${moneyWords(paid, currency)} cover the invoice since ${when(new Date(paidAt))}, but a version from ${when(new Date(unpaidAt))} says that it is unpaid. If it is paid, push the invoice as PAID. If the money was returned, push the payment as REFUNDED or FAILED.`;
    case "two_currencies":
      return `The invoice is in ${currency}, and a payment of ${moneyWords(paid, paidCurrency)} stands. If the payment belongs to another invoice, push it with that invoiceId. Otherwise push the invoice as PAID.`;
    case "paid_too_much":
      return `A payment of ${moneyWords(paid, currency)} is larger than the invoice of ${moneyWords(amount, currency)}. Check the unit of the amounts. If the invoice is paid, push it as PAID.`;
  }
}
