import type { BestTime } from "./alternatives.ts";
import type { ChosenRetry } from "./choose-retry.ts";
import type { DecisionContext } from "./decision-context.ts";
import { type CasePosterior, kindShares } from "./learned/case-posterior.ts";
import { cellSteps } from "./learned/date-outcomes.ts";
import { FAMILIES, familyOfKind, KIND_COUNT } from "./learned/hypotheses.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { dayOfMonth } from "./learned/local-days.ts";
import { classOf, dateCellWeight } from "./learned/model-layout.ts";
import { CYCLE_COUNT, PAY_CYCLES } from "./learned/pay-cycles.ts";
import { IMMEDIATE, settlementDay } from "./learned/settlement.ts";
import { addDays, formatDay, formatZonedTime, localDay, type Zone } from "./local-time.ts";
import { describeDecline, describeRenewal, joinSentences } from "./reasons.ts";
import { COST_WORDING } from "./retry-value.ts";
import type { DeclineGroup } from "./rules/decline-groups.ts";
import type { InterpretedDecline } from "./rules/interpret-decline.ts";
import { formatPercent, formatTenths } from "./shares.ts";

/** Returns the reasons for the time of a retry by the learned policy. */
export function explainRetry(
  context: DecisionContext,
  learned: LearnedModel,
  belief: CasePosterior,
  chosen: ChosenRetry,
  at: number,
) {
  const { facts, decline, locale } = context;
  const { drawn, spread, next } = chosen;
  const [after] = spread ? [] : next;
  return [
    [describeDecline(decline, false), describeRenewal(facts, decline)],
    [describeLikeliest(belief, decline), describeOtherInvoice(belief, locale.zone)],
    [
      describeChoice(chosen, at, locale.zone, facts.explores),
      describeSettlement(belief, at),
      drawn || spread ? null : describeDate(learned, belief, at),
      after === undefined ? null : `If it fails, ${formatZonedTime(locale.zone, after)} would be next.`,
    ],
  ].map(joinSentences);
}

/** Returns the reasons why no retry is made. `best`: null if no time is left. */
export const explainNoRetry = ({ decline, locale }: DecisionContext, belief: CasePosterior, best: BestTime | null) => [
  describeDecline(decline, false),
  describeLikeliest(belief, decline),
  best ? explainNotWorthRetrying(best, locale.zone) : NO_TIME_LEFT,
];

const NO_TIME_LEFT =
  "No moment that could be chosen is left before the recovery window ends: none is weighed within two hours of the last try, or twenty where the card itself or a confirmation is missing.";

const FAMILY_WORDING: Readonly<Record<(typeof FAMILIES)[number], string>> = {
  cycle: "the money comes with the next payday",
  any_day: "the money may come on any day",
  hold: "something at the bank passes by itself",
  never: "this card will not work again",
};

