import type { Case, EndReason } from "../domain/case.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import { HOLDOUT_ANSWER, NEVER_IN_RECOVERY, SHADOW_ANSWER } from "../explain/answers.ts";
import { END_REASON_WORDING } from "../explain/story.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { computeBalance } from "../recovery/balance.ts";
import { NO_MODEL } from "../recovery/decide-case.ts";
import { loadCases } from "../recovery/load-cases.ts";
import type { LoadedCase } from "../recovery/loaded-case.ts";
import { isAwaited } from "../recovery/outcome.ts";
import { type Step, stepCase } from "../recovery/step.ts";
import { withTraceparent } from "../recovery/step-span.ts";
import { publishSteps, type StepListeners, writeSteps } from "../recovery/write-steps.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { traceCasesOfInvoices } from "../tables/case-traces.ts";
import { casesOfInvoice, lockOpenCase, setPostponedUntil } from "../tables/cases.ts";
import { findInvoices } from "../tables/invoices.ts";
import { advanceMerchantClock } from "../tables/merchant-clocks.ts";
import { findMerchant } from "../tables/merchants.ts";
import { enqueueCases } from "../tables/reevaluation-queue.ts";

export interface RecoveryRequests extends StepListeners {
  db: Database;
  ports: Ports;
  /** Of the request's sampled trace. */
  traceparent?: string | null;
}

export interface RecoveryRequest {
  invoiceId: string;
  /** The case that the person saw; undefined: the open one. */
  caseId?: string | undefined;
  actor: Actor;
  reason?: string | undefined;
  /** Writes a time in a message; undefined: in UTC, as ISO 8601. */
  formatTime?: ((at: Date) => string) | undefined;
}

export interface StopResult {
  caseId: string;
  /** The queued `complete_dunning`; null: the merchant has no endpoint. */
  eventId: string | null;
  withdrawn: string[];
}

/**
 * Ends the open case of an invoice on a person's request. Withdraws undelivered events and queues `complete_dunning`; a delivered
 * instruction may still succeed.
 *
 * @returns a message if there is nothing to stop; null if there is no such invoice
 */
export async function stopRecovery(
  service: RecoveryRequests,
  merchantId: string,
  request: RecoveryRequest,
): Promise<StopResult | string | null> {
  const act: ActOnCase<StopResult> = async (tx, { recoveryCase, view, now, listedAt }) => {
    const stopped = stepCase({ ...view, isStopped: true }, now, service.ports.newId, NO_MODEL, listedAt);
    const step = withTraceparent(stopped, service.traceparent ?? null);
    const withdrawn = await writeSteps(tx, merchantId, [step], now);
    // The facts may already contain another end.
    if (step.state.endReason !== "stopped_by_hand")
      return { step, withdrawn, answer: explainNotStoppable({ ...recoveryCase, ...step.state })! };
    await audit(tx, service, merchantId, request, "recovery.stopped");
    return { step, withdrawn, answer: { caseId: step.state.id, eventId: step.events[0]?.id ?? null, withdrawn } };
  };
  return actOnOpenCase(service, merchantId, request, NOTHING_STOPPED, act);
}

export interface RetryNowResult {
  caseId: string;
  /** Its event has the same id. */
  actionId: string;
}

/**
 * Requests a retry at once, if something is owed and no rule forbids it. It counts toward the budget, and ends a postponement.
 *
 * @returns a message if no retry can be requested; null if there is no such invoice
 */
export async function requestRetryNow(
  service: RecoveryRequests,
  merchantId: string,
  request: RecoveryRequest,
): Promise<RetryNowResult | string | null> {
  const act: ActOnCase<RetryNowResult> = async (tx, { recoveryCase, view, now, listedAt }) => {
    const { step: requested, action } = stepRetryNow(view, now, service.ports.newId, listedAt);
    const step = withTraceparent(requested, service.traceparent ?? null);
    if (!action) return { answer: `${NOTHING_RETRIED} ${explainNoRetryNow(view, step)}` };
    await setPostponedUntil(tx, merchantId, recoveryCase.id, null);
    const withdrawn = await writeSteps(tx, merchantId, [step], now);
    await audit(tx, service, merchantId, request, "recovery.retried");
    return { step, withdrawn, answer: { caseId: recoveryCase.id, actionId: action.id } };
  };
  return actOnOpenCase(service, merchantId, request, NOTHING_RETRIED, act);
}

