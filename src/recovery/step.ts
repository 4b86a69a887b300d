import { isDeepStrictEqual } from "node:util";
import { type Case, sendsCompleteDunning } from "../domain/case.ts";
import type { CaseTraits } from "../domain/case-traits.ts";
import { formatMoneyText } from "../domain/currency.ts";
import type { DecisionRecord } from "../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import type { Event } from "../domain/event.ts";
import { type Invoice, isInRecovery } from "../domain/invoice.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { Decision } from "../engine/decision-facts.ts";
import type { CaseRule, CaseState } from "../tables/cases.ts";
import type { NextEvaluation } from "../tables/due-cases.ts";
import { type Balance, type Conflict, computeBalance } from "./balance.ts";
import { buildCaseTraits } from "./case-traits.ts";
import { toStoredFacts } from "./conflict-wording.ts";
import { type AvailableModel, decideCase, decideInShadow, decideRetryNow } from "./decide-case.ts";
import { wouldChargeDisputedCard } from "./disputed-card.ts";
import { type End, endOfCase, NOT_ENDED } from "./ends.ts";
import type { LoadedCase } from "./loaded-case.ts";
import {
  type DeliveredAction,
  hasNamingAttempt,
  isAwaited,
  isStale,
  outcomeDueAt,
  outcomeOf,
  type PaymentFacts,
  recovers,
} from "./outcome.ts";
import { buildPaymentFacts } from "./payment-facts.ts";
import { buildActionEvent, buildCaseEvent } from "./step-events.ts";

/** Everything a step writes, in one transaction. */
export interface Step {
  state: CaseState & NextEvaluation & Pick<Case, "invoiceId">;
  traits: CaseTraits;
  inserted: RecoveryAction[];
  updated: RecoveryAction[];
  events: Event[];
  /** If another recovery rule decides, or the same one gives another window or budget. */
  newRule: CaseRule | null;
  /** If it differs from the last one. */
  decision: DecisionRecord | null;
  /** The learned engine's failure, after which the static policy decided. */
  error: unknown;
  /** If changed; null: resolved. */
  conflict: Conflict | null | undefined;
  /** Then the case's undelivered events are withdrawn before `events` are queued. */
  endsNow: boolean;
  /** Whether the case ended as paid or settled by facts that no longer hold, so another is to be opened. */
  isOwedAgain: boolean;
  /** Events whose actions were canceled, or executed without an answer to the event. */
  withdrawn: string[];
}

/** For a request that could not be delivered. */
const CARD_CHANGE_REPEAT_MS = DAY_MS;

/**
 * Settles the case's actions, ends it if it is over, else plans the next action and decides it when its time has come. Pure,
 * except for new rows' ids.
 *
 * @param now  the time by which everything is decided and due
 * @param listedAt  later than all times in the merchant's listed rows; equals `now` unless a clock was set back
 */
