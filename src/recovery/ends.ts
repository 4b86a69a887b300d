import type { Case, EndReason } from "../domain/case.ts";
import { type Invoice, isInRecovery } from "../domain/invoice.ts";
import type { CaseEnd } from "../tables/cases.ts";
import type { Balance } from "./balance.ts";
import type { LoadedCase } from "./loaded-case.ts";

const END_OF_STATE = {
  PAID: "paid",
  VOIDED: "voided",
  UNCOLLECTIBLE: "uncollectible",
  REFUNDED: "refunded",
  DRAFT: "draft",
} as const;

/** For an invoice that has left recovery. */
export function endOfInvoiceState({
  state,
  updatedAt,
  amount,
  currency,
}: Pick<Invoice, "state" | "updatedAt" | "amount" | "currency">): CaseEnd {
  const endReason = END_OF_STATE[state as keyof typeof END_OF_STATE];
  return { endReason, paidAt: endReason === "paid" ? updatedAt : null, amount, currency };
}

/** For an invoice with nothing left to pay. */
export const endOfBalance = ({ paidAt }: Balance): Pick<CaseEnd, "endReason" | "paidAt"> =>
  paidAt === null ? { endReason: "settled", paidAt } : { endReason: "paid", paidAt };

export type End = Pick<Case, "endedAt" | "endReason" | "paidAt">;
export const NOT_ENDED: End = { endedAt: null, endReason: null, paidAt: null };

/** By its facts and balance, because a rule leaves the invoice out, or because a person stopped it. */
export function endOfCase(
  { case: recoveryCase, invoice, subscription, rule, isStopped }: LoadedCase,
  balance: Balance,
  now: Date,
): End {
  if (recoveryCase.endedAt)
    return { endedAt: recoveryCase.endedAt, endReason: recoveryCase.endReason, paidAt: recoveryCase.paidAt };
  const endNow = (endReason: EndReason, paidAt: Date | null = null): End => ({ endedAt: now, endReason, paidAt });
  if (!isInRecovery(invoice.state)) {
    const { endReason, paidAt } = endOfInvoiceState(invoice);
    return endNow(endReason, paidAt);
  }
  if (balance.unpaidAmount === 0 && !balance.conflict) return { endedAt: now, ...endOfBalance(balance) };
  if (subscription?.state === "CANCELED") return endNow("subscription_canceled");
  if (subscription?.state === "EXPIRED") return endNow("subscription_expired");
  if (rule?.leaveOut) return endNow("left_out");
  if (now >= recoveryCase.windowEndsAt) return endNow("window_over");
  return isStopped ? endNow("stopped_by_hand") : NOT_ENDED;
}