export interface PostponeResult {
  caseId: string;
  until: Date;
}

/**
 * Requests no retry of an invoice before a time. A retry that was requested already is not taken back.
 *
 * @param until  within the window, and ahead
 * @returns a message if recovery cannot be postponed; null if there is no such invoice
 */
export async function postponeRecovery(
  service: RecoveryRequests,
  merchantId: string,
  request: RecoveryRequest,
  until: Date,
): Promise<PostponeResult | string | null> {
  const act: ActOnCase<PostponeResult> = async (tx, { recoveryCase, view, now }) => {
    const refusal = explainNotPostponable(view, until, now, request.formatTime);
    if (refusal) return { answer: `${NOTHING_POSTPONED} ${refusal}` };
    // A form may be sent twice.
    if (recoveryCase.postponedUntil?.getTime() === until.getTime())
      return { answer: { caseId: recoveryCase.id, until } };
    await setPostponedUntil(tx, merchantId, recoveryCase.id, until);
    await enqueueCases(tx, merchantId, [recoveryCase.id], service.ports.newId());
    await audit(tx, service, merchantId, request, "recovery.postponed", { until });
    return { answer: { caseId: recoveryCase.id, until } };
  };
  return actOnOpenCase(service, merchantId, request, NOTHING_POSTPONED, act);
}

/** Why a request about an open case of Dunlin's would be refused now; null: it would not be. */
export interface RequestObstacles {
  retryNow: string | null;
  postpone: string | null;
}

/** Answers from what is stored now, and changes nothing. The requests check again. */
export async function findRequestObstacles(
  tx: Tx,
  merchantId: string,
  recoveryCase: Case,
  now: Date,
): Promise<RequestObstacles> {
  const merchant = (await findMerchant(tx, merchantId))!;
  const view = (await loadCases(tx, merchant, [recoveryCase])).view(recoveryCase);
  const { step, action } = stepRetryNow(view, now, () => recoveryCase.id, now);
  return {
    retryNow: action ? null : explainNoRetryNow(view, step),
    postpone: isRetryAwaited(view) ? AWAITED_REASON : null,
  };
}

/** `action`: the requested retry; undefined: none is possible. */
function stepRetryNow(view: LoadedCase, now: Date, newId: () => string, listedAt: Date) {
  const unpostponed = { ...view, case: { ...view.case, postponedUntil: null } };
  const step = stepCase({ ...unpostponed, isRetriedNow: true }, now, newId, NO_MODEL, listedAt);
  return { step, action: [...step.inserted, ...step.updated].find(isRequestedAt(now)) };
}

interface LockedCase {
  recoveryCase: Case;
  view: LoadedCase;
  now: Date;
  listedAt: Date;
}

/** `step`: as written, to be published after the commit. */
type ActOnCase<Result> = (
  tx: Tx,
  locked: LockedCase,
) => Promise<{ answer: Result | string; step?: Step; withdrawn?: string[] }>;

/** @param nothingDone  begins the message if there is no open case of Dunlin's */
async function actOnOpenCase<Result>(
  service: RecoveryRequests,
  merchantId: string,
  { invoiceId, caseId }: RecoveryRequest,
  nothingDone: string,
  act: ActOnCase<Result>,
): Promise<Result | string | null> {
  const { db, ports, traceparent } = service;
  const { answer, step, withdrawn } = await db.transaction(async (tx) => {
    // Waits for a running step, so that its events are seen too.
    const recoveryCase = await lockOpenCase(tx, merchantId, invoiceId);
    if (recoveryCase && caseId !== undefined && recoveryCase.id !== caseId)
      return { answer: `${nothingDone} ${FAILED_AGAIN_REASON}`, step: undefined, withdrawn: [] };
    if (recoveryCase?.arm !== "dunlin") {
      const reason = await explainNoOpenCase(tx, merchantId, invoiceId);
      return { answer: reason && `${nothingDone} ${reason}`, step: undefined, withdrawn: [] };
    }
    const listedAt = await advanceMerchantClock(tx, merchantId, ports.now());
    const now = ports.now();
    const merchant = (await findMerchant(tx, merchantId))!;
    const view = (await loadCases(tx, merchant, [recoveryCase])).view(recoveryCase);
    const acted = await act(tx, { recoveryCase, view, now, listedAt });
    if (traceparent && typeof acted.answer !== "string")
      await traceCasesOfInvoices(tx, merchantId, [{ id: invoiceId, traceparent }], now);
    return { step: undefined, withdrawn: [], ...acted };
  });
  if (step) publishSteps(service, merchantId, [step], withdrawn);
  return answer;
}

