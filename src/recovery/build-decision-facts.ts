import type { Case } from "../domain/case.ts";
import { isInRecovery } from "../domain/invoice.ts";
import { OUTCOME_WAIT_MS } from "../domain/recovery-action.ts";
import type { DecisionFacts, Decline } from "../engine/decision-facts.ts";
import { quietTimesOf } from "../engine/quiet-times.ts";
import type { LedgerEntry } from "../engine/rules/attempt-ledger.ts";
import { findBrand } from "../engine/rules/card-networks.ts";
import { endsRetries } from "../engine/rules/decline-groups.ts";
import { normalizeGatewayCode, normalizeNetworkCode } from "../engine/rules/gateway-codes.ts";
import { isCard } from "../engine/rules/instrument.ts";
import { findDeclineGroup } from "../engine/rules/interpret-decline.ts";
import { isUnsent } from "../engine/rules/unsent-attempts.ts";
import type { LastDecline } from "../tables/last-declines.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import { computeBalance } from "./balance.ts";
import {
  buildIsOnReplacementCard,
  buildIsOnSubstituteCard,
  type Card,
  currentCard,
  isKnownToUse,
  mayUseCard,
} from "./card.ts";
import type { LoadedCase } from "./loaded-case.ts";
import { type DeliveredAction, isAwaited, PENDING_OUTCOME_MS } from "./outcome.ts";
import { type PaymentProfile, paymentProfileOf } from "./payment-profile.ts";

/**
 * @param actions  the case's, with their outcomes by now
 * @param isTrained  whether the model has enough outcomes to explore, if the merchant left that open
 */
export function buildDecisionFacts(
  view: LoadedCase,
  actions: readonly DeliveredAction[],
  isTrained = false,
): DecisionFacts {
  const { case: recoveryCase, invoice, merchant, transactions } = view;
  const onInvoice = transactions.filter((t) => t.invoiceId === invoice.id);
  const card = currentCard(view);
  const profile = paymentProfileOf(view);
  const retries = actions.filter((a) => a.type === "RETRY" && wasRequested(a));
  return {
    caseId: recoveryCase.id,
    unpaidAt: recoveryCase.unpaidAt,
    windowEndsAt: recoveryCase.windowEndsAt,
    budgetLeft: Math.max(
      0,
      recoveryCase.budget -
        (recoveryCase.arm === "shadow" ? listMerchantRetries(recoveryCase, onInvoice) : retries).length,
    ),
    explores: merchant.explore ?? isTrained,
    leadMs: merchant.leadMs,
    amount: retryAmountOf(view),
    currency: invoice.currency,
    ...instrumentOf(profile),
    customerTimezone: profile.customerTimezone ?? null,
    ledger: buildLedger(view, actions, card),
    lastDecline: findLastDecline(onInvoice, card),
    cardChangedAt: findCardChangeTime(view, card),
    ...findCardChangeState(view, actions, card),
    pending: findPendingAttempt(onInvoice),
    billed: view.customerInvoices.flatMap(({ subscriptionId, createdAt }) =>
      subscriptionId === null ? [] : [{ subscriptionId, at: createdAt }],
    ),
    othersPlanned: view.customerInvoices.some(({ id, isPlanned }) => id !== invoice.id && isPlanned),
    issuerDownAt: view.issuerDownAt,
    postponedUntil: recoveryCase.postponedUntil,
    quietTimes: quietTimesOf(view.rule),
    // A retry canceled after it was sent still counts as requested.
    retries: retries.map(({ idealRetryTime, status }) => ({
      idealRetryTime,
      status: status === "CANCELED" ? "EXPIRED" : status,
    })),
  };
}

/**
 * Returns attempts by the merchant's own system after the first charge, without those by a person.
 *
 * @param onInvoice  attempts on its invoice, oldest first
 */
export function listMerchantRetries({ unpaidAt }: Pick<Case, "unpaidAt">, onInvoice: readonly TransactionFacts[]) {
  const since = onInvoice.filter(({ createdAt }) => createdAt > unpaidAt);
  // The first charge may be dated a little later than the version that reports the invoice unpaid.
  const retries = onInvoice.length > since.length ? since : since.slice(1);
  return retries.filter(({ initiator }) => initiator !== "CUSTOMER");
}

