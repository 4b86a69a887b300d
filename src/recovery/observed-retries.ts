import type { Case } from "../domain/case.ts";
import { isApproved } from "../domain/transaction.ts";
import { isUnsent } from "../engine/rules/unsent-attempts.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import { listMerchantRetries } from "./build-decision-facts.ts";
import { LEDGER_WINDOW_MS } from "./load-cases.ts";
import type { LoadedCase } from "./loaded-case.ts";

/**
 * A retry dated this soon after its case's end may have ended it: clocks differ, and an invoice may be dated before its payment.
 */
const CLOCK_SKEW_MS = 5 * 60_000;

/**
 * Returns finished retries by the merchant's own system during the case, to compare with Dunlin's decisions and to train the
 * model. If the payment came late, the case lasted until then, since the invoice may have failed again by now. Leaves out checks
 * without an amount and attempts that the gateway blocked.
 *
 * @param onInvoice  attempts on its invoice, oldest first
 */
export function listFinishedRetries(
  recoveryCase: Pick<Case, "unpaidAt" | "windowEndsAt" | "endedAt" | "paidAt">,
  onInvoice: readonly TransactionFacts[],
): TransactionFacts[] {
  const end = (recoveryCase.paidAt ?? recoveryCase.endedAt ?? recoveryCase.windowEndsAt).getTime() + CLOCK_SKEW_MS;
  return listMerchantRetries(recoveryCase, onInvoice).filter(
    (t) => (t.state === "FAILED" || isApproved(t)) && t.amount > 0 && t.createdAt.getTime() <= end && !isUnsent(t),
  );
}

/** Returns none for a case that Dunlin handles, where its own retries train the model. */
export const observedRetries = ({ case: recoveryCase, invoice, transactions }: LoadedCase): TransactionFacts[] =>
  recoveryCase.arm === "dunlin"
    ? []
    : listFinishedRetries(
        recoveryCase,
        transactions.filter((t) => t.invoiceId === invoice.id),
      );

/**
 * Judged by the customer's invoices: if one was paid without an approved attempt, only failures are pushed. They would teach the
 * model that nothing succeeds.
 */
export const arePaymentsReported = ({ customerInvoices, transactions }: LoadedCase, now: Date): boolean =>
  transactions.some(isApproved) ||
  !customerInvoices.some(
    ({ state, createdAt }) => state === "PAID" && now.getTime() - createdAt.getTime() < LEDGER_WINDOW_MS,
  );
