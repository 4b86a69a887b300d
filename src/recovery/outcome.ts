import { DAY_MS } from "../domain/durations.ts";
import { type ActionStatus, OUTCOME_WAIT_MS, type RecoveryAction } from "../domain/recovery-action.ts";
import { isApproved } from "../domain/transaction.ts";
import type { ActionDelivery } from "../tables/recovery-actions.ts";
import type { TransactionFacts } from "../tables/transactions.ts";

/** A bank debit may stay pending for days. */
export const PENDING_OUTCOME_MS = 14 * DAY_MS;

export type DeliveredAction = RecoveryAction & ActionDelivery;

/**
 * Whether the action is on its way, also by replay, or waits for its outcome. An executed action is not awaited, answered or not.
 */
export const isAwaited = ({ decidedAt, status, delivery, executedAt }: DeliveredAction) =>
  decidedAt !== null &&
  executedAt === null &&
  (status === "SCHEDULED" || status === "SENT" || (delivery === "waiting" && status !== "CANCELED"));

/** Whether an undelivered event has become pointless. */
export const isStale = ({ status, delivery, executedAt }: DeliveredAction) =>
  delivery === "waiting" && (status === "CANCELED" || executedAt !== null);

/** The invoice's facts that decide its actions' outcomes. */
export interface PaymentFacts {
  /** Null while unpaid. */
  paidAt: Date | null;
  /** The latest version's `updatedAt`, if the invoice is unpaid. */
  unpaidAt: Date | null;
  /** Whether this attempt alone paid the invoice, in this case. */
  paidInFull(t: TransactionFacts): boolean;
  /** Oldest first. */
  transactions: readonly TransactionFacts[];
  /** Whether the case has ended. */
  ended: boolean;
}

/** An action's status by now. */
export interface Outcome {
  status: ActionStatus;
  transaction: TransactionFacts | null;
  /** Null if unknown. */
  attemptedAt: Date | null;
}

export const hasNamingAttempt = ({ id }: RecoveryAction, { transactions }: Pick<PaymentFacts, "transactions">) =>
  transactions.some((t) => t.recoveryActionId === id && isExecuted(t));

const isExecuted = (transaction: TransactionFacts) => isApproved(transaction) || transaction.state === "FAILED";

/**
 * Uses the facts alone.
 *
 * @param nextStart  first delivery attempt of the next retry, which owns all later transactions; null if none
 */
export function outcomeOf(action: DeliveredAction, facts: PaymentFacts, nextStart: Date | null, now: Date): Outcome {
  return action.type === "RETRY" ? retryOutcome(action, facts, nextStart, now) : cardChangeOutcome(action, facts, now);
}

type RequestedAction = Pick<DeliveredAction, "id" | "type" | "idealRetryTime" | "firstAttemptAt">;

/** Returns when time alone can change the outcome of a decided, unsettled action. */
export function outcomeDueAt(action: RequestedAction, facts: PaymentFacts, now: Date): Date {
  const deadline = addMs(action.idealRetryTime, OUTCOME_WAIT_MS[action.type]);
  if (deadline > now || !hasPending(action, facts)) return deadline;
  return addMs(action.idealRetryTime, PENDING_OUTCOME_MS);
}

/** Whether the action brought in the whole unpaid amount, or a part after which the rest was paid. */
export const recovers = (
  { status, transactionId }: RecoveryAction,
  { paidAt, transactions, paidInFull }: PaymentFacts,
) =>
  status === "SUCCEEDED" &&
  (paidAt !== null || transactionId === null || transactions.some((t) => t.id === transactionId && paidInFull(t)));

function retryOutcome(action: DeliveredAction, facts: PaymentFacts, nextStart: Date | null, now: Date): Outcome {
  const deadline = addMs(action.idealRetryTime, OUTCOME_WAIT_MS.RETRY);
  const started = action.firstAttemptAt;
  const isInTime = (at: Date) =>
    started !== null && at >= started && at <= deadline && (nextStart === null || at < nextStart);
  // A replay may still deliver an exhausted event.
  const isClosed =
    action.status === "EXPIRED" || (action.status === "DELIVERY_FAILED" && action.delivery !== "delivered");
  const byAttempt = outcomeByAttempts(action, facts, isClosed ? () => false : isInTime);
  if (byAttempt) return byAttempt;
  // A replay that was not delivered in time.
  const isOverdue = action.delivery === "waiting" && (now >= deadline || facts.ended);
  if (isClosed) return outcomeWithStatus(isOverdue ? "CANCELED" : action.status);
  const byPayment = outcomeByPayment(action, facts, deadline, isInTime);
  if (byPayment) return byPayment;
  if (action.status === "CANCELED" || action.delivery === "withdrawn") return outcomeWithStatus("CANCELED");
  if (action.delivery === "exhausted") return outcomeWithStatus("DELIVERY_FAILED");
  if (action.delivery === "waiting") return outcomeWithStatus(isOverdue ? "CANCELED" : "SCHEDULED");
  const { unpaidAt } = facts;
  if (unpaidAt && unpaidAt >= action.idealRetryTime && unpaidAt <= deadline) return outcomeWithStatus("FAILED");
  if (now < deadline) return outcomeWithStatus("SENT");
  return outcomeWithStatus(
    hasPending(action, facts) && now < addMs(action.idealRetryTime, PENDING_OUTCOME_MS) ? "SENT" : "EXPIRED",
  );
}