const isRequestedAt =
  (now: Date) =>
  ({ type, decidedAt }: RecoveryAction) =>
    type === "RETRY" && decidedAt === now;

function explainNoRetryNow(view: LoadedCase, { state, decision }: Step): string {
  if (state.endReason !== null) return describeEnd(state.endReason);
  if (view.merchant.webhookUrl === null) return "The merchant has no endpoint to which it could be sent.";
  if (decision) return decision.account.reasons.join(" ");
  const { unpaidAmount, conflict } = computeBalance(view.invoice, view.transactions);
  if (conflict) return "The facts about this invoice contradict each other.";
  if (unpaidAmount < view.merchant.smallestAmount)
    return "The amount left to pay is less than the smallest amount that this merchant retries.";
  return AWAITED_REASON;
}

const isRetryAwaited = ({ actions }: LoadedCase) =>
  actions.some((action) => action.type === "RETRY" && isAwaited(action));

function explainNotPostponable(
  view: LoadedCase,
  until: Date,
  now: Date,
  formatTime = (at: Date) => at.toISOString(),
): string | null {
  const { windowEndsAt } = view.case;
  if (until <= now) return "The time is over already.";
  if (until >= windowEndsAt)
    return `The recovery window ends on ${formatTime(windowEndsAt)}, before that time. To end recovery, stop it.`;
  return isRetryAwaited(view) ? AWAITED_REASON : null;
}

const audit = (
  tx: Tx,
  { ports }: RecoveryRequests,
  merchantId: string,
  { invoiceId, actor, reason }: RecoveryRequest,
  operation: string,
  details: Record<string, unknown> = {},
) =>
  writeAuditEntry(
    tx,
    merchantId,
    actor,
    { operation, object: invoiceId, details: { ...details, ...(reason && { reason }) } },
    ports,
  );

/** Null if there is no such invoice. */
async function explainNoOpenCase(tx: Tx, merchantId: string, invoiceId: string): Promise<string | null> {
  const latestCase = (await casesOfInvoice(tx, merchantId, invoiceId)).at(-1);
  if (latestCase) return explainNoRequest(latestCase) ?? "The case was only just opened. Try again.";
  return (await findInvoices(tx, merchantId, [invoiceId])).has(invoiceId) ? NEVER_IN_RECOVERY : null;
}

/** Returns why a case cannot be stopped; null if it can. */
export function explainNotStoppable(recoveryCase: Pick<Case, "arm" | "endReason">): string | null {
  const reason = explainNoRequest(recoveryCase);
  return reason && `${NOTHING_STOPPED} ${reason}`;
}

function explainNoRequest({ arm, endReason }: Pick<Case, "arm" | "endReason">): string | null {
  if (endReason !== null) return describeEnd(endReason);
  if (arm === "dunlin") return null;
  return arm === "shadow" ? SHADOW_ANSWER : HOLDOUT_ANSWER;
}

const describeEnd = (endReason: EndReason) => `The case ended already: ${END_REASON_WORDING[endReason]}`;

const NOTHING_STOPPED = "There is nothing to stop.";
const NOTHING_RETRIED = "No retry was requested.";
const NOTHING_POSTPONED = "Nothing was postponed.";
const AWAITED_REASON = "A retry was requested already, and its outcome is awaited.";
const FAILED_AGAIN_REASON =
  "The recovery that you saw is over, and the invoice has failed again since then. Check it again.";
