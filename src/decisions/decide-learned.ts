import { DAY_MS } from "../domain/durations.ts";
import { type Belief, kindsOf } from "../model/belief.ts";
import { AT_ONCE, judgedOn } from "../model/booking.ts";
import { dateOf } from "../model/calendar.ts";
import { cellSteps } from "../model/dates.ts";
import { FAMILIES, familyOfKind, KINDS } from "../model/explanations.ts";
import { classOf, dateCellWeight } from "../model/layout.ts";
import type { Learned } from "../model/learned.ts";
import { CYCLES, PAY_CYCLES } from "../model/pay-cycles.ts";
import { forbiddenAt } from "../rules/guard.ts";
import { fillable } from "../rules/plan-limits.ts";
import { type ChosenTry, chooseTry, gapAfter, lastOf, type TryQuestion } from "./choose-try.ts";
import { decide, LATE_MAX_MS } from "./decide.ts";
import { giveUp } from "./give-up.ts";
import type { Decision, Known } from "./known.ts";
import { addDays, dayWords, localDay, momentWords, type Zone } from "./local-time.ts";
import { nextBillAt } from "./next-bill.ts";
import { type BestMoment, type Outlook, outlookOf, outlookWithoutTry } from "./outlook.ts";
import { budgetWords, cardWaitWords, declineWords, joined, renewalWords, retryBecause } from "./reasons.ts";
import { type History, recall } from "./recall.ts";
import { percent } from "./shares.ts";
import { isSoonAfter, type Situation, situationOf, triesLeftOf, waitBefore } from "./situation.ts";
import { anchorOf, GAP_MIN_MS, jitterMs } from "./spread.ts";
import { COST_WORDS, dollarsDue, stakesOf } from "./stakes.ts";

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
 * What to do next in a case, by what was learned: the signature of `decide`, and two arguments more.
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
  const decision = withoutTry(situation, belief, least && bestWords(least.best, situation.place.zone));
  return { ...byRules, decision, isLearned: true, outlook: () => least?.outlook ?? null };
}

const NOT_WORTH = "No further try is likely enough to succeed to be worth making";
const NO_MOMENT =
  "No moment that could be chosen is left before the recovery window ends: none is weighed within two hours of the last try, or twenty where the card itself or a confirmation is missing.";

/** What is lacking: how likely the best moment is, and how likely it had to be. Rounded so that the two never look the other way round. */
function bestWords({ at, chance, cost, mustBring, worthFrom }: BestMoment, zone: Zone): string {
  const tenths = (share: number, round = Math.round) => `${(round(share * 1000) / 10).toFixed(1)}%`;
  const due = `A try costs ${COST_WORDS}, here ${tenths(cost)} of what is due, and must bring ${tenths(mustBring)} beyond that`;
  const pays =
    worthFrom < 1
      ? `so then it is worth making from a chance of ${tenths(worthFrom, Math.ceil)} on`
      : "more than it could bring";
  return `${NOT_WORTH}: the best moment left is ${momentWords(zone, at)}, with a chance of ${tenths(chance, Math.floor)}. ${due}, ${pays}.`;
}
/** The next bill of a customer may come so much later than the ones before. */
const BILL_LATE_MS = DAY_MS;
/** Another case may end without an attempt, and nobody tells those that wait for it: they look each day. */
const OTHERS_LOOK_MS = DAY_MS;

/** No try is worth making by what is known now: wait for what comes of the customer's other bills, where some is to come within the window, or for another card that was asked for, else stop. */
function withoutTry(situation: Situation, belief: Belief, figures: string | null): Decision {
  const { known, now, decline, place } = situation;
  const said = [declineWords(decline, false), explained(belief), figures ?? NO_MOMENT];
  const billAt = nextBillAt(known.billed, now - BILL_LATE_MS);
  const isInTime = billAt !== null && billAt < known.windowEndsAt.getTime();
  if (!isInTime && !known.othersPlanned) {
    const waits = cardWaitWords(situation);
    if (waits) return { kind: "wait", reasons: [...said, waits] };
    return { kind: "stop", end: "hopeless", reasons: [...said, budgetWords(known)] };
  }
  const toCome = isInTime
    ? `The next bill of this customer is due about ${dayWords(localDay(place.zone, billAt))}`
    : "The recovery of another bill of this customer goes on";
  // What is waited for stands last, and without figures, which change each day.
  const reasons = [...said, `${toCome}, and what comes of it may change that, so the case stays open.`];
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
  const { known, guard, decline, place, upAgainAt, now } = situation;
  // A few minutes, so that one bank does not get all tries of an hour in the same second.
  const jittered = chosen.at + jitterMs(known);
  const isFree = jittered < known.windowEndsAt.getTime() && forbiddenAt(guard, jittered) === null;
  const at = Math.max(now, isFree ? jittered : chosen.at);
  const after = chosen.next[0];
  const moment = [
    `${choiceWords(chosen)} is ${momentWords(place.zone, at)}, with a chance of ${percent(chosen.chance)}.`,
    bookedWords(belief, at),
    chosen.drawn || chosen.spread ? null : dateWords(learned, belief, at),
    after === undefined || chosen.spread ? null : `If it fails, ${momentWords(place.zone, after)} would be next.`,
  ];
  const why = joined([explained(belief), besideWords(belief, place.zone)]);
  const reasons = [joined([declineWords(decline, false), renewalWords(known, decline)]), why, joined(moment)];
  // What is made up for at once comes because it was missed.
  const from = at > now ? Math.max(asked.now, belief.lastTriedAt + GAP_MIN_MS) : now;
  const wait = waitBefore(situation, at, from);
  if (!wait && upAgainAt > now && isSoonAfter(at, upAgainAt)) reasons.push(outageWords(situation));
  return retryBecause(situation, at, reasons, wait, (lastOf(asked) - at) / gapAfter(belief));
}

