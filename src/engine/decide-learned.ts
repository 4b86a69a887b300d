import { DAY_MS } from "../domain/durations.ts";
import { type Alternatives, type BestTime, compareAlternatives, compareWithoutRetry } from "./alternatives.ts";
import { jitterMs, lastAttemptTime, MIN_GAP_MS } from "./candidate-times.ts";
import {
  type ChosenRetry,
  chooseRetry,
  earliestRetryTime,
  lastSlotTime,
  minWaitOf,
  type RetryContext,
} from "./choose-retry.ts";
import { decideStatic, MAX_LATENESS_MS } from "./decide-static.ts";
import {
  type DecisionContext,
  findQuietBefore,
  findWaitBefore,
  isSoonAfter,
  retriesLeftOf,
} from "./decision-context.ts";
import type { Decision } from "./decision-facts.ts";
import { giveUp } from "./give-up.ts";
import { SLOT_MS } from "./hour-slots.ts";
import { type CustomerHistory, inferPosterior } from "./infer-posterior.ts";
import type { CasePosterior } from "./learned/case-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { describeAwaitedInvoices, describeOutage, explainNoRetry, explainRetry } from "./learned-reasons.ts";
import { findNextInvoiceTime } from "./next-invoice.ts";
import { minGapIn } from "./plan-evaluator.ts";
import { buildRetryDecision, describeBudget, describeCardWait } from "./reasons.ts";
import { amountDueUsd, retryValueOf } from "./retry-value.ts";
import { findForbiddingRule } from "./rules/guard.ts";
import { findFillableLimits } from "./rules/plan-limits.ts";

export interface PolicyDecision {
  decision: Decision;
  /** False: rules and the decline reason decided alone. */
  isLearned: boolean;
  chosen: ChosenRetry | null;
  /** Alternatives, valued by the same model; null if the model chose no time. */
  outlook(): Alternatives | null;
}

const NO_OUTLOOK = () => null;

/**
 * The next action by the learned policy.
 *
 * The static policy decides if rules or declines leave no choice. Times are planned from the last attempt or the customer's last
 * other charge, not from `now`, so a time stays until it is reached or a fact changes.
 *
 * @see docs/engine-internals.md
 */
export function decideLearned(context: DecisionContext, history: CustomerHistory, model: LearnedModel): PolicyDecision {
  const { facts, now, issuerUpAt } = context;
  const byRules = { isLearned: false, chosen: null, outlook: NO_OUTLOOK };
  const isOver = now >= facts.windowEndsAt.getTime();
  if (isOver || context.isNewCard || giveUp(context) !== null) return { decision: decideStatic(context), ...byRules };

  const { posterior } = inferPosterior(model, history);
  const retryContext = retryContextOf(context, posterior);
  const afterOutage: RetryContext = { ...retryContext, allow: (at) => at >= issuerUpAt && retryContext.allow(at) };
  // A retry within the outage is better than none.
  const planned =
    (issuerUpAt > now && planRetry(model, posterior, afterOutage, now)) ||
    planRetry(model, posterior, retryContext, now);
  if (planned) {
    const { usedContext, chosen } = planned;
    return {
      decision: decideRetry(context, model, posterior, usedContext, chosen),
      isLearned: true,
      chosen,
      outlook: () => compareAlternatives(model, posterior, usedContext, chosen, now),
    };
  }
  const fallback = decideStatic(context);
  if (fallback.kind !== "retry") return { decision: fallback, ...byRules };
  const withoutRetry = compareWithoutRetry(model, posterior, retryContext, now);
  const decision = decideWithoutRetry(context, posterior, withoutRetry?.best ?? null);
  return { decision, isLearned: true, chosen: null, outlook: () => withoutRetry?.outlook ?? null };
}

const INVOICE_LATE_MS = DAY_MS;
/** Other cases may end without an attempt, which queues nothing. */
const OTHER_CASES_CHECK_MS = DAY_MS;

