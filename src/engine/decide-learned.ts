import { DAY_MS } from "../domain/durations.ts";
import { type Alternatives, type BestTime, compareAlternatives, compareWithoutRetry } from "./alternatives.ts";
import { jitterMs, lastAttemptTime, MIN_GAP_MS } from "./candidate-times.ts";
import { type ChosenRetry, chooseRetry, lastSlotTime, minWaitAfter, type RetryContext } from "./choose-retry.ts";
import { decideStatic, MAX_LATENESS_MS } from "./decide-static.ts";
import type { Decision, DecisionFacts } from "./decision-facts.ts";
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
import { buildSituation, findWaitBefore, isSoonAfter, retriesLeftOf, type Situation } from "./situation.ts";

/** A decision by the learned engine, with what it expected. */
export interface LearnedDecision {
  decision: Decision;
  situation: Situation;
  /** Whether what was learned took part; else rules and reasons decided alone. */
  isLearned: boolean;
  /** null where no moment was chosen by what was learned. */
  chosen: ChosenRetry | null;
  /** What else could have been done; null as `chosen`. To be asked before the next decision is made. */
  outlook(): Alternatives | null;
}

const NO_OUTLOOK = () => null;

/**
 * Returns the next action in a case, by the learned model: the signature of `decide`, and two arguments more.
 *
 * Whatever rules and reasons decide alone (stop, another card, a new card) stays with `decide`. A moment is planned from
 * the last try on, or the last charge of another bill of the customer since, not from `now`, so it stays the same until it is reached or a fact changes.
 *
 * @see docs/guides/engine.md
 */
export function decideLearned(
  known: DecisionFacts,
  history: CustomerHistory,
  learned: LearnedModel,
  now: Date,
): LearnedDecision {
  const situation = buildSituation(known, now);
  const isOver = now >= known.windowEndsAt;
  const byRules = { situation, isLearned: false, chosen: null, outlook: NO_OUTLOOK };
  if (isOver || situation.isNewCard || giveUp(situation) !== null)
    return { decision: decideStatic(known, now), ...byRules };
  const { belief } = inferPosterior(learned, history);
  const question = retryContextOf(situation, belief);
  const { upAgainAt } = situation;
  const afterOutage: RetryContext = { ...question, allow: (at) => at >= upAgainAt && question.allow(at) };
  // A bank that stays down until the window ends is tried all the same: it may be up by then.
  const next =
    (upAgainAt > now.getTime() && planRetry(learned, belief, afterOutage, now)) ||
    planRetry(learned, belief, question, now);
  if (next) {
    const { asked, chosen } = next;
    const outlook = () => compareAlternatives(learned, belief, asked, chosen, known.unpaidAt.getTime(), now.getTime());
    return {
      decision: decideRetry(situation, learned, belief, asked, chosen),
      situation,
      isLearned: true,
      chosen,
      outlook,
    };
  }
  const fallback = decideStatic(known, now);
  if (fallback.kind !== "retry") return { decision: fallback, ...byRules };
  const least = compareWithoutRetry(learned, belief, question, known.unpaidAt.getTime(), now.getTime());
  const decision = decideWithoutRetry(situation, belief, least?.best ?? null);
  return { ...byRules, decision, isLearned: true, outlook: () => least?.outlook ?? null };
}

/** The next bill of a customer may come so much later than the ones before. */
const INVOICE_LATE_MS = DAY_MS;
/** Another case may end without an attempt, and nobody tells those that wait for it: they look each day. */
const OTHER_CASES_CHECK_MS = DAY_MS;