export const instrumentOf = (profile: Pick<PaymentProfile, "paymentMethodType" | "cardBrand" | "cardCountry">) => ({
  paymentMethodType: profile.paymentMethodType ?? null,
  network: findBrand(profile.cardBrand, profile.paymentMethodType),
  cardCountry: profile.cardCountry ?? null,
});

/** Whether the merchant may have received the instruction. Then it counts, however it ended. */
const wasRequested = ({ decidedAt, status, firstAttemptAt }: DeliveredAction) =>
  decidedAt !== null && (status !== "CANCELED" || firstAttemptAt !== null);

function buildLedger(view: LoadedCase, actions: readonly DeliveredAction[], card: Card | null): LedgerEntry[] {
  const { case: recoveryCase, invoice, blockingAttempts, pendingRequests, disputed } = view;
  const transactions = [...blockingAttempts, ...view.transactions];
  const [isOnSubstitute, isOnReplacement] = [buildIsOnSubstituteCard(view), buildIsOnReplacementCard(view, card)];
  const isOnOtherCard = (t: TransactionFacts) => isOnSubstitute(t) || isOnReplacement(t);
  const isCounted = (t: TransactionFacts) => mayUseCard(t, card) || isOnOtherCard(t);
  const attempts: LedgerEntry[] = transactions
    .filter((t) => t.invoiceId === invoice.id || isCounted(t))
    .map((t) => ({
      at: t.createdAt,
      amount: t.amount,
      approved: t.state === "FAILED" ? false : t.state === "PENDING" ? null : true,
      onThisInvoice: t.invoiceId === invoice.id,
      onPresentCard: isCounted(t),
      codes: declineCodesOf(t),
      clears: isClearing(t, card),
      ...(isUnsent(t) ? { isUnsent: true as const } : {}),
      ...(mayUseCard(t, card) || !isOnOtherCard(t) ? {} : { standIn: instrumentOf(t) }),
    }));
  for (const t of disputed)
    if (mayUseCard(t, card))
      attempts.push({ ...DISPUTE_ENTRY, at: t.updatedAt, amount: t.amount, onThisInvoice: t.invoiceId === invoice.id });
  const entryDefaults = { amount: invoice.amount, onPresentCard: true, codes: null };
  // A request that a transaction answers is in the ledger as that transaction.
  const answeredIds = new Set([
    ...transactions.map(({ recoveryActionId }) => recoveryActionId),
    ...actions.filter((a) => a.transactionId !== null || !wasRequested(a)).map(({ id }) => id),
  ]);
  const requestEntries: LedgerEntry[] = pendingRequests
    .filter(({ actionId }) => !answeredIds.has(actionId))
    // Ties are broken by id, so that a decision never depends on row order. The last sort is stable.
    .sort((a, b) => (a.actionId < b.actionId ? -1 : 1))
    .map(({ caseId, at, mayBeAnswered }) => ({
      at,
      approved: null,
      onThisInvoice: caseId === recoveryCase.id,
      ...entryDefaults,
      ...(mayBeAnswered && caseId !== recoveryCase.id ? { mayBeAnswered } : {}),
    }));
  // An unpaid invoice was charged at least once, even if that attempt was never pushed.
  const firstCharge: LedgerEntry[] = attempts.some(({ onThisInvoice }) => onThisInvoice)
    ? []
    : [{ at: recoveryCase.unpaidAt, approved: false, onThisInvoice: true, ...entryDefaults }];
  return [...attempts, ...requestEntries, ...firstCharge].sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** Stands beside the disputed payment. No attempt, so no limit counts it. */
const DISPUTE_ENTRY = { approved: true, onPresentCard: true, codes: null, isDispute: true } as const;

/**
 * Excludes checks without an amount, disputed payments, and charges by the customer, who can pass checks that a merchant cannot.
 */
const isClearing = (t: TransactionFacts, card: Card | null) =>
  (t.state === "PAID" || t.state === "REFUNDED") &&
  t.amount > 0 &&
  t.initiator !== "CUSTOMER" &&
  card !== null &&
  isKnownToUse(t, card) === true;

/** A version in state PAID no longer reports the amount that was due before. */
function retryAmountOf({ invoice, transactions }: LoadedCase): number {
  const version = isInRecovery(invoice.state) ? invoice : { ...invoice, amountDue: undefined };
  return computeBalance(version, transactions).unpaidAmount || invoice.amount;
}

type CodeColumns = Omit<LastDecline, "cardCountry">;

export const declineCodesOf = (t: CodeColumns) => ({
  networkDeclineCode: normalizeNetworkCode(
    t.networkDeclineCode,
    findBrand(t.cardBrand, t.paymentMethodType),
    t.paymentGatewayName,
    t.paymentGatewayType,
  ),
  networkAdviceCode: t.networkAdviceCode ?? null,
  gatewayCode: normalizeGatewayCode(t.paymentGatewayErrorCode, t.paymentGatewayName, t.paymentGatewayType),
  declineCategory: t.declineCategory ?? null,
});

/** A blocked attempt without its own reason does not hide the bank's earlier answer. */
function findLastDecline(onInvoice: readonly TransactionFacts[], card: Card | null): Decline | null {
  const isMeaningful = (t: TransactionFacts) =>
    !isUnsent(t) || endsRetries(findDeclineGroup(declineCodesOf(t), instrumentOf(t)));
  const declines = onInvoice.filter((t) => t.state === "FAILED" && mayUseCard(t, card));
  const failed = declines.findLast(isMeaningful) ?? declines.at(-1);
  return failed ? { at: failed.createdAt, ...declineCodesOf(failed) } : null;
}

/** Returns when the current card was first seen, if an earlier attempt on the invoice failed on another card. */
function findCardChangeTime({ invoice, transactions }: LoadedCase, card: Card | null): Date | null {
  const first = card === null ? undefined : transactions.find((t) => isKnownToUse(t, card));
  if (!first) return null;
  const failedOnOther = transactions.some(
    (t) => t.invoiceId === invoice.id && t.state === "FAILED" && !mayUseCard(t, card) && t.createdAt < first.createdAt,
  );
  return failedOnOther ? first.createdAt : null;
}

/**
 * Returns the pending attempt whose wait ends last. A card answers at once unless the customer has to confirm, and a missing
 * answer is never reported.
 */
function findPendingAttempt(onInvoice: readonly TransactionFacts[]): DecisionFacts["pending"] {
  let latest: DecisionFacts["pending"] = null;
  for (const t of onInvoice) {
    if (t.state !== "PENDING" || t.amount === 0) continue;
    const waitMs = isCard(instrumentOf(t)) ? OUTCOME_WAIT_MS.RETRY : PENDING_OUTCOME_MS;
    const until = new Date(t.createdAt.getTime() + waitMs);
    if (latest === null || until > latest.until) latest = { at: t.createdAt, until };
  }
  return latest;
}

/** A merchant who misses two requests in a row is sent a retry before the next one. */
function findCardChangeState(
  view: LoadedCase,
  actions: readonly DeliveredAction[],
  card: Card | null,
): Pick<DecisionFacts, "cardChange" | "cardAskedAt"> {
  if (view.case.arm === "shadow") return CARD_CHANGE_NOT_ASKED;
  const changedAt = findCardChangeTime(view, card);
  const requested = actions.filter(
    ({ decidedAt }) => decidedAt !== null && (changedAt === null || decidedAt > changedAt),
  );
  const changes = requested.filter(({ type }) => type === "CARD_CHANGE");
  const awaitedChange = changes.findLast(isAwaited);
  if (awaitedChange) return { cardChange: "awaited", cardAskedAt: awaitedChange.decidedAt };
  const expired = changes.findLast(({ status }) => status === "EXPIRED");
  if (expired) return { cardChange: "expired", cardAskedAt: expired.decidedAt };
  const latest = requested.slice(-2);
  const isRefused = ({ type, status }: DeliveredAction) => type === "CARD_CHANGE" && status === "DELIVERY_FAILED";
  return latest.length === 2 && latest.every(isRefused)
    ? CARD_CHANGE_NOT_ASKED
    : { cardChange: null, cardAskedAt: null };
}

const CARD_CHANGE_NOT_ASKED = { cardChange: "unasked", cardAskedAt: null } as const;
