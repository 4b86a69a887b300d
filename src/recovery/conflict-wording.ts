import { formatMoneyText } from "../domain/currency.ts";
import type { InvoiceConflict } from "../tables/invoice-conflicts.ts";
import type { Conflict } from "./balance.ts";

/** Also says how to resolve it. */
export function describeConflict(conflict: Conflict, when: (at: Date) => string): string {
  switch (conflict.kind) {
    case "paid_but_unpaid": {
      const { paid, currency, paidAt, unpaidAt } = conflict;
      return `Payments of ${formatMoneyText(paid, currency)} have covered the invoice since ${when(paidAt)}, but a version from ${when(unpaidAt)} reports an unpaid amount. If it is paid, push the invoice as PAID. If something is left, push the invoice with amountDue. If the payment was returned, push the payment as FAILED.`;
    }
    case "two_currencies": {
      const { currency, paid, paidCurrency } = conflict;
      return `The invoice is in ${currency}, but a payment of ${formatMoneyText(paid, paidCurrency)} was reported for it. If the payment belongs to another invoice, push it with that invoiceId. Otherwise push the invoice as PAID.`;
    }
    case "paid_too_much": {
      const { amount, paid, currency } = conflict;
      return `A payment of ${formatMoneyText(paid, currency)} is larger than the invoice of ${formatMoneyText(amount, currency)}. Check the unit of the amounts. If the invoice is paid, push it as PAID.`;
    }
  }
}

/** Dates become ISO 8601 text. */
export const toStoredFacts = ({ kind: _, ...facts }: Conflict): Readonly<Record<string, unknown>> =>
  JSON.parse(JSON.stringify(facts)) as Record<string, unknown>;

export const parseStoredConflict = ({ kind, facts }: InvoiceConflict): Conflict =>
  Object.fromEntries([
    ["kind", kind],
    ...Object.entries(facts).map(([name, value]) => [name, name.endsWith("At") ? new Date(value as string) : value]),
  ]) as Conflict;