/** Waits for other invoices' news within the window, or for a requested card; otherwise stops. */
function decideWithoutRetry(context: DecisionContext, posterior: CasePosterior, best: BestTime | null): Decision {
  const { facts, now, locale } = context;
  const noRetryReasons = explainNoRetry(context, posterior, best);
  const invoiceAt = findNextInvoiceTime(facts.billed, now - INVOICE_LATE_MS);
  const isInTime = invoiceAt !== null && invoiceAt < facts.windowEndsAt.getTime();
  if (!isInTime && !facts.othersPlanned) {
    const waits = describeCardWait(context);
    if (waits) return { kind: "wait", reasons: [...noRetryReasons, waits] };
    return { kind: "stop", end: "hopeless", reasons: [...noRetryReasons, describeBudget(facts)] };
  }
  // Last, and without figures, which change each day.
  const reasons = [...noRetryReasons, describeAwaitedInvoices(isInTime ? invoiceAt : null, locale.zone)];
  return {
    kind: "wait",
    until: new Date(isInTime ? invoiceAt + INVOICE_LATE_MS : now + OTHER_CASES_CHECK_MS),
    reasons,
  };
}

function planRetry(model: LearnedModel, posterior: CasePosterior, retryContext: RetryContext, now: number) {
  const inTime = chooseRetry(model, posterior, retryContext);
  if (!inTime || !isMissed(inTime.at, retryContext, now))
    return inTime && { usedContext: retryContext, chosen: inTime };
  const usedContext = { ...retryContext, now };
  const chosen = chooseRetry(model, posterior, usedContext);
  return chosen && { usedContext, chosen };
}

/** Too long ago to make up for, or no longer allowed. */
function isMissed(at: number, { allow }: RetryContext, now: number): boolean {
  const late = now - at;
  return late > 0 && (late > MAX_LATENESS_MS || !allow(now));
}

function retryContextOf(context: DecisionContext, posterior: CasePosterior): RetryContext {
  const { facts, guard } = context;
  const dollars = amountDueUsd(facts.amount, facts.currency);
  // An unanswered request counts as an attempt.
  const now = Math.max(posterior.lastTriedAt, posterior.otherCharge?.at ?? 0, lastAttemptTime(facts));
  // Without retries left, no time is allowed, except minutes before a limit is certainly free.
  const retriesLeft = Math.max(1, retriesLeftOf(context).count);
  return {
    key: facts.caseId,
    now,
    windowEndsAt: facts.windowEndsAt.getTime(),
    windowMs: +facts.windowEndsAt - +facts.unpaidAt,
    retriesLeft,
    explores: facts.explores,
    allow: (at) => findForbiddingRule(guard, at) === null,
    isQuietHour: guard.quiet?.isQuietHour ?? null,
    limits: findFillableLimits(guard, now, retriesLeft),
    dollars,
    retryValue: retryValueOf(dollars, facts.unpaidAt.getTime()),
  };
}

function decideRetry(
  context: DecisionContext,
  model: LearnedModel,
  posterior: CasePosterior,
  retryContext: RetryContext,
  chosen: ChosenRetry,
): Decision {
  const { facts, guard, issuerUpAt, now } = context;
  // Keeps a bank from receiving an hour's retries at once.
  const jittered = chosen.at + jitterMs(facts);
  const isFree = jittered < facts.windowEndsAt.getTime() && findForbiddingRule(guard, jittered) === null;
  const at = Math.max(now, isFree ? jittered : chosen.at);
  const reasons = explainRetry(context, model, posterior, chosen, at);
  // A retry made up for at once comes because it was missed, not after a wait.
  const waitFrom =
    at > now ? Math.max(earliestRetryTime(posterior, retryContext), posterior.lastTriedAt + MIN_GAP_MS) : now;
  const wait = findWaitBefore(context, at, waitFrom);
  if (!wait && issuerUpAt > now && isSoonAfter(at, issuerUpAt)) reasons.push(describeOutage(context));
  const heldBackBy = wait ?? findQuietBefore(context, at, waitFrom);
  return buildRetryDecision(context, at, reasons, heldBackBy, countRetriesAfter(at, retryContext, posterior));
}

function countRetriesAfter(at: number, retryContext: RetryContext, posterior: CasePosterior): number {
  const gap = minWaitOf(posterior, retryContext);
  const span = lastSlotTime(retryContext) - at - gap;
  if (span < 0) return 0;
  const apart = Math.ceil(minGapIn(span, retryContext.retriesLeft - 1) / SLOT_MS) * SLOT_MS;
  return 1 + Math.floor(span / Math.max(gap, apart));
}
