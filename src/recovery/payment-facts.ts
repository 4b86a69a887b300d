import { inRecovery } from "../domain/invoice.ts";
import { isApproved } from "../domain/transaction.ts";
import { balanceOf } from "./balance.ts";
import type { CaseView } from "./case-view.ts";
import { type End, paysInFull } from "./ends.ts";
import type { PaymentFacts } from "./outcome.ts";

/** What is known about an invoice that bears on the outcome of its actions. `end`: of the case, by now. */
export function paymentFacts(view: CaseView, end: End): PaymentFacts {
  const { case: kase, invoice, transactions } = view;
  const paidByCopy = invoice.state === "PAID" && invoice.updatedAt >= kase.unpaidAt ? invoice.updatedAt : null;
  return {
    paidAt: end.paidAt ?? paidByCopy,
    unpaidAt: inRecovery(invoice.state) ? invoice.updatedAt : null,
    paidInFull: completing(view),
    transactions: transactions.filter((t) => t.invoiceId === invoice.id),
    ended: end.endedAt !== null,
  };
}

/** Tells the attempts that paid the invoice in this case: by themselves, or as the last part. */
function completing({ case: kase, invoice, transactions }: CaseView): PaymentFacts["paidInFull"] {
  const approved = transactions.filter(
    (t) =>
      t.invoiceId === invoice.id && isApproved(t) && t.currency === invoice.currency && t.updatedAt >= kase.unpaidAt,
  );
  let sum = 0;
  let last: string | null = null;
  for (const { id, amount } of approved) {
    if (sum >= invoice.amount) break;
    sum += amount;
    if (sum >= invoice.amount) last = id;
  }
  // Credits may have paid a part: then the latest attempt paid the rest.
  if (last === null && balanceOf(invoice, transactions).paidAt !== null) last = approved.at(-1)?.id ?? null;
  return (t) => t.id === last || (paysInFull(t, invoice) && t.updatedAt >= kase.unpaidAt);
}
