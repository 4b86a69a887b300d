import { type Belief, kindsOf } from "../model/belief.ts";
import { AT_ONCE, judgedOn } from "../model/booking.ts";
import { dateOf } from "../model/calendar.ts";
import { cellSteps } from "../model/dates.ts";
import { FAMILIES, familyOfKind, KINDS } from "../model/explanations.ts";
import { classOf, dateCellWeight } from "../model/layout.ts";
import type { Learned } from "../model/learned.ts";
import { CYCLES, PAY_CYCLES } from "../model/pay-cycles.ts";
import type { ReadDecline } from "../rules/decline-group.ts";
import type { DeclineGroup } from "../rules/decline-groups.ts";
import type { ChosenTry } from "./choose-try.ts";
import { addDays, dayWords, localDay, momentWords, type Zone } from "./local-time.ts";
import type { BestMoment } from "./outlook.ts";
import { declineWords, joined, renewalWords } from "./reasons.ts";
import { percent, tenths } from "./shares.ts";
import type { Situation } from "./situation.ts";
import { COST_WORDS } from "./stakes.ts";

/** Why a try is made at a moment, by what was learned. */
export function reasonsToTry(situation: Situation, learned: Learned, belief: Belief, chosen: ChosenTry, at: number) {
  const { known, decline, place } = situation;
  const { drawn, spread, next } = chosen;
  const [after] = spread ? [] : next;
  return [
    [declineWords(decline, false), renewalWords(known, decline)],
    [likeliestWords(belief, decline), besideWords(belief, place.zone)],
    [
      choiceWords(chosen, at, place.zone, known.explores),
      bookedWords(belief, at),
      drawn || spread ? null : dateWords(learned, belief, at),
      after === undefined ? null : `If it fails, ${momentWords(place.zone, after)} would be next.`,
    ],
  ].map(joined);
}

/** Why none is made. `best`: null where no moment is left. */
export const reasonsNotToTry = ({ decline, place }: Situation, belief: Belief, best: BestMoment | null) => [
  declineWords(decline, false),
  likeliestWords(belief, decline),
  best ? notWorthWords(best, place.zone) : NO_MOMENT,
];

const NO_MOMENT =
  "No moment that could be chosen is left before the recovery window ends: none is weighed within two hours of the last try, or twenty where the card itself or a confirmation is missing.";

const FAMILY_WORDS: Readonly<Record<(typeof FAMILIES)[number], string>> = {
  cycle: "the money comes with the next payday",
  any_day: "the money may come on any day",
  hold: "something at the bank passes by itself",
  never: "this card will not work again",
};

/** The same after declines that tell what it is that ends: what the bank said is not contradicted. */
const WORDS_AFTER: Readonly<Partial<Record<DeclineGroup, Partial<typeof FAMILY_WORDS>>>> = {
  FUNDS: { hold: "what holds the money back passes by itself", never: "the money will not come" },
  LIMIT: {
    cycle: "money or limit is free again with the next payday",
    any_day: "money or limit may be free again on any day",
    hold: "the limit is freed again by itself",
    never: "the limit stays too low for this payment",
  },
  ISSUER_DOWN: {
    cycle: "the bank answers again, and the money comes with the next payday",
    any_day: "the bank answers again, and the money may come on any day",
    hold: "the fault at the bank passes by itself",
  },
  EXPIRED: {
    cycle: "the card is renewed, and the money comes with the next payday",
    any_day: "the card is renewed, and the money may come on any day",
    hold: "the card's renewal comes through by itself",
  },
};

const kinds = new Float64Array(KINDS);

/** The likeliest explanation. */
function likeliestWords(belief: Belief, decline: ReadDecline | null): string {
  const families = FAMILIES.map(() => 0);
  kindsOf(belief, kinds);
  for (let kind = 0; kind < KINDS; kind++) families[familyOfKind(kind)]! += kinds[kind]!;
  const share = Math.max(...families);
  const family = FAMILIES[families.indexOf(share)]!;
  const cycle = family === "cycle" ? cycleWords(belief, share) : "";
  const words = (decline && WORDS_AFTER[decline.group]?.[family]) ?? FAMILY_WORDS[family];
  return `Most likely, by what was seen so far, ${words} (${percent(share)})${cycle}.`;
}