export function stepCase(
  view: LoadedCase,
  now: Date,
  newId: () => string,
  availableModel: AvailableModel,
  listedAt: Date = now,
): Step {
  const balance = computeBalance(view.invoice, view.transactions);
  const ended = endOfCase(view, balance, now);
  const facts = buildPaymentFacts(view, balance, ended);
  const actions = view.actions.map((_, index) => settleAction(view, index, facts, now, listedAt));
  const draft: Draft = {
    ...{ view, balance, now, listedAt, newId, availableModel, actions },
    ...{ events: [], inserted: [], decision: null, error: null },
  };
  const { end, dueAt } = ended.endedAt ? { end: ended, dueAt: null } : planNextAction(draft, facts);
  if (end.endReason) {
    cancelPlans(draft);
    cancelUndelivered(draft);
  }
  const endsNow = end.endedAt !== null && view.case.endedAt === null;
  const canSendEvents = isHandledByDunlin(view) && view.merchant.webhookUrl !== null && !wasNeverBegun(view, end);
  if (endsNow && canSendEvents && sendsCompleteDunning(end.endReason!) && !view.sentOnceEvents.completeDunning)
    draft.events.push(buildCaseEvent(view, "complete_dunning", now, newId()));
  // Ingest ends a case itself, and this step comes right after it.
  const isEndUnsent = end.endedAt !== null && !view.sentOnceEvents.recoveryEnded;
  if (isEndUnsent && canSendEvents && view.merchant.sendsRecoveryEnded)
    draft.events.push(buildCaseEvent(view, "recovery_ended", now, newId(), end.endReason!));
  const updated = draft.actions.filter((action, index) => action !== view.actions[index]);
  return {
    state: {
      id: view.case.id,
      invoiceId: view.case.invoiceId,
      ...end,
      recovered: draft.actions.some((action) => recovers(action, facts)),
      dueAt: end.endedAt ? nextOutcomeAt(draft, facts) : dueAt,
    },
    traits: buildCaseTraits(view, draft.actions),
    inserted: draft.inserted,
    updated,
    events: draft.events,
    newRule: view.newRule ?? null,
    decision: draft.decision,
    error: draft.error,
    conflict: end.endedAt ? undefined : newConflict(view, balance),
    endsNow,
    isOwedAgain: isOwedAgain(view, balance),
    withdrawn: draft.actions.filter(isStale).map(({ id }) => id),
  };
}

/** A merchant that was not told to leave an invoice to Dunlin needs no news that a rule leaves it out. */
const wasNeverBegun = ({ sentOnceEvents }: LoadedCase, { endReason }: End) =>
  endReason === "left_out" && !sentOnceEvents.pauseCollection;

/** A step may end a case by a payment that is withdrawn while the step reads. */
const isOwedAgain = ({ case: { endReason }, invoice }: LoadedCase, { unpaidAmount, conflict }: Balance) =>
  (endReason === "paid" || endReason === "settled") && isInRecovery(invoice.state) && unpaidAmount > 0 && !conflict;

function newConflict({ storedConflict }: LoadedCase, { conflict }: Balance): Conflict | null | undefined {
  if (!conflict || !storedConflict) return conflict || storedConflict ? conflict : undefined;
  return conflict.kind === storedConflict.kind && isDeepStrictEqual(toStoredFacts(conflict), storedConflict.facts)
    ? undefined
    : conflict;
}

/** If not, the merchant's own system handles the invoice, and Dunlin only observes. */
const isHandledByDunlin = ({ case: recoveryCase }: LoadedCase) => recoveryCase.arm === "dunlin";

interface Draft {
  view: LoadedCase;
  balance: Balance;
  now: Date;
  listedAt: Date;
  newId: () => string;
  availableModel: AvailableModel;
  events: Event[];
  decision: DecisionRecord | null;
  error: unknown;
  inserted: RecoveryAction[];
  /** With their outcomes by now. */
  actions: DeliveredAction[];
}

/** Returns the same object if nothing changed. */
function settleAction(
  view: LoadedCase,
  index: number,
  facts: PaymentFacts,
  now: Date,
  listedAt: Date,
): DeliveredAction {
  const action = view.actions[index]!;
  if (action.decidedAt === null && !hasNamingAttempt(action, facts)) return action;
  const next = view.actions.slice(index + 1).find((a) => a.type === "RETRY" && a.firstAttemptAt !== null);
  const { status, transaction, attemptedAt } = outcomeOf(action, facts, next?.firstAttemptAt ?? null, now);
  const transactionId = transaction?.id ?? action.transactionId;
  if (status === action.status && transactionId === action.transactionId) return action;
  if (action.decidedAt === null && status !== "SUCCEEDED" && status !== "FAILED") return action;
  const isExecuted = status === "SUCCEEDED" || status === "FAILED";
  return {
    ...action,
    ...cardFields(view),
    status,
    transactionId,
    // A merchant who polls the list may execute a plan. That counts as its decision.
    decidedAt: action.decidedAt ?? now,
    attemptedAt: isExecuted ? (attemptedAt ?? action.attemptedAt) : null,
    executedAt: isExecuted ? (action.executedAt ?? listedAt) : null,
    updatedAt: listedAt,
  };
}