/** How a moment was chosen: the beginning of a sentence that names it. */
function choiceWords({ hopeless, drawn, hourDrawn, spread }: ChosenTry): string {
  if (spread)
    return "Of late far fewer tries were approved than was said, in cases that began with such a decline, so until what is said comes true again some are spread evenly over what is left of the window, whatever is believed of the days: this one";
  if (hopeless)
    return "By what is known no try is likely enough to succeed to be worth making; a share of such cases, larger after codes that were seldom met, is tried all the same, to keep learning: the best next moment";
  if (drawn)
    return "Some first tries are drawn by lot, to keep learning: one in thirty among good moments, and more among sooner ones while few were made so soon after such a decline; this one";
  if (hourDrawn)
    return "In one try of five the hour is drawn, by how likely each is believed to be the best one, to keep learning; the next moment, on the day that is best,";
  return "The moments were weighed together, and the best next one";
}

/** From where days are counted. */
const EPOCH = { year: 1970, month: 1, day: 1, weekday: 4 };

/** When a bank debit that is asked for at a moment is booked, by what was seen of such debits; null: at once. */
function bookedWords({ clock }: Belief, at: number): string | null {
  if (clock.booking === AT_ONCE) return null;
  return `A debit that is asked for then is taken to be booked on ${dayWords(addDays(EPOCH, judgedOn(clock, at)))}; bank holidays are not known here.`;
}

/** From this step on, what was approved around a date is worth a word: two charges of late. */
const CLEAR = 3;
/** In standard deviations of a try's score: so much it must speak for a moment. */
const WEIGHTY = 0.05;

/** That the customer's charges went well around the date of a moment, where none failed, and that spoke for it; null where it did not. */
function dateWords({ mean }: Learned, { dateCells, clock, reason }: Belief, at: number): string | null {
  const cell = dateCells[dateOf(judgedOn(clock, at)) - 1]!;
  const { approved, failed } = cellSteps(cell);
  const of = classOf(reason);
  const gain = mean[dateCellWeight(of, cell)]! - mean[dateCellWeight(of, 0)]!;
  if (approved < CLEAR || failed > 0 || gain < WEIGHTY) return null;
  return "Around that date of the month, payments of this customer went through before, as far as is known.";
}

/** What another bill of the customer showed since the last try; null: nothing. */
const besideWords = ({ beside }: Belief, zone: Zone): string | null =>
  beside &&
  `Since the last try another bill of this customer was ${beside.approved ? "paid" : "declined"}, on ${momentWords(zone, beside.at)}.`;

const outageWords = ({ known, place, upAgainAt }: Situation) =>
  `Several customers' payments found this bank down, the last one on ${momentWords(place.zone, known.issuerDownAt!.getTime())}, so nothing is tried there before ${momentWords(place.zone, upAgainAt)}.`;

const FAMILY_WORDS = {
  cycle: "the money comes with the next payday",
  any_day: "the money may come on any day",
  hold: "something at the bank passes by itself",
  never: "this card will not work again",
} as const;

const kinds = new Float64Array(KINDS);

/** The likeliest explanation, in words. */
function explained(belief: Belief): string {
  const families = FAMILIES.map(() => 0);
  kindsOf(belief, kinds);
  for (let kind = 0; kind < KINDS; kind++) families[familyOfKind(kind)]! += kinds[kind]!;
  const top = families.indexOf(Math.max(...families));
  const words = `Most likely, by what was seen so far, ${FAMILY_WORDS[FAMILIES[top]!]} (${percent(families[top]!)}).`;
  if (FAMILIES[top] !== "cycle") return words;
  const { shares } = belief;
  let likeliest = 0;
  for (let c = 1; c < CYCLES; c++) if (shares[c]! > shares[likeliest]!) likeliest = c;
  const share = shares[likeliest]! / families[top]!;
  if (share < 0.15) return words;
  return `${words.slice(0, -1)}, which seems to come ${PAY_CYCLES[likeliest]!.words} (${percent(share)}).`;
}
