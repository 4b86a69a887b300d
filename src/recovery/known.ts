import type { Decline, Known } from "../decisions/known.ts";
import type { Case } from "../domain/case.ts";
import { inRecovery } from "../domain/invoice.ts";
import { OUTCOME_MS } from "../domain/recovery-action.ts";
import { brandOf } from "../rules/card-networks.ts";
import { declineGroup } from "../rules/decline-group.ts";
import { endsRetries } from "../rules/decline-groups.ts";
import { gatewayCodeOf, networkCodeOf } from "../rules/gateway-codes.ts";
import { isCard } from "../rules/instrument.ts";
import type { LedgerEntry } from "../rules/ledger.ts";
import { isUnsent } from "../rules/unsent.ts";
import type { TransactionFacts } from "../store/transactions.ts";
import { balanceOf } from "./balance.ts";
import { type Card, isOn, isSurelyOn, onReplacements, onStandIns, presentCard } from "./card.ts";
import type { CaseView } from "./case-view.ts";
import { type DeliveredAction, isAwaited, PENDING_OUTCOME_MS } from "./outcome.ts";
import { type Payer, payerOf } from "./payer.ts";

/**
 * Returns the facts of a case for a decision, from its view; `actions` are its actions with their outcomes by now.
 *
 * @param isTrained  the model has trained on enough outcomes to sample retries where the merchant did not choose
 */
export function knownOf(view: CaseView, actions: readonly DeliveredAction[], isTrained = false): Known {
  const { case: kase, invoice, merchant, transactions } = view;
  const onInvoice = transactions.filter((t) => t.invoiceId === invoice.id);
  const present = presentCard(view);
  const payer = payerOf(view);
  const retries = actions.filter((a) => a.type === "RETRY" && wasAsked(a));
  return {
    caseId: kase.id,
    unpaidAt: kase.unpaidAt,
    windowEndsAt: kase.windowEndsAt,
    budgetLeft: Math.max(0, kase.budget - (kase.arm === "shadow" ? ownRetries(kase, onInvoice) : retries).length),
    explores: merchant.explore ?? isTrained,
    leadMs: merchant.leadMs,
    amount: amountOf(view),
    currency: invoice.currency,
    ...instrumentOf(payer),
    customerTimezone: payer.customerTimezone ?? null,
    ledger: ledgerOf(view, actions, present),
    lastDecline: lastDecline(onInvoice, present),
    cardChangedAt: cardChangedAt(view, present),
    ...cardChangeOf(view, actions, present),
    pending: pendingOf(onInvoice),
    billed: view.bills.flatMap(({ subscriptionId, createdAt }) =>
      subscriptionId === null ? [] : [{ subscriptionId, at: createdAt }],
    ),
    othersPlanned: view.bills.some(({ id, isPlanned }) => id !== invoice.id && isPlanned),
    issuerDownAt: view.issuerDownAt,
    // One that was canceled after it had gone out was asked for all the same.
    retries: retries.map(({ idealRetryTime, status }) => ({
      idealRetryTime,
      status: status === "CANCELED" ? "EXPIRED" : status,
    })),
  };
}

/**
 * The tries that the merchant's own system made in a case, after the charge that it began with. What a person did is none.
 *
 * @param onInvoice  attempts on its invoice, oldest first
 */
export function ownRetries({ unpaidAt }: Pick<Case, "unpaidAt">, onInvoice: readonly TransactionFacts[]) {
  const since = onInvoice.filter(({ createdAt }) => createdAt > unpaidAt);
  // The first charge may be dated a little after the copy of the invoice that says it is unpaid.
  const retries = onInvoice.length > since.length ? since : since.slice(1);
  return retries.filter(({ initiator }) => initiator !== "CUSTOMER");
}

export const instrumentOf = (payer: Pick<Payer, "paymentMethodType" | "cardBrand" | "cardCountry">) => ({
  paymentMethodType: payer.paymentMethodType ?? null,
  network: brandOf(payer.cardBrand, payer.paymentMethodType),
  cardCountry: payer.cardCountry ?? null,
});

