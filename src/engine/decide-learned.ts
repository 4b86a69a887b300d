import { DAY_MS } from "../domain/durations.ts";
import { type Alternatives, type BestTime, compareAlternatives, compareWithoutRetry } from "./alternatives.ts";
import { jitterMs, lastAttemptTime, MIN_GAP_MS } from "./candidate-times.ts";
import { type ChosenRetry, chooseRetry, lastSlotTime, minWaitAfter, type RetryContext } from "./choose-retry.ts";
import { decideStatic, MAX_LATENESS_MS } from "./decide-static.ts";
import { type DecisionContext, findWaitBefore, isSoonAfter, retriesLeftOf } from "./decision-context.ts";
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
  /** Returns what else could have been done, valued by the same model; null if the model chose no time. */
  outlook(): Alternatives | null;
}

const NO_OUTLOOK = () => null;

/**
 * Returns the next action by the learned policy.
 *
 * The static policy decides if rules or declines leave no choice: a stop, a card request, or a retry with a new card. Times are
 * planned from the last attempt or the customer's last other charge since, not from `now`: a time stays until it is reached or a
 * fact changes.
 *
 * @see docs/engine-internals.md
 */
export function decideLearned(
  context: DecisionContext,
  history: CustomerHistory,
  learned: LearnedModel,
): PolicyDecision {
  const { facts, now, issuerUpAt } = context;
  const byRules = { isLearned: false, chosen: null, outlook: NO_OUTLOOK };
  const isOver = now >= facts.windowEndsAt.getTime();
  if (isOver || context.isNewCard || giveUp(context) !== null) return { decision: decideStatic(context), ...byRules };

  const { belief } = inferPosterior(learned, history);
  const question = retryContextOf(context, belief);
  const afterOutage: RetryContext = { ...question, allow: (at) => at >= issuerUpAt && question.allow(at) };
  // If the issuer stays down until the window ends, a retry within the outage is better than none.
  const next =
    (issuerUpAt > now && planRetry(learned, belief, afterOutage, now)) || planRetry(learned, belief, question, now);
  const unpaidAt = facts.unpaidAt.getTime();
  if (next) {
    const { asked, chosen } = next;
    return {
      decision: decideRetry(context, learned, belief, asked, chosen),
      isLearned: true,
      chosen,
      outlook: () => compareAlternatives(learned, belief, asked, chosen, unpaidAt, now),
    };
  }
  const fallback = decideStatic(context);
  if (fallback.kind !== "retry") return { decision: fallback, ...byRules };
  const least = compareWithoutRetry(learned, belief, question, unpaidAt, now);
  const decision = decideWithoutRetry(context, belief, least?.best ?? null);
  return { decision, isLearned: true, chosen: null, outlook: () => least?.outlook ?? null };
}

/** How late the next invoice may come. */
const INVOICE_LATE_MS = DAY_MS;
/** Another case may end without an attempt, which queues nothing. */
const OTHER_CASES_CHECK_MS = DAY_MS;

/** Waits for news of the customer's other invoices if due within the window, or for a requested card; otherwise stops. */
function decideWithoutRetry(context: DecisionContext, belief: CasePosterior, best: BestTime | null): Decision {
  const { facts, now, locale } = context;
  const said = explainNoRetry(context, belief, best);
  const billAt = findNextInvoiceTime(facts.billed, now - INVOICE_LATE_MS);
  const isInTime = billAt !== null && billAt < facts.windowEndsAt.getTime();
  if (!isInTime && !facts.othersPlanned) {
    const waits = describeCardWait(context);
    if (waits) return { kind: "wait", reasons: [...said, waits] };
    return { kind: "stop", end: "hopeless", reasons: [...said, describeBudget(facts)] };
  }
  // The awaited news comes last, and without figures, which change each day.
  const reasons = [...said, describeAwaitedInvoices(isInTime ? billAt : null, locale.zone)];
  return { kind: "wait", until: new Date(isInTime ? billAt + INVOICE_LATE_MS : now + OTHER_CASES_CHECK_MS), reasons };
}

function planRetry(learned: LearnedModel, belief: CasePosterior, question: RetryContext, now: number) {
  const inTime = chooseRetry(learned, belief, question);
  if (!inTime || !isMissed(inTime.at, question, now)) return inTime && { asked: question, chosen: inTime };
  const asked = { ...question, now };
  const chosen = chooseRetry(learned, belief, asked);
  return chosen && { asked, chosen };
}

/** Whether the time is too long ago to make up for, or no longer allowed. */
function isMissed(at: number, { allow }: RetryContext, now: number): boolean {
  const late = now - at;
  return late > 0 && (late > MAX_LATENESS_MS || !allow(now));
}

function retryContextOf(context: DecisionContext, belief: CasePosterior): RetryContext {
  const { facts, guard } = context;
  const dollars = amountDueUsd(facts.amount, facts.currency);
  // An unanswered request counts as an attempt.
  const now = Math.max(belief.lastTriedAt, belief.beside?.at ?? 0, lastAttemptTime(facts));
  // Without retries left, no time is allowed either, except the last minutes before a limit is certainly free.
  const left = Math.max(1, retriesLeftOf(context).count);
  return {
    key: facts.caseId,
    now,
    windowEndsAt: facts.windowEndsAt.getTime(),
    triesLeft: left,
    explores: facts.explores,
    allow: (at) => findForbiddingRule(guard, at) === null,
    limits: findFillableLimits(guard, now, left),
    dollars,
    stakes: retryValueOf(dollars, facts.unpaidAt.getTime()),
  };
}

function decideRetry(
  context: DecisionContext,
  learned: LearnedModel,
  belief: CasePosterior,
  asked: RetryContext,
  chosen: ChosenRetry,
): Decision {
  const { facts, guard, issuerUpAt, now } = context;
  // Keeps a bank from receiving an hour's retries in the same second.
  const jittered = chosen.at + jitterMs(facts);
  const isFree = jittered < facts.windowEndsAt.getTime() && findForbiddingRule(guard, jittered) === null;
  const at = Math.max(now, isFree ? jittered : chosen.at);
  const reasons = explainRetry(context, learned, belief, chosen, at);
  // A retry made up for at once comes because it was missed, not because of a wait.
  const from = at > now ? Math.max(asked.now, belief.lastTriedAt + MIN_GAP_MS) : now;
  const wait = findWaitBefore(context, at, from);
  if (!wait && issuerUpAt > now && isSoonAfter(at, issuerUpAt)) reasons.push(describeOutage(context));
  return buildRetryDecision(context, at, reasons, wait, countRetriesAfter(at, asked, belief));
}

/** Assumes that the retry fails like the latest one. */
function countRetriesAfter(at: number, asked: RetryContext, belief: CasePosterior): number {
  const gap = minWaitAfter(belief);
  const span = lastSlotTime(asked) - at - gap;
  if (span < 0) return 0;
  const apart = Math.ceil(minGapIn(span, asked.triesLeft - 1) / SLOT_MS) * SLOT_MS;
  return 1 + Math.floor(span / Math.max(gap, apart));
}
