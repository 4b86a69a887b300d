import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { readDecline } from "../rules/decline-group.ts";
import { forbiddenAt } from "../rules/guard.ts";
import type { Ruling } from "../rules/ledger.ts";
import { giveUp } from "./give-up.ts";
import type { Decision, Known } from "./known.ts";
import { anchorOf, firstMoment, GAP_MIN_MS, jitterMs, laterMoments, type Moment, spanOf } from "./moments.ts";
import {
  budgetWords,
  declineWords,
  joined,
  momentReason,
  NEW_CARD_TRIED,
  renewalWords,
  retryBecause,
} from "./reasons.ts";
import { type Situation, situationOf, triesLeftOf, waitBefore } from "./situation.ts";

/**
 * A moment missed by no more than this is made up for at once; after longer the next good moment is waited for. Long
 * enough for a restart or a slow loop, short enough that a morning stays a day.
 */
export const LATE_MAX_MS = 3 * HOUR_MS;
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
export function decide(known: Known, now: Date): Decision {
  const situation = situationOf(known, now);
  if (situation.now >= known.windowEndsAt.getTime())
    return { kind: "wait", reasons: ["The recovery window is over.", budgetWords(known)] };
  return giveUp(situation) ?? nextTry(situation);
}

/** The first good moment that no rule forbids. */
function nextTry(situation: Situation): Decision {
  const { known, now, guard, decline, isNewCard, place } = situation;
  const windowEnd = known.windowEndsAt.getTime();
  let refused: Ruling | null = null;
  // What kept the try from the moments before, unless one was missed: then it comes now because of that.
  let held: Ruling | null = null;
  let missed = false;
  const retryAt = (moment: Moment, at: number): Decision | null => {
    if (at >= windowEnd) return null;
    const ruling = forbiddenAt(guard, at);
    refused ??= ruling;
    if (ruling) return null;
    const wait = missed ? null : waitBefore(situation, at, anchorOf(known) + GAP_MIN_MS);
    const said = joined([isNewCard ? NEW_CARD_TRIED : declineWords(decline, false), renewalWords(known, decline)]);
    const why = [said, momentReason(moment, at, place)];
    return retryBecause(situation, at, why, held ?? wait, (windowEnd - at) / GAP_MIN_MS);
  };
  for (const moment of moments(situation)) {
    // One that is forbidden stays so when it is late: else the plan would move as time passes, and nothing else.
    const ruling = forbiddenAt(guard, moment.at);
    refused ??= ruling;
    held ??= ruling;
    if (ruling) continue;
    if (moment.at < now) [missed, held] = [true, null];
    // A new card is tried at once however late it is: the hour hardly matters to it.
    const isLate = moment.why !== "new_card" && moment.at < now - LATE_MAX_MS;
    const decision = isLate ? null : retryAt(moment, Math.max(moment.at, now));
    if (decision) return decision;
  }
  const atOnce = missed ? retryAt({ at: now, why: "last_chance" }, now) : null;
  if (atOnce) return atOnce;
  const why = refused as Ruling | null;
  return {
    kind: "wait",
    reasons: [
      declineWords(decline, isNewCard),
      why ? why.sentence : "No suitable moment is left.",
      `So nothing more is tried before the recovery window ends. ${budgetWords(known)}`,
    ],
  };
}

/** Good moments, best first, then later ones in order of time. All rest on facts alone, so they stay the same. */
function* moments(situation: Situation): Generator<Moment> {
  const { known, guard, decline, isNewCard, place } = situation;
  const advised = guard.notBefore ? guard.notBefore.at + known.leadMs : 0;
  const span = spanOf(known, triesLeftOf(situation).count, advised);
  const group = decline?.group ?? "UNKNOWN";
  let first: Moment;
  if (isNewCard) first = newCardMoment(known, span.windowEnd);
  else if (group === "ISSUER_DOWN" && isFirstOutage(known))
    first = { at: Math.max(anchorOf(known) + GAP_MIN_MS, advised) + span.jitterMs, why: "outage" };
  else first = firstMoment(span, group, place);
  yield first;
  yield* laterMoments(span, first.at, group, place);
}

/** About an hour after the change; at once when the window ends before that. */
function newCardMoment(known: Known, windowEnd: number): Moment {
  const changedAt = known.cardChangedAt!.getTime();
  const at = changedAt + NEW_CARD_WAIT_MS + jitterMs(known);
  return { at: at < windowEnd ? at : changedAt, why: "new_card" };
}

/** The latest try of the invoice met a fault at the bank, and the one before it did not. */
function isFirstOutage(known: Known): boolean {
  const tries = known.ledger.filter((entry) => entry.onThisInvoice && entry.approved !== true);
  const [before, latest] = [tries.at(-2), tries.at(-1)];
  if (latest && +latest.at > +known.lastDecline!.at) return false;
  if (anchorOf(known) - +known.lastDecline!.at > DAY_MS) return false;
  return !before?.codes || readDecline(before.codes, known).group !== "ISSUER_DOWN";
}
