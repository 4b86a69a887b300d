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
import { buildSituation, findWaitBefore, retriesLeftOf, type Situation } from "./situation.ts";

/**
 * A moment missed by no more than this is made up for at once; after longer the next good moment is waited for. Long
 * enough for a restart or a slow loop, short enough that a morning stays a day.
 */
export const MAX_LATENESS_MS = 3 * HOUR_MS;
/** With a new card: soon, but not while the customer may still be correcting it. */
const NEW_CARD_WAIT_MS = HOUR_MS;

/**
 * What to do next in a case by the static policy: fixed rules, and nothing learned.
 *
 * The tries left are spread evenly over the days left, each moved within half the gap to a moment that suits the
 * reason of the last decline. The rules of the networks go before everything: a moment they forbid is never chosen.
 * Pure: the same facts and the same `now` give the same decision, and a moment chosen once stays as long as it lies
 * ahead and the facts are the same.
 *
 * @see docs/guides/decisions.md
 */
export function decideStatic(known: DecisionFacts, now: Date): Decision {
  const situation = buildSituation(known, now);
  if (situation.now >= known.windowEndsAt.getTime())
    return { kind: "wait", reasons: ["The recovery window is over.", describeBudget(known)] };
  return giveUp(situation) ?? chooseNextRetry(situation);
}

/** The first good moment that no rule forbids. */
function chooseNextRetry(situation: Situation): Decision {
  const { known, now, guard, decline, isNewCard, place } = situation;
  const windowEnd = known.windowEndsAt.getTime();
  let refused: Ruling | null = null;
  // What kept the try from the moments before, unless one was missed: then it comes now because of that.
  let held: Ruling | null = null;
  let missed = false;
  const retryAt = (moment: CandidateTime, at: number): Decision | null => {
    if (at >= windowEnd) return null;
    const ruling = findForbiddingRule(guard, at);
    refused ??= ruling;
    if (ruling) return null;
    const wait = missed ? null : findWaitBefore(situation, at, lastAttemptTime(known) + MIN_GAP_MS);
    const said = joinSentences([
      isNewCard ? NEW_CARD_RETRY_REASON : describeDecline(decline, false),
      describeRenewal(known, decline),
    ]);
    const why = [said, explainTime(moment, at, place)];
    return buildRetryDecision(situation, at, why, held ?? wait, (windowEnd - at) / MIN_GAP_MS);
  };
  for (const moment of candidateTimes(situation)) {
    // One that is forbidden stays so when it is late: else the plan would move as time passes, and nothing else.
    const ruling = findForbiddingRule(guard, moment.at);
    refused ??= ruling;
    held ??= ruling;
    if (ruling) continue;
    if (moment.at < now) [missed, held] = [true, null];
    // A new card is tried at once however late it is: the hour hardly matters to it.
    const isLate = moment.why !== "new_card" && moment.at < now - MAX_LATENESS_MS;
    const decision = isLate ? null : retryAt(moment, Math.max(moment.at, now));
    if (decision) return decision;
  }
  const atOnce = missed ? retryAt({ at: now, why: "last_chance" }, now) : null;
  if (atOnce) return atOnce;
  const why = refused as Ruling | null;
  return {
    kind: "wait",
    reasons: [
      describeDecline(decline, isNewCard),
      why ? why.sentence : "No suitable moment is left.",
      `So nothing more is tried before the recovery window ends. ${describeBudget(known)}`,
    ],
  };
}

/** Good moments, best first, then later ones in order of time. All rest on facts alone, so they stay the same. */
function* candidateTimes(situation: Situation): Generator<CandidateTime> {
  const { known, guard, decline, isNewCard, place } = situation;
  const advised = guard.notBefore ? guard.notBefore.at + known.leadMs : 0;
  const span = retryIntervalOf(known, retriesLeftOf(situation).count, advised);
  const group = decline?.group ?? "UNKNOWN";
  let first: CandidateTime;
  if (isNewCard) first = newCardTime(known, span.windowEnd);
  else if (group === "ISSUER_DOWN" && isFirstOutage(known))
    first = { at: Math.max(lastAttemptTime(known) + MIN_GAP_MS, advised) + span.jitterMs, why: "outage" };
  else first = chooseBestTime(span, group, place);
  yield first;
  yield* laterTimes(span, first.at, group, place);
}

/** About an hour after the change; at once when the window ends before that. */
function newCardTime(known: DecisionFacts, windowEnd: number): CandidateTime {
  const changedAt = known.cardChangedAt!.getTime();
  const at = changedAt + NEW_CARD_WAIT_MS + jitterMs(known);
  return { at: at < windowEnd ? at : changedAt, why: "new_card" };
}

/** The latest try of the invoice met a fault at the bank, and the one before it did not. */
function isFirstOutage(known: DecisionFacts): boolean {
  const tries = known.ledger.filter((entry) => entry.onThisInvoice && entry.approved !== true);
  const [before, latest] = [tries.at(-2), tries.at(-1)];
  if (latest && +latest.at > +known.lastDecline!.at) return false;
  if (lastAttemptTime(known) - +known.lastDecline!.at > DAY_MS) return false;
  return !before?.codes || interpretDecline(before.codes, known).group !== "ISSUER_DOWN";
}