/** When the money seems to come, where that is likely enough to be said. */
function cycleWords({ shares }: Belief, ofAll: number): string {
  let likeliest = 0;
  for (let c = 1; c < CYCLES; c++) if (shares[c]! > shares[likeliest]!) likeliest = c;
  const share = shares[likeliest]! / ofAll;
  return share < 0.15 ? "" : `, which seems to come ${PAY_CYCLES[likeliest]!.words} (${percent(share)})`;
}

/** Returns the news of another invoice of the customer since the last attempt; null without any. */
const besideWords = ({ beside }: Belief, zone: Zone): string | null =>
  beside &&
  `Since the last try another bill of this customer was ${beside.approved ? "paid" : "declined"}, on ${momentWords(zone, beside.at)}.`;

/** How a moment was chosen, and with what chance. */
function choiceWords(
  { hopeless, drawn, hourDrawn, spread, chance }: ChosenTry,
  at: number,
  zone: Zone,
  explores: boolean,
): string {
  const is = `is ${momentWords(zone, at)}, with a chance of ${percent(chance)}.`;
  if (spread)
    return `Of late far fewer tries were approved than was said, in cases that began with such a decline, so until what is said comes true again some are spread evenly over what is left of the window, whatever is believed of the days: this one ${is}`;
  if (hopeless && !explores)
    return `By what is known no try is likely enough to succeed to be worth making, but few tries were seen after such a code, so it is not relied on: the best next moment ${is}`;
  if (hopeless)
    return `By what is known no try is likely enough to succeed to be worth making; a share of such cases, larger after codes that were seldom met, is tried all the same, to keep learning: the best next moment ${is}`;
  if (drawn)
    return `Some first tries are drawn by lot, to keep learning: one in thirty among good moments, and more among sooner ones while few were made so soon after such a decline; this one ${is}`;
  if (hourDrawn)
    return `In one try of five the hour is drawn, by how likely each is believed to be the best one, to keep learning; the next moment, on the day that is best, ${is}`;
  return `The moments were weighed together, and the best next one ${is}`;
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

/** In the sentence that names an outage. */
export const NOTHING_BEFORE = "so nothing is tried there before";

/** Why nothing is tried before the card's bank may be up again. */
export const outageWords = ({ known, place, upAgainAt }: Situation) =>
  `Payments of several customers could not reach the bank, the last one on ${momentWords(place.zone, known.issuerDownAt!.getTime())}, ${NOTHING_BEFORE} ${momentWords(place.zone, upAgainAt)}.`;

/** What is lacking: how likely the best moment is, and how likely it had to be. Rounded so that the two never look the other way round. */
function notWorthWords({ at, chance, cost, mustBring, worthFrom }: BestMoment, zone: Zone): string {
  const said = (share: number, round = Math.round) => tenths(round(share * 1000) / 1000);
  const pays =
    worthFrom < 1
      ? `so then it is worth making from a chance of ${said(worthFrom, Math.ceil)} on`
      : "more than it could bring";
  return `No further try is likely enough to succeed to be worth making: the best moment left is ${momentWords(zone, at)}, with a chance of ${said(chance, Math.floor)}. A try costs ${COST_WORDS}, here ${said(cost)} of what is due, and must bring ${said(mustBring)} beyond that, ${pays}.`;
}

/** What of the customer's other bills is waited for. `at`: when the next one is due; null: another one is in recovery. */
export const billsAwaitedWords = (at: number | null, zone: Zone) =>
  at === null
    ? "The recovery of another bill of this customer goes on, and what comes of it may change that, so the case stays open."
    : `The next bill of this customer is due about ${dayWords(localDay(zone, at))}, and what comes of it may change that, so the case stays open.`;
