import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import {
  type CandidateTime,
  chooseBestTime,
  jitterMs,
  lastAttemptTime,
  laterTimes,
  MIN_GAP_MS,
  retryIntervalOf,
} from "./candidate-times.ts";
import { type DecisionContext, findWaitBefore, retriesLeftOf } from "./decision-context.ts";
import type { Decision, DecisionFacts } from "./decision-facts.ts";
import { giveUp } from "./give-up.ts";
import {
  buildRetryDecision,
  describeBudget,
  describeDecline,
  describeRenewal,
  explainTime,
  joinSentences,
  NEW_CARD_RETRY_REASON,
} from "./reasons.ts";
import type { Ruling } from "./rules/attempt-ledger.ts";
import { findForbiddingRule } from "./rules/guard.ts";
import { interpretDecline } from "./rules/interpret-decline.ts";

/** Long enough for a restart or a slow loop, short enough that a morning stays the same day. */
export const MAX_LATENESS_MS = 3 * HOUR_MS;
/** The customer may still be correcting the new card. */
const NEW_CARD_WAIT_MS = HOUR_MS;

/**
 * The next action by fixed rules: the same facts give the same time until it has passed.
 *
 * @see docs/guides/decisions.md
 */
export function decideStatic(context: DecisionContext): Decision {
  const { facts, now } = context;
  if (now >= facts.windowEndsAt.getTime())
    return { kind: "wait", reasons: ["The recovery window is over.", describeBudget(facts)] };
  return giveUp(context) ?? chooseNextRetry(context);
}

function chooseNextRetry(context: DecisionContext): Decision {
  const { facts, now, guard, decline, isNewCard, locale } = context;
  const windowEnd = facts.windowEndsAt.getTime();
  let forbiddingRule: Ruling | null = null;
  // Held the retry back. Cleared by a missed time, because then the retry comes now.
  let heldBackBy: Ruling | null = null;
  let missed = false;
  const retryAt = (candidate: CandidateTime, at: number): Decision | null => {
    if (at >= windowEnd) return null;
    const ruling = findForbiddingRule(guard, at);
    forbiddingRule ??= ruling;
    if (ruling) return null;
    const wait = missed ? null : findWaitBefore(context, at, lastAttemptTime(facts) + MIN_GAP_MS);
    const declineText = joinSentences([
      isNewCard ? NEW_CARD_RETRY_REASON : describeDecline(decline, false),
      describeRenewal(facts, decline),
    ]);
    const reasons = [declineText, explainTime(candidate, at, locale)];
    return buildRetryDecision(context, at, reasons, heldBackBy ?? wait, (windowEnd - at) / MIN_GAP_MS);
  };
  for (const candidate of candidateTimes(context)) {
    // A forbidden time stays forbidden when late, or the plan would move as time passes.
    const ruling = findForbiddingRule(guard, candidate.at);
    forbiddingRule ??= ruling;
    heldBackBy ??= ruling;
    if (ruling) continue;
    if (candidate.at < now) [missed, heldBackBy] = [true, null];
    // However late: the hour hardly matters.
    const isLate = candidate.why !== "new_card" && candidate.at < now - MAX_LATENESS_MS;
    const decision = isLate ? null : retryAt(candidate, Math.max(candidate.at, now));
    if (decision) return decision;
  }
  const atOnce = missed ? retryAt({ at: now, why: "last_chance" }, now) : null;
  if (atOnce) return atOnce;
  const finalRuling = forbiddingRule as Ruling | null;
  return {
    kind: "wait",
    reasons: [
      describeDecline(decline, isNewCard),
      finalRuling ? finalRuling.sentence : "No suitable time is left.",
      `So no more retries are planned before the recovery window ends. ${describeBudget(facts)}`,
    ],
  };
}

/** Best first, then later ones in order, from facts alone. */
function* candidateTimes(context: DecisionContext): Generator<CandidateTime> {
  const { facts, guard, decline, isNewCard, locale } = context;
  const advised = guard.notBefore ? guard.notBefore.at + facts.leadMs : 0;
  const span = retryIntervalOf(facts, retriesLeftOf(context).count, advised);
  const group = decline?.group ?? "UNKNOWN";
  let first: CandidateTime;
  if (isNewCard) first = newCardTime(facts, span.windowEnd);
  else if (group === "ISSUER_DOWN" && isFirstOutage(facts))
    first = { at: Math.max(lastAttemptTime(facts) + MIN_GAP_MS, advised) + span.jitterMs, why: "outage" };
  else first = chooseBestTime(span, group, locale);
  yield* withLaterHours(first, context);
  for (const time of laterTimes(span, first.at, group, locale)) yield* withLaterHours(time, context);
}

/** After a time in a quiet hour, also the next hour that is not quiet. */
function* withLaterHours(time: CandidateTime, { guard: { quiet } }: DecisionContext): Generator<CandidateTime> {
  yield time;
  if (!quiet?.isQuietHour(time.at)) return;
  for (let at = time.at + HOUR_MS; at <= time.at + DAY_MS; at += HOUR_MS)
    if (!quiet.isQuietHour(at)) return yield { at, why: "after_quiet" };
}

/** Now if the window would end before. */
function newCardTime(facts: DecisionFacts, windowEnd: number): CandidateTime {
  const changedAt = facts.cardChangedAt!.getTime();
  const at = changedAt + NEW_CARD_WAIT_MS + jitterMs(facts);
  return { at: at < windowEnd ? at : changedAt, why: "new_card" };
}

/** The latest attempt met a bank fault and the one before did not. */
function isFirstOutage(facts: DecisionFacts): boolean {
  const attempts = facts.ledger.filter((entry) => entry.onThisInvoice && entry.approved !== true);
  const [before, latest] = [attempts.at(-2), attempts.at(-1)];
  if (latest && +latest.at > +facts.lastDecline!.at) return false;
  if (lastAttemptTime(facts) - +facts.lastDecline!.at > DAY_MS) return false;
  return !before?.codes || interpretDecline(before.codes, facts).group !== "ISSUER_DOWN";
}
