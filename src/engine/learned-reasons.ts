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

export function explainRetry(
  context: DecisionContext,
  model: LearnedModel,
  posterior: CasePosterior,
  chosen: ChosenRetry,
  at: number,
) {
  const { facts, decline, locale } = context;
  const { isSampled, isEvenlySpaced, nextTimes } = chosen;
  const [after] = isEvenlySpaced ? [] : nextTimes;
  return [
    [describeDecline(decline, false), describeRenewal(facts, decline)],
    [describeLikeliest(posterior, decline), describeOtherInvoice(posterior, locale.zone)],
    [
      describeChoice(chosen, at, locale.zone, facts.explores),
      describeSettlement(posterior, at),
      isSampled || isEvenlySpaced ? null : describeDate(model, posterior, at),
      after === undefined ? null : `If it fails, ${formatZonedTime(locale.zone, after)} would be next.`,
    ],
  ].map(joinSentences);
}

/** `best`: null if no time is left. */
export const explainNoRetry = (
  { decline, locale }: DecisionContext,
  posterior: CasePosterior,
  best: BestTime | null,
) => [
  describeDecline(decline, false),
  describeLikeliest(posterior, decline),
  best ? explainNotWorthRetrying(best, locale.zone) : NO_TIME_LEFT,
];

const NO_TIME_LEFT =
  "No time is left before the recovery window ends: after a decline, Dunlin waits before it retries.";

const FAMILY_WORDING: Readonly<Record<(typeof FAMILIES)[number], string>> = {
  cycle: "the money arrives with the next payday",
  any_day: "the money may arrive on any day",
  hold: "a temporary block at the bank ends by itself",
  never: "this card will not work again",
};

/** Must not contradict a decline that names its cause. */
const FAMILY_WORDING_BY_GROUP: Readonly<Partial<Record<DeclineGroup, Partial<typeof FAMILY_WORDING>>>> = {
  FUNDS: { hold: "a hold on the money ends by itself", never: "the money will not arrive" },
  LIMIT: {
    cycle: "there is enough money or limit again with the next payday",
    any_day: "there may be enough money or limit again on any day",
    hold: "the limit is restored by itself",
    never: "the limit stays too low for this payment",
  },
  ISSUER_DOWN: {
    cycle: "the bank answers again, and the money arrives with the next payday",
    any_day: "the bank answers again, and the money may arrive on any day",
    hold: "the fault at the bank passes by itself",
  },
  EXPIRED: {
    cycle: "the card is renewed, and the money arrives with the next payday",
    any_day: "the card is renewed, and the money may arrive on any day",
    hold: "the card's renewal takes effect by itself",
  },
};

function describeLikeliest(posterior: CasePosterior, decline: InterpretedDecline | null): string {
  const families = FAMILIES.map(() => 0);
  const kindShareBuffer = new Float64Array(KIND_COUNT);
  kindShares(posterior, kindShareBuffer);
  for (let kind = 0; kind < KIND_COUNT; kind++) families[familyOfKind(kind)]! += kindShareBuffer[kind]!;
  const share = Math.max(...families);
  const family = FAMILIES[families.indexOf(share)]!;
  const cycle = family === "cycle" ? describePayCycle(posterior, share) : "";
  const words = (decline && FAMILY_WORDING_BY_GROUP[decline.group]?.[family]) ?? FAMILY_WORDING[family];
  return `Most likely ${words} (${formatPercent(share)})${cycle}.`;
}

/** Empty unless likely enough. */
function describePayCycle({ shares }: CasePosterior, ofAll: number): string {
  let likeliest = 0;
  for (let c = 1; c < CYCLE_COUNT; c++) if (shares[c]! > shares[likeliest]!) likeliest = c;
  const share = shares[likeliest]! / ofAll;
  return share < 0.15 ? "" : `, probably ${PAY_CYCLES[likeliest]!.words} (${formatPercent(share)})`;
}

const describeOtherInvoice = ({ otherCharge }: CasePosterior, zone: Zone): string | null =>
  otherCharge &&
  `Since the last attempt, another invoice of this customer was ${otherCharge.approved ? "paid" : "declined"}, on ${formatZonedTime(zone, otherCharge.at)}.`;