/** No try is worth making by what is known now: wait for what comes of the customer's other bills, where some is to come within the window, or for another card that was asked for, else stop. */
function decideWithoutRetry(situation: Situation, belief: CasePosterior, best: BestTime | null): Decision {
  const { known, now, place } = situation;
  const said = explainNoRetry(situation, belief, best);
  const billAt = findNextInvoiceTime(known.billed, now - INVOICE_LATE_MS);
  const isInTime = billAt !== null && billAt < known.windowEndsAt.getTime();
  if (!isInTime && !known.othersPlanned) {
    const waits = describeCardWait(situation);
    if (waits) return { kind: "wait", reasons: [...said, waits] };
    return { kind: "stop", end: "hopeless", reasons: [...said, describeBudget(known)] };
  }
  // What is waited for stands last, and without figures, which change each day.
  const reasons = [...said, describeAwaitedInvoices(isInTime ? billAt : null, place.zone)];
  return { kind: "wait", until: new Date(isInTime ? billAt + INVOICE_LATE_MS : now + OTHER_CASES_CHECK_MS), reasons };
}

/** The try to be made and what was asked for it; null: none is worth making. */
function planRetry(learned: LearnedModel, belief: CasePosterior, question: RetryContext, now: Date) {
  const inTime = chooseRetry(learned, belief, question);
  if (!inTime || !isMissed(inTime.at, question, now)) return inTime && { asked: question, chosen: inTime };
  const asked = { ...question, now: now.getTime() };
  const chosen = chooseRetry(learned, belief, asked);
  return chosen && { asked, chosen };
}

/** Too long ago to be made up for at once, or not allowed any more. */
function isMissed(at: number, { allow }: RetryContext, now: Date): boolean {
  const late = now.getTime() - at;
  return late > 0 && (late > MAX_LATENESS_MS || !allow(now.getTime()));
}

function retryContextOf(situation: Situation, belief: CasePosterior): RetryContext {
  const { known, guard } = situation;
  const dollars = amountDueUsd(known.amount, known.currency);
  // What was asked for and not answered was tried, as far as anybody knows.
  const now = Math.max(belief.lastTriedAt, belief.beside?.at ?? 0, lastAttemptTime(known));
  // Where the rules leave room for none, they allow no moment either, but for the last minutes before a limit is free for sure.
  const left = Math.max(1, retriesLeftOf(situation).count);
  return {
    key: known.caseId,
    now,
    windowEndsAt: known.windowEndsAt.getTime(),
    triesLeft: left,
    explores: known.explores,
    allow: (at) => findForbiddingRule(guard, at) === null,
    limits: findFillableLimits(guard, now, left),
    dollars,
    stakes: retryValueOf(dollars, known.unpaidAt.getTime()),
  };
}

function decideRetry(
  situation: Situation,
  learned: LearnedModel,
  belief: CasePosterior,
  asked: RetryContext,
  chosen: ChosenRetry,
): Decision {
  const { known, guard, upAgainAt, now } = situation;
  // A few minutes, so that one bank does not get all tries of an hour in the same second.
  const jittered = chosen.at + jitterMs(known);
  const isFree = jittered < known.windowEndsAt.getTime() && findForbiddingRule(guard, jittered) === null;
  const at = Math.max(now, isFree ? jittered : chosen.at);
  const reasons = explainRetry(situation, learned, belief, chosen, at);
  // A retry that is made up for at once comes because it was missed.
  const from = at > now ? Math.max(asked.now, belief.lastTriedAt + MIN_GAP_MS) : now;
  const wait = findWaitBefore(situation, at, from);
  if (!wait && upAgainAt > now && isSoonAfter(at, upAgainAt)) reasons.push(describeOutage(situation));
  return buildRetryDecision(situation, at, reasons, wait, countRetriesAfter(at, asked, belief));
}

/** For how many tries there is time after one at a moment, should it fail as the latest one did: as far apart as they would be planned, from slot to slot. */
function countRetriesAfter(at: number, asked: RetryContext, belief: CasePosterior): number {
  const gap = minWaitAfter(belief);
  const span = lastSlotTime(asked) - at - gap;
  if (span < 0) return 0;
  const apart = Math.ceil(minGapIn(span, asked.triesLeft - 1) / SLOT_MS) * SLOT_MS;
  return 1 + Math.floor(span / Math.max(gap, apart));
}
