import { DAY_MS } from "../domain/durations.ts";
import type { Belief } from "../model/belief.ts";
import type { Learned } from "../model/learned.ts";
import { forbiddenAt } from "../rules/guard.ts";
import { fillable } from "../rules/plan-limits.ts";
import { apartIn } from "./board.ts";
import { type ChosenTry, chooseTry, gapAfter, lastOf, type TryQuestion } from "./choose-try.ts";
import { decide, LATE_MAX_MS } from "./decide.ts";
import { giveUp } from "./give-up.ts";
import { SLOT_MS } from "./hours.ts";
import type { Decision, Known } from "./known.ts";
import { billsAwaitedWords, outageWords, reasonsNotToTry, reasonsToTry } from "./learned-reasons.ts";
import { anchorOf, GAP_MIN_MS, jitterMs } from "./moments.ts";
import { nextBillAt } from "./next-bill.ts";
import { type BestMoment, type Outlook, outlookOf, outlookWithoutTry } from "./outlook.ts";
import { budgetWords, cardWaitWords, retryBecause } from "./reasons.ts";
import { type History, recall } from "./recall.ts";
import { isSoonAfter, type Situation, situationOf, triesLeftOf, waitBefore } from "./situation.ts";
import { dollarsDue, stakesOf } from "./stakes.ts";

/** A decision by the learned engine, with what it expected. */
export interface LearnedDecision {
  decision: Decision;
  situation: Situation;
  /** Whether what was learned took part; else rules and reasons decided alone. */
  isLearned: boolean;
  /** null where no moment was chosen by what was learned. */
  chosen: ChosenTry | null;
  /** What else could have been done; null as `chosen`. To be asked before the next decision is made. */
  outlook(): Outlook | null;
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
export function decideLearned(known: Known, history: History, learned: Learned, now: Date): LearnedDecision {
  const situation = situationOf(known, now);
  const isOver = now >= known.windowEndsAt;
  const byRules = { situation, isLearned: false, chosen: null, outlook: NO_OUTLOOK };
  if (isOver || situation.isNewCard || giveUp(situation) !== null) return { decision: decide(known, now), ...byRules };
  const { belief } = recall(learned, history);
  const question = questionOf(situation, belief);
  const { upAgainAt } = situation;
  const afterOutage: TryQuestion = { ...question, allow: (at) => at >= upAgainAt && question.allow(at) };
  // A bank that stays down until the window ends is tried all the same: it may be up by then.
  const next =
    (upAgainAt > now.getTime() && planned(learned, belief, afterOutage, now)) ||
    planned(learned, belief, question, now);
  if (next) {
    const { asked, chosen } = next;
    const outlook = () => outlookOf(learned, belief, asked, chosen, known.unpaidAt.getTime(), now.getTime());
    return { decision: retry(situation, learned, belief, asked, chosen), situation, isLearned: true, chosen, outlook };
  }
  const fallback = decide(known, now);
  if (fallback.kind !== "retry") return { decision: fallback, ...byRules };
  const least = outlookWithoutTry(learned, belief, question, known.unpaidAt.getTime(), now.getTime());
  const decision = withoutTry(situation, belief, least?.best ?? null);
  return { ...byRules, decision, isLearned: true, outlook: () => least?.outlook ?? null };
}

/** The next bill of a customer may come so much later than the ones before. */
const BILL_LATE_MS = DAY_MS;
/** Another case may end without an attempt, and nobody tells those that wait for it: they look each day. */
const OTHERS_LOOK_MS = DAY_MS;

/** No try is worth making by what is known now: wait for what comes of the customer's other bills, where some is to come within the window, or for another card that was asked for, else stop. */
function withoutTry(situation: Situation, belief: Belief, best: BestMoment | null): Decision {
  const { known, now, place } = situation;
  const said = reasonsNotToTry(situation, belief, best);
  const billAt = nextBillAt(known.billed, now - BILL_LATE_MS);
  const isInTime = billAt !== null && billAt < known.windowEndsAt.getTime();
  if (!isInTime && !known.othersPlanned) {
    const waits = cardWaitWords(situation);
    if (waits) return { kind: "wait", reasons: [...said, waits] };
    return { kind: "stop", end: "hopeless", reasons: [...said, budgetWords(known)] };
  }
  // What is waited for stands last, and without figures, which change each day.
  const reasons = [...said, billsAwaitedWords(isInTime ? billAt : null, place.zone)];
  return { kind: "wait", until: new Date(isInTime ? billAt + BILL_LATE_MS : now + OTHERS_LOOK_MS), reasons };
}

/** The try to be made and what was asked for it; null: none is worth making. */
function planned(learned: Learned, belief: Belief, question: TryQuestion, now: Date) {
  const inTime = chooseTry(learned, belief, question);
  if (!inTime || !isMissed(inTime.at, question, now)) return inTime && { asked: question, chosen: inTime };
  const asked = { ...question, now: now.getTime() };
  const chosen = chooseTry(learned, belief, asked);
  return chosen && { asked, chosen };
}

/** Too long ago to be made up for at once, or not allowed any more. */
function isMissed(at: number, { allow }: TryQuestion, now: Date): boolean {
  const late = now.getTime() - at;
  return late > 0 && (late > LATE_MAX_MS || !allow(now.getTime()));
}

function questionOf(situation: Situation, belief: Belief): TryQuestion {
  const { known, guard } = situation;
  const dollars = dollarsDue(known.amount, known.currency);
  // What was asked for and not answered was tried, as far as anybody knows.
  const now = Math.max(belief.lastTriedAt, belief.beside?.at ?? 0, anchorOf(known));
  // Where the rules leave room for none, they allow no moment either, but for the last minutes before a limit is free for sure.
  const left = Math.max(1, triesLeftOf(situation).count);
  return {
    key: known.caseId,
    now,
    windowEndsAt: known.windowEndsAt.getTime(),
    triesLeft: left,
    explores: known.explores,
    allow: (at) => forbiddenAt(guard, at) === null,
    limits: fillable(guard, now, left),
    dollars,
    stakes: stakesOf(dollars, known.unpaidAt.getTime()),
  };
}

function retry(
  situation: Situation,
  learned: Learned,
  belief: Belief,
  asked: TryQuestion,
  chosen: ChosenTry,
): Decision {
  const { known, guard, upAgainAt, now } = situation;
  // A few minutes, so that one bank does not get all tries of an hour in the same second.
  const jittered = chosen.at + jitterMs(known);
  const isFree = jittered < known.windowEndsAt.getTime() && forbiddenAt(guard, jittered) === null;
  const at = Math.max(now, isFree ? jittered : chosen.at);
  const reasons = reasonsToTry(situation, learned, belief, chosen, at);
  // A retry that is made up for at once comes because it was missed.
  const from = at > now ? Math.max(asked.now, belief.lastTriedAt + GAP_MIN_MS) : now;
  const wait = waitBefore(situation, at, from);
  if (!wait && upAgainAt > now && isSoonAfter(at, upAgainAt)) reasons.push(outageWords(situation));
  return retryBecause(situation, at, reasons, wait, roomAfter(at, asked, belief));
}

/** For how many tries there is time after one at a moment, should it fail as the latest one did: as far apart as they would be planned, from slot to slot. */
function roomAfter(at: number, asked: TryQuestion, belief: Belief): number {
  const gap = gapAfter(belief);
  const span = lastOf(asked) - at - gap;
  if (span < 0) return 0;
  const apart = Math.ceil(apartIn(span, asked.triesLeft - 1) / SLOT_MS) * SLOT_MS;
  return 1 + Math.floor(span / Math.max(gap, apart));
}