/** By attempts that name the action; if none does, by unnamed attempts in its time. */
function outcomeByAttempts(
  { id }: DeliveredAction,
  { transactions }: PaymentFacts,
  isInTime: (at: Date) => boolean,
): Outcome | null {
  const executed = transactions.filter(isExecuted);
  const namedAttempts = executed.filter((t) => t.recoveryActionId === id);
  // If a merchant names the action in some attempts, the unnamed ones belong to something else.
  const attempts =
    namedAttempts.length > 0
      ? namedAttempts
      : executed.filter((t) => t.recoveryActionId === undefined && t.initiator !== "CUSTOMER" && isInTime(t.createdAt));
  const success = attempts.find(isApproved);
  if (success) return outcomeOfTransaction("SUCCEEDED", success);
  const failure = attempts.at(-1);
  return failure ? outcomeOfTransaction("FAILED", failure) : null;
}

/** By how the invoice was paid. An earlier outcome stays, unless another charge paid the invoice. */
function outcomeByPayment(
  { status, firstAttemptAt: started }: DeliveredAction,
  { paidAt, paidInFull, transactions }: PaymentFacts,
  deadline: Date,
  isInTime: (at: Date) => boolean,
): Outcome | null {
  const isPaidByOther =
    paidAt !== null &&
    transactions.some(
      (t) =>
        paidInFull(t) && t.createdAt <= deadline && (t.initiator === "CUSTOMER" || t.recoveryActionId !== undefined),
    );
  if (paidAt && isInTime(paidAt) && !isPaidByOther) return { ...outcomeWithStatus("SUCCEEDED"), attemptedAt: paidAt };
  if (status === "FAILED" || (status === "SUCCEEDED" && !isPaidByOther)) return outcomeWithStatus(status);
  if (isPaidByOther || (paidAt && (started === null || paidAt < started))) return outcomeWithStatus("CANCELED");
  return null;
}

function cardChangeOutcome(action: DeliveredAction, facts: PaymentFacts, now: Date): Outcome {
  const { paidAt, ended, transactions } = facts;
  const namedPayment = transactions.find((t) => t.recoveryActionId === action.id && isApproved(t));
  if (namedPayment) return outcomeOfTransaction("SUCCEEDED", namedPayment);
  const started = action.firstAttemptAt;
  const deadline = addMs(action.idealRetryTime, OUTCOME_WAIT_MS.CARD_CHANGE);
  const isOverdue = action.delivery === "waiting" && (now >= deadline || ended);
  if (action.status === "EXPIRED" || action.status === "SUCCEEDED") return outcomeWithStatus(action.status);
  if (action.status === "DELIVERY_FAILED" && action.delivery !== "delivered")
    return outcomeWithStatus(isOverdue ? "CANCELED" : action.status);
  if (paidAt && started && paidAt >= started && paidAt <= deadline)
    return { ...outcomeWithStatus("SUCCEEDED"), attemptedAt: paidAt };
  if (paidAt && (started === null || paidAt < started)) return outcomeWithStatus("CANCELED");
  if (action.status === "CANCELED" || action.delivery === "withdrawn") return outcomeWithStatus("CANCELED");
  if (action.delivery === "exhausted") return outcomeWithStatus("DELIVERY_FAILED");
  if (action.delivery === "waiting") return outcomeWithStatus(isOverdue ? "CANCELED" : "SCHEDULED");
  return outcomeWithStatus(now >= deadline ? "EXPIRED" : "SENT");
}

const hasPending = ({ id, firstAttemptAt }: RequestedAction, facts: PaymentFacts) =>
  facts.transactions.some(
    (t) =>
      t.state === "PENDING" &&
      (t.recoveryActionId === id ||
        (t.recoveryActionId === undefined && firstAttemptAt !== null && t.createdAt >= firstAttemptAt)),
  );

const outcomeWithStatus = (status: ActionStatus): Outcome => ({ status, transaction: null, attemptedAt: null });
const outcomeOfTransaction = (status: ActionStatus, transaction: TransactionFacts): Outcome => ({
  status,
  transaction,
  attemptedAt: transaction.createdAt,
});
const addMs = (at: Date, ms: number) => new Date(at.getTime() + ms);