function describeChoice(
  { isNotWorthRetrying, isSampled, isHourSampled, isEvenlySpaced, chance }: ChosenRetry,
  at: number,
  zone: Zone,
  explores: boolean,
): string {
  const is = `is ${formatZonedTime(zone, at)}, with a chance of ${formatPercent(chance)}.`;
  if (isEvenlySpaced)
    return `Recently far fewer retries after such declines were approved than predicted. Until predictions hold again, some retries are evenly spaced. This one ${is}`;
  if (isNotWorthRetrying && !explores)
    return `No retry is expected to be worth its cost, but few retries after such a code were observed, so Dunlin retries all the same. The best next time ${is}`;
  if (isNotWorthRetrying)
    return `No retry is expected to be worth its cost. Dunlin retries a sample of such cases to keep the model accurate. The best next time ${is}`;
  if (isSampled)
    return `Dunlin chose this time at random among good or earlier times, to keep the model accurate. It ${is}`;
  if (isHourSampled)
    return `Dunlin chose the hour at random, as it does for one retry in five, to keep the model accurate. The day is the best one. The next time ${is}`;
  return `The best next time ${is}`;
}

const EPOCH = { year: 1970, month: 1, day: 1, weekday: 4 };

/** As observed; null: at once. */
function describeSettlement({ clock }: CasePosterior, at: number): string | null {
  if (clock.booking === IMMEDIATE) return null;
  return `The bank is expected to book this debit on ${formatDay(addDays(EPOCH, settlementDay(clock, at)))} (bank holidays are not considered).`;
}

/** Two recent charges. */
const MIN_CLEAR_STEP = 3;
/** In standard deviations of a retry's score. */
const MIN_NOTABLE_SCORE = 0.05;

/** If charges around this date all succeeded, and that raised the score; else null. */
function describeDate({ mean }: LearnedModel, { dateCells, clock, reason }: CasePosterior, at: number): string | null {
  const cell = dateCells[dayOfMonth(settlementDay(clock, at)) - 1]!;
  const { approved, failed } = cellSteps(cell);
  const classIndex = classOf(reason);
  const gain = mean[dateCellWeight(classIndex, cell)]! - mean[dateCellWeight(classIndex, 0)]!;
  if (approved < MIN_CLEAR_STEP || failed > 0 || gain < MIN_NOTABLE_SCORE) return null;
  return "Earlier payments of this customer succeeded around this day of the month.";
}

const AFTER_OUTAGE_PHRASE = "Dunlin retries there after";
/** Decisions of earlier builds keep it. */
const FORMER_AFTER_OUTAGE_PHRASE = "so the next retry there comes after";

/** Whether a reason says that a retry waits for the end of an outage. */
export const isOutageReason = (reason: string) =>
  reason.includes(AFTER_OUTAGE_PHRASE) || reason.includes(FORMER_AFTER_OUTAGE_PHRASE);

export const describeOutage = ({ facts, locale, issuerUpAt }: DecisionContext) =>
  `The bank appears to be down. Payments of several customers failed to reach it, most recently on ${formatZonedTime(locale.zone, facts.issuerDownAt!.getTime())}. ${AFTER_OUTAGE_PHRASE} ${formatZonedTime(locale.zone, issuerUpAt)}.`;

/** Keeps the order of the best time's probability and the required one. */
function explainNotWorthRetrying({ at, chance, cost, mustBring, minChance }: BestTime, zone: Zone): string {
  const percent = (share: number, round = Math.round) => formatTenths(round(share * 1000) / 1000);
  const conclusion =
    minChance < 1
      ? `So a retry needs a chance of at least ${percent(minChance, Math.ceil)}.`
      : "Together that is more than a retry could recover.";
  return `No retry is worth its cost. The best remaining time is ${formatZonedTime(zone, at)}, with a chance of ${percent(chance, Math.floor)}. A retry costs ${COST_WORDING}: here ${percent(cost)} of the amount due. Dunlin also requires a margin of ${percent(mustBring)}. ${conclusion}`;
}

/** `at`: when the next invoice is due; null: another one is in recovery. */
export const describeAwaitedInvoices = (at: number | null, zone: Zone) =>
  at === null
    ? "Another invoice of this customer is in recovery. Its outcome may change this, so the case stays open."
    : `The next invoice of this customer is due about ${formatDay(localDay(zone, at))}. Its outcome may change this, so the case stays open.`;
