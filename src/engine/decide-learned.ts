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

/** The decision of a policy, and what it was chosen from. */
export interface PolicyDecision {
  decision: Decision;
  /** Whether the model took part. Otherwise rules and the reason of the decline decided alone. */
  isLearned: boolean;
  /** Null if the model chose no time. */
  chosen: ChosenRetry | null;
  /** Returns what else could have been done, and its value by the same model; null if the model chose no time. */
  outlook(): Alternatives | null;
}

const NO_OUTLOOK = () => null;

/**
 * Returns the next action by the learned policy.
 *
 * The static policy decides if rules or declines leave no choice: stop, a request for a new card, or a retry with a new card. A
 * time is planned from the last attempt, or from the last charge of another invoice of the customer since, and not from `now`. So
 * it stays the same until it is reached or a fact changes.
 *
 * @param history  of the context; the learned policy needs it
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

/** The next invoice may come this much later than its period says. */
const INVOICE_LATE_MS = DAY_MS;
/** Another case may end without an attempt, which queues nothing, so cases that wait for it check each day. */
const OTHER_CASES_CHECK_MS = DAY_MS;

/**
 * Decides a case in which no retry is worth making now: waits for news of the customer's other invoices if any is due within the
 * window, or for a new card that was requested; otherwise stops.
 */
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

/** Returns the retry to make and the question it answers; null if none is worth making. */
function planRetry(learned: LearnedModel, belief: CasePosterior, question: RetryContext, now: number) {
  const inTime = chooseRetry(learned, belief, question);
  if (!inTime || !isMissed(inTime.at, question, now)) return inTime && { asked: question, chosen: inTime };
  const asked = { ...question, now };
  const chosen = chooseRetry(learned, belief, asked);
  return chosen && { asked, chosen };
}

/** Whether the time is too long ago to make up for at once, or no longer allowed. */
function isMissed(at: number, { allow }: RetryContext, now: number): boolean {
  const late = now - at;
  return late > 0 && (late > MAX_LATENESS_MS || !allow(now));
}

function retryContextOf(context: DecisionContext, belief: CasePosterior): RetryContext {
  const { facts, guard } = context;
  const dollars = amountDueUsd(facts.amount, facts.currency);
  // A request without an answer counts as an attempt.
  const now = Math.max(belief.lastTriedAt, belief.beside?.at ?? 0, lastAttemptTime(facts));
  // If the rules leave no retry, they allow no time either, except for the last minutes before a limit is certainly free.
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
  // A delay of some minutes, so that a bank does not receive all retries of an hour in the same second.
  const jittered = chosen.at + jitterMs(facts);
  const isFree = jittered < facts.windowEndsAt.getTime() && findForbiddingRule(guard, jittered) === null;
  const at = Math.max(now, isFree ? jittered : chosen.at);
  const reasons = explainRetry(context, learned, belief, chosen, at);
  // A retry that is made up for at once comes because it was missed, not because of a wait.
  const from = at > now ? Math.max(asked.now, belief.lastTriedAt + MIN_GAP_MS) : now;
  const wait = findWaitBefore(context, at, from);
  if (!wait && issuerUpAt > now && isSoonAfter(at, issuerUpAt)) reasons.push(describeOutage(context));
  return buildRetryDecision(context, at, reasons, wait, countRetriesAfter(at, asked, belief));
}

/** Returns how many retries fit after one at this time if it fails like the latest one. */
function countRetriesAfter(at: number, asked: RetryContext, belief: CasePosterior): number {
  const gap = minWaitAfter(belief);
  const span = lastSlotTime(asked) - at - gap;
  if (span < 0) return 0;
  const apart = Math.ceil(minGapIn(span, asked.triesLeft - 1) / SLOT_MS) * SLOT_MS;
  return 1 + Math.floor(span / Math.max(gap, apart));
}