/** Waits for a retry's outcome, or plans the next action and requests it when it is time. */
function planNextAction(draft: Draft, facts: PaymentFacts): { end: End; dueAt: Date | null } {
  const { view, now, actions } = draft;
  const { conflict, unpaidAmount } = draft.balance;
  const { windowEndsAt } = view.case;
  const awaitedActions = actions
    .filter(isAwaited)
    .map((action) => ({ ...action, dueAt: outcomeDueAt(action, facts, now) }));
  const wakeAt = (at: Date) => ({
    end: NOT_ENDED,
    dueAt: [at, windowEndsAt, ...awaitedActions.map(({ dueAt }) => dueAt)].reduce(earlier),
  });
  if (conflict && isHandledByDunlin(view)) {
    cancelPlans(draft);
    cancelUndelivered(draft, isRetry);
    return wakeAt(windowEndsAt);
  }
  if (!isHandledByDunlin(view))
    return wakeAt((view.case.arm === "shadow" && recordShadowDecision(draft)) || windowEndsAt);
  if (view.merchant.webhookUrl !== null && !view.sentOnceEvents.pauseCollection)
    draft.events.push(buildCaseEvent(view, "pause_collection", now, draft.newId()));
  // A disputed card or account is never charged, even if a retry was decided before.
  if (wouldChargeDisputedCard(view)) cancelUndelivered(draft, isRetry);
  if (unpaidAmount < view.merchant.smallestAmount) {
    cancelPlans(draft);
    return wakeAt(windowEndsAt);
  }
  // Only the customer can answer a request for a new card, so the case goes on meanwhile.
  if (awaitedActions.some(({ type }) => type === "RETRY")) return wakeAt(windowEndsAt);

  const { decision, record, error } = view.isRetriedNow
    ? decideRetryNow(view, actions, now)
    : decideCase(view, actions, actions.find(isPlan) ?? null, draft.availableModel, now);
  draft.error = error;
  const recordDecision = (action: RecoveryAction | null) => {
    draft.decision = record && { ...record, actionId: action?.id ?? null, idealTime: action?.idealRetryTime ?? null };
  };
  recordDecision(null);
  if (decision.kind === "stop") return { end: { endedAt: now, endReason: decision.end, paidAt: null }, dueAt: null };
  if (decision.kind === "wait") {
    cancelPlans(draft);
    return wakeAt(decision.until ?? windowEndsAt);
  }
  const plannedAction = putPlan(draft, decision);
  recordDecision(plannedAction);
  const requestAt = new Date(plannedAction.idealRetryTime.getTime() - view.merchant.leadMs);
  if (requestAt > now) return wakeAt(requestAt);
  // Without an endpoint nothing can be sent. Setting one queues the case.
  if (view.merchant.webhookUrl === null)
    return wakeAt(later(plannedAction.idealRetryTime, new Date(now.getTime() + HOUR_MS)));
  return wakeAt(outcomeDueAt(requestAction(draft, plannedAction), facts, now));
}

/** Adds the event of a planned action, whose time has come. */
function requestAction(draft: Draft, plannedAction: RecoveryAction) {
  const { view, now, listedAt } = draft;
  const requested = {
    ...plannedAction,
    idealRetryTime: later(plannedAction.idealRetryTime, now),
    decidedAt: now,
    updatedAt: listedAt,
  };
  putAction(draft, requested);
  draft.events.push(buildActionEvent(view, requested, now));
  return { ...requested, firstAttemptAt: null };
}

/** Returns the latest time to decide again; null: at the window's end. */
function recordShadowDecision(draft: Draft): Date | null {
  const { record, until, error } = decideInShadow(draft.view, draft.availableModel, draft.now);
  draft.decision = record;
  draft.error = error;
  return until;
}

const isPlan = ({ decidedAt, status }: RecoveryAction) => decidedAt === null && status === "SCHEDULED";