/** Whether the merchant may have seen the instruction: then it counts, whatever became of it. */
const wasAsked = ({ decidedAt, status, firstAttemptAt }: DeliveredAction) =>
  decidedAt !== null && (status !== "CANCELED" || firstAttemptAt !== null);

function ledgerOf(view: CaseView, actions: readonly DeliveredAction[], card: Card | null): LedgerEntry[] {
  const { case: kase, invoice, barring, asks, disputed } = view;
  const transactions = [...barring, ...view.transactions];
  const [isStandIn, isReplacement] = [onStandIns(view), onReplacements(view, card)];
  const standsIn = (t: TransactionFacts) => isStandIn(t) || isReplacement(t);
  const isCounted = (t: TransactionFacts) => isOn(t, card) || standsIn(t);
  const attempts: LedgerEntry[] = transactions
    .filter((t) => t.invoiceId === invoice.id || isCounted(t))
    .map((t) => ({
      at: t.createdAt,
      amount: t.amount,
      approved: t.state === "FAILED" ? false : t.state === "PENDING" ? null : true,
      onThisInvoice: t.invoiceId === invoice.id,
      onPresentCard: isCounted(t),
      codes: codesOf(t),
      clears: clears(t, card),
      ...(isUnsent(t) ? { isUnsent: true as const } : {}),
      ...(isOn(t, card) || !standsIn(t) ? {} : { standIn: instrumentOf(t) }),
    }));
  for (const t of disputed)
    if (isOn(t, card))
      attempts.push({ ...DISPUTED, at: t.updatedAt, amount: t.amount, onThisInvoice: t.invoiceId === invoice.id });
  const unseen = { amount: invoice.amount, onPresentCard: true, codes: null };
  // An ask that a transaction answers by now is in the ledger as that transaction.
  const answered = new Set([
    ...transactions.map(({ recoveryActionId }) => recoveryActionId),
    ...actions.filter((a) => a.transactionId !== null || !wasAsked(a)).map(({ id }) => id),
  ]);
  const asked: LedgerEntry[] = asks
    .filter(({ actionId }) => !answered.has(actionId))
    // Of the same moment: by id, so that a decision never depends on how rows lie. The last sort keeps that order.
    .sort((a, b) => (a.actionId < b.actionId ? -1 : 1))
    .map(({ caseId, at, mayBeAnswered }) => ({
      at,
      approved: null,
      onThisInvoice: caseId === kase.id,
      ...unseen,
      ...(mayBeAnswered && caseId !== kase.id ? { mayBeAnswered } : {}),
    }));
  // An unpaid invoice was charged at least once, whether or not we were shown the attempt.
  const first: LedgerEntry[] = attempts.some(({ onThisInvoice }) => onThisInvoice)
    ? []
    : [{ at: kase.unpaidAt, approved: false, onThisInvoice: true, ...unseen }];
  return [...attempts, ...asked, ...first].sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** Beside the payment itself: no attempt, so no limit counts it. */
const DISPUTED = { approved: true, onPresentCard: true, codes: null, isDispute: true } as const;

/** No check without money, nothing that was taken back, and nothing that the customer did, who may be there where a merchant is not. */
const clears = (t: TransactionFacts, card: Card | null) =>
  (t.state === "PAID" || t.state === "REFUNDED") &&
  t.amount > 0 &&
  t.initiator !== "CUSTOMER" &&
  card !== null &&
  isSurelyOn(t, card) === true;

/** What a retry asks for. A version that says that the invoice is paid does not say what was left before. */
function amountOf({ invoice, transactions }: CaseView): number {
  const asked = inRecovery(invoice.state) ? invoice : { ...invoice, amountDue: undefined };
  return balanceOf(asked, transactions).left || invoice.amount;
}

/** What a failed attempt said about itself, of the columns that say it. */
type Codes = Pick<
  TransactionFacts,
  | "networkDeclineCode"
  | "networkAdviceCode"
  | "declineCategory"
  | "paymentGatewayErrorCode"
  | "paymentGatewayName"
  | "paymentGatewayType"
  | "paymentMethodType"
  | "cardBrand"
>;

export const codesOf = (t: Codes) => ({
  networkDeclineCode: networkCodeOf(
    t.networkDeclineCode,
    brandOf(t.cardBrand, t.paymentMethodType),
    t.paymentGatewayName,
    t.paymentGatewayType,
  ),
  networkAdviceCode: t.networkAdviceCode ?? null,
  gatewayCode: gatewayCodeOf(t.paymentGatewayErrorCode, t.paymentGatewayName, t.paymentGatewayType),
  declineCategory: t.declineCategory ?? null,
});

/** A blocked attempt without a reason of its own does not hide what the bank said before it. */
function lastDecline(onInvoice: readonly TransactionFacts[], card: Card | null): Decline | null {
  const isSaid = (t: TransactionFacts) => !isUnsent(t) || endsRetries(declineGroup(codesOf(t), instrumentOf(t)));
  const declines = onInvoice.filter((t) => t.state === "FAILED" && isOn(t, card));
  const failed = declines.findLast(isSaid) ?? declines.at(-1);
  return failed ? { at: failed.createdAt, ...codesOf(failed) } : null;
}

/** When the present card was first seen, if an earlier attempt on the invoice failed on another one. */
function cardChangedAt({ invoice, transactions }: CaseView, card: Card | null): Date | null {
  const first = card === null ? undefined : transactions.find((t) => isSurelyOn(t, card));
  if (!first) return null;
  const failedOnOther = transactions.some(
    (t) => t.invoiceId === invoice.id && t.state === "FAILED" && !isOn(t, card) && t.createdAt < first.createdAt,
  );
  return failedOnOther ? first.createdAt : null;
}

/** The attempt that is waited for longest: a card's answer comes at once, but for a customer who is to confirm, and nobody may tell that none came. */
function pendingOf(onInvoice: readonly TransactionFacts[]): Known["pending"] {
  let latest: Known["pending"] = null;
  for (const t of onInvoice) {
    if (t.state !== "PENDING" || t.amount === 0) continue;
    const waitMs = isCard(instrumentOf(t)) ? OUTCOME_MS.RETRY : PENDING_OUTCOME_MS;
    const until = new Date(t.createdAt.getTime() + waitMs);
    if (latest === null || until > latest.until) latest = { at: t.createdAt, until };
  }
  return latest;
}

/** What became of the change of the present card that was asked for. Who takes none twice in a row is asked for a try before it is offered once more. */
function cardChangeOf(
  view: CaseView,
  actions: readonly DeliveredAction[],
  card: Card | null,
): Pick<Known, "cardChange" | "cardAskedAt"> {
  if (view.case.arm === "shadow") return UNASKED;
  const changedAt = cardChangedAt(view, card);
  const asked = actions.filter(({ decidedAt }) => decidedAt !== null && (changedAt === null || decidedAt > changedAt));
  const changes = asked.filter(({ type }) => type === "CARD_CHANGE");
  const awaited = changes.findLast(isAwaited);
  if (awaited) return { cardChange: "awaited", cardAskedAt: awaited.decidedAt };
  const expired = changes.findLast(({ status }) => status === "EXPIRED");
  if (expired) return { cardChange: "expired", cardAskedAt: expired.decidedAt };
  const latest = asked.slice(-2);
  const isRefused = ({ type, status }: DeliveredAction) => type === "CARD_CHANGE" && status === "DELIVERY_FAILED";
  return latest.length === 2 && latest.every(isRefused) ? UNASKED : { cardChange: null, cardAskedAt: null };
}

const UNASKED = { cardChange: "unasked", cardAskedAt: null } as const;