/** The wording after declines that name their cause: it must not contradict the bank. */
const FAMILY_WORDING_BY_GROUP: Readonly<Partial<Record<DeclineGroup, Partial<typeof FAMILY_WORDING>>>> = {
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

/** Describes the likeliest explanation. */
function describeLikeliest(belief: CasePosterior, decline: InterpretedDecline | null): string {
  const families = FAMILIES.map(() => 0);
  const kindShareBuffer = new Float64Array(KIND_COUNT);
  kindShares(belief, kindShareBuffer);
  for (let kind = 0; kind < KIND_COUNT; kind++) families[familyOfKind(kind)]! += kindShareBuffer[kind]!;
  const share = Math.max(...families);
  const family = FAMILIES[families.indexOf(share)]!;
  const cycle = family === "cycle" ? describePayCycle(belief, share) : "";
  const words = (decline && FAMILY_WORDING_BY_GROUP[decline.group]?.[family]) ?? FAMILY_WORDING[family];
  return `Most likely, by what was seen so far, ${words} (${formatPercent(share)})${cycle}.`;
}

/** Describes when pay is likely to arrive, if that is likely enough. */
function describePayCycle({ shares }: CasePosterior, ofAll: number): string {
  let likeliest = 0;
  for (let c = 1; c < CYCLE_COUNT; c++) if (shares[c]! > shares[likeliest]!) likeliest = c;
  const share = shares[likeliest]! / ofAll;
  return share < 0.15 ? "" : `, which seems to come ${PAY_CYCLES[likeliest]!.words} (${formatPercent(share)})`;
}

/** Returns the news of another invoice of the customer since the last attempt; null without any. */
const describeOtherInvoice = ({ beside }: CasePosterior, zone: Zone): string | null =>
  beside &&
  `Since the last try another bill of this customer was ${beside.approved ? "paid" : "declined"}, on ${formatZonedTime(zone, beside.at)}.`;

/** Describes how a time was chosen, and its probability of success. */
function describeChoice(
  { hopeless, drawn, hourDrawn, spread, chance }: ChosenRetry,
  at: number,
  zone: Zone,
  explores: boolean,
): string {
  const is = `is ${formatZonedTime(zone, at)}, with a chance of ${formatPercent(chance)}.`;
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

/** The first day of day numbers. */
const EPOCH = { year: 1970, month: 1, day: 1, weekday: 4 };

/** Describes when a bank debit is booked that is requested at this time, as observed for such debits; null: at once. */
function describeSettlement({ clock }: CasePosterior, at: number): string | null {
  if (clock.booking === IMMEDIATE) return null;
  return `A debit that is asked for then is taken to be booked on ${formatDay(addDays(EPOCH, settlementDay(clock, at)))}; bank holidays are not known here.`;
}

/** From this step on, the approvals around a date are worth mentioning: two recent charges. */
const MIN_CLEAR_STEP = 3;
/** In standard deviations of a retry's score: the least effect that is mentioned. */
const MIN_NOTABLE_SCORE = 0.05;

/** Says that the customer's charges succeeded around this date and none failed, if that raised the score; else null. */
function describeDate({ mean }: LearnedModel, { dateCells, clock, reason }: CasePosterior, at: number): string | null {
  const cell = dateCells[dayOfMonth(settlementDay(clock, at)) - 1]!;
  const { approved, failed } = cellSteps(cell);
  const of = classOf(reason);
  const gain = mean[dateCellWeight(of, cell)]! - mean[dateCellWeight(of, 0)]!;
  if (approved < MIN_CLEAR_STEP || failed > 0 || gain < MIN_NOTABLE_SCORE) return null;
  return "Around that date of the month, payments of this customer went through before, as far as is known.";
}

/** Part of the sentence about an outage. */
export const NOTHING_BEFORE = "so nothing is tried there before";

/** Explains why no retry is made before the card's bank may be up again. */
export const describeOutage = ({ facts, locale, issuerUpAt }: DecisionContext) =>
  `Payments of several customers could not reach the bank, the last one on ${formatZonedTime(locale.zone, facts.issuerDownAt!.getTime())}, ${NOTHING_BEFORE} ${formatZonedTime(locale.zone, issuerUpAt)}.`;

/**
 * Says how likely the best time is to succeed, and how likely it would have to be. Rounded so that the order of the two never
 * turns around.
 */
function explainNotWorthRetrying({ at, chance, cost, mustBring, worthFrom }: BestTime, zone: Zone): string {
  const said = (share: number, round = Math.round) => formatTenths(round(share * 1000) / 1000);
  const pays =
    worthFrom < 1
      ? `so then it is worth making from a chance of ${said(worthFrom, Math.ceil)} on`
      : "more than it could bring";
  return `No further try is likely enough to succeed to be worth making: the best moment left is ${formatZonedTime(zone, at)}, with a chance of ${said(chance, Math.floor)}. A try costs ${COST_WORDING}, here ${said(cost)} of what is due, and must bring ${said(mustBring)} beyond that, ${pays}.`;
}

/**
 * Describes the awaited news of the customer's other invoices. `at`: when the next one is due; null: another one is in recovery.
 */
export const describeAwaitedInvoices = (at: number | null, zone: Zone) =>
  at === null
    ? "The recovery of another bill of this customer goes on, and what comes of it may change that, so the case stays open."
    : `The next bill of this customer is due about ${formatDay(localDay(zone, at))}, and what comes of it may change that, so the case stays open.`;