/** An equal plan stays untouched. */
function putPlan(draft: Draft, decision: Exclude<Decision, { kind: "stop" | "wait" }>): RecoveryAction {
  const { view, listedAt } = draft;
  const { unpaidAmount } = draft.balance;
  const type = decision.kind === "retry" ? "RETRY" : "CARD_CHANGE";
  const planFields = {
    ...cardFields(view),
    type,
    actionSuggestion: decision.kind === "retry" ? decision.suggestion : "CARD_CHANGE",
    idealRetryTime: decision.kind === "retry" ? decision.at : delayRepeatedCardChange(draft, decision.at),
    subscriptionId: view.invoice.subscriptionId ?? null,
    currency: view.invoice.currency,
    amountDue: unpaidAmount,
    reasons: addPartialAmountReason(decision.reasons, view.invoice, unpaidAmount),
  } as const;
  const existingPlan = draft.actions.find(isPlan);
  if (existingPlan) {
    if (isDeepStrictEqual({ ...existingPlan, ...planFields }, existingPlan)) return existingPlan;
    const replanned = { ...existingPlan, ...planFields, updatedAt: listedAt };
    putAction(draft, replanned);
    return replanned;
  }
  const newAction: RecoveryAction = {
    id: draft.newId(),
    caseId: view.case.id,
    invoiceId: view.invoice.id,
    customerId: view.invoice.customerId,
    transactionId: null,
    status: "SCHEDULED",
    integrationType: view.invoice.integrationType ?? "CUSTOM",
    decidedAt: null,
    executedAt: null,
    attemptedAt: null,
    createdAt: listedAt,
    updatedAt: listedAt,
    ...planFields,
  };
  draft.inserted.push(newAction);
  return newAction;
}

/** If only a part is unpaid. A kept plan's reasons contain it already. */
function addPartialAmountReason(reasons: string[], { amount, currency }: Invoice, unpaidAmount: number): string[] {
  if (unpaidAmount === amount) return reasons;
  const amountReason = `${formatMoneyText(unpaidAmount, currency)} of ${formatMoneyText(amount, currency)} is left to pay.`;
  return reasons.includes(amountReason) ? reasons : [...reasons, amountReason];
}

function putAction(draft: Draft, action: RecoveryAction) {
  const index = draft.actions.findIndex(({ id }) => id === action.id);
  if (index >= 0) draft.actions[index] = { ...draft.actions[index]!, ...action };
  else draft.inserted = [action];
}

function delayRepeatedCardChange({ actions }: Draft, at: Date): Date {
  const failed = actions.findLast((action) => action.type === "CARD_CHANGE" && action.status === "DELIVERY_FAILED");
  return failed ? later(at, new Date(failed.idealRetryTime.getTime() + CARD_CHANGE_REPEAT_MS)) : at;
}

function cancelPlans(draft: Draft) {
  draft.inserted = [];
  for (const action of draft.actions)
    if (isPlan(action)) putAction(draft, { ...action, status: "CANCELED", updatedAt: draft.listedAt });
}

const isRetry = ({ type }: RecoveryAction) => type === "RETRY";
function cancelUndelivered(draft: Draft, shouldCancel: (action: RecoveryAction) => boolean = () => true) {
  for (const action of draft.actions)
    if (isAwaited(action) && action.delivery === "waiting" && shouldCancel(action))
      putAction(draft, { ...action, status: "CANCELED", updatedAt: draft.listedAt });
}

function nextOutcomeAt({ actions, now }: Draft, facts: PaymentFacts): Date | null {
  const times = actions.filter(isAwaited).map((action) => outcomeDueAt(action, facts, now));
  return times.length > 0 ? times.reduce(earlier) : null;
}

/** For the list, from the invoice's latest attempt. */
function cardFields({ invoice, transactions }: LoadedCase) {
  const latest = transactions.findLast((t) => t.invoiceId === invoice.id);
  return { paymentMethodType: latest?.paymentMethodType ?? null, cardCountry: latest?.cardCountry ?? null };
}

const earlier = (a: Date, b: Date) => (a < b ? a : b);
const later = (a: Date, b: Date) => (a > b ? a : b);
