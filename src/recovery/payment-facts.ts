import { isInRecovery } from "../domain/invoice.ts";
import { isApproved } from "../domain/transaction.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import type { Balance } from "./balance.ts";
import type { End } from "./ends.ts";
import type { LoadedCase } from "./loaded-case.ts";
import type { PaymentFacts } from "./outcome.ts";

/** `end` is the case's end by now. */
export function buildPaymentFacts(view: LoadedCase, balance: Balance, end: End): PaymentFacts {
  const { case: kase, invoice, transactions } = view;
  const paidByVersion = invoice.state === "PAID" && invoice.updatedAt >= kase.unpaidAt ? invoice.updatedAt : null;
  const own = transactions.filter((t) => t.invoiceId === invoice.id);
  return {
    paidAt: end.paidAt ?? paidByVersion,
    unpaidAt: isInRecovery(invoice.state) ? invoice.updatedAt : null,
    paidInFull: findCompletingAttempts(view, own, balance),
    transactions: own,
    ended: end.endedAt !== null,
  };
}

/**
 * Returns the attempts that paid the invoice in this case, alone or as the last part, even if the money was returned later.
 *
 * @param own  attempts on the invoice, oldest first
 */
function findCompletingAttempts(
  { case: kase, invoice }: LoadedCase,
  own: readonly TransactionFacts[],
  { paidAt }: Balance,
) {
  const approved = own.filter((t) => isApproved(t) && t.currency === invoice.currency && t.updatedAt >= kase.unpaidAt);
  let sum = 0;
  const last = approved.find((t) => {
    sum += t.amount;
    return sum >= invoice.amount;
  });
  // If a credit covered a part, the latest attempt paid the rest.
  const ids = new Set([(last ?? (paidAt ? approved.at(-1) : undefined))?.id]);
  for (const { id, amount } of approved) if (amount >= invoice.amount) ids.add(id);
  return ({ id }: TransactionFacts) => ids.has(id);
}
