import { isInRecovery } from "../domain/invoice.ts";
import { isApproved } from "../domain/transaction.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import type { Balance } from "./balance.ts";
import type { End } from "./ends.ts";
import type { LoadedCase } from "./loaded-case.ts";
import type { PaymentFacts } from "./outcome.ts";

/** `end` is the case's end by now. */
export function buildPaymentFacts(view: LoadedCase, balance: Balance, end: End): PaymentFacts {
  const { case: recoveryCase, invoice, transactions } = view;
  const paidByVersion =
    invoice.state === "PAID" && invoice.updatedAt >= recoveryCase.unpaidAt ? invoice.updatedAt : null;
  const ownAttempts = transactions.filter((t) => t.invoiceId === invoice.id);
  return {
    paidAt: end.paidAt ?? paidByVersion,
    unpaidAt: isInRecovery(invoice.state) ? invoice.updatedAt : null,
    paidInFull: findCompletingAttempts(view, ownAttempts, balance),
    transactions: ownAttempts,
    ended: end.endedAt !== null,
  };
}

/**
 * Returns the attempts that paid the invoice in this case, alone or as the last part, even if the money was returned later.
 *
 * @param ownAttempts  attempts on the invoice, oldest first
 */
function findCompletingAttempts(
  { case: recoveryCase, invoice }: LoadedCase,
  ownAttempts: readonly TransactionFacts[],
  { paidAt }: Balance,
) {
  const approved = ownAttempts.filter(
    (t) => isApproved(t) && t.currency === invoice.currency && t.updatedAt >= recoveryCase.unpaidAt,
  );
  let sum = 0;
  const completingAttempt = approved.find((t) => {
    sum += t.amount;
    return sum >= invoice.amount;
  });
  // If a credit covered a part, the latest attempt paid the rest.
  const ids = new Set([(completingAttempt ?? (paidAt ? approved.at(-1) : undefined))?.id]);
  for (const { id, amount } of approved) if (amount >= invoice.amount) ids.add(id);
  return ({ id }: TransactionFacts) => ids.has(id);
}
