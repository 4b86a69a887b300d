import type { Case } from "../domain/case.ts";
import { isApproved } from "../domain/transaction.ts";
import { isUnsent } from "../engine/rules/unsent-attempts.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import { listMerchantRetries } from "./build-decision-facts.ts";
import { LEDGER_WINDOW_MS } from "./load-cases.ts";
import type { LoadedCase } from "./loaded-case.ts";

/** A retry dated so soon after the end of its case may be what ended it: the merchant's clock is not ours, and an invoice may be dated before its payment. */
const CLOCK_SKEW_MS = 5 * 60_000;

/**
 * The retries of the merchant's own system that ended, while the case lasted: those that are compared with what Dunlin would have done, and learned from. Of a
 * payment that came late the case lasted until it was paid, since by now the invoice may have failed again. A card that was checked for nothing was not charged,
 * and what its gateway blocked reached no bank.
 *
 * @param onInvoice  attempts on its invoice, oldest first
 */
export function listFinishedRetries(
  kase: Pick<Case, "unpaidAt" | "windowEndsAt" | "endedAt" | "paidAt">,
  onInvoice: readonly TransactionFacts[],
): TransactionFacts[] {
  const end = (kase.paidAt ?? kase.endedAt ?? kase.windowEndsAt).getTime() + CLOCK_SKEW_MS;
  return listMerchantRetries(kase, onInvoice).filter(
    (t) => (t.state === "FAILED" || isApproved(t)) && t.amount > 0 && t.createdAt.getTime() <= end && !isUnsent(t),
  );
}

/** Of a case that Dunlin only watches, as far as the view goes: what teaches. None of a case that it looks after, where its own retries teach. */
export const observedRetries = ({ case: kase, invoice, transactions }: LoadedCase): TransactionFacts[] =>
  kase.arm === "dunlin"
    ? []
    : listFinishedRetries(
        kase,
        transactions.filter((t) => t.invoiceId === invoice.id),
      );

/**
 * Whether payments are pushed as attempts, as far as the customer's bills tell: where some was paid and no attempt was approved, only failures are pushed, and would
 * teach that nothing ever succeeds.
 */
export const arePaymentsReported = ({ bills, transactions }: LoadedCase, now: Date): boolean =>
  transactions.some(isApproved) ||
  !bills.some(({ state, createdAt }) => state === "PAID" && now.getTime() - createdAt.getTime() < LEDGER_WINDOW_MS);
