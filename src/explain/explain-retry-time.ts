import type {
  DecisionAccount,
  DecisionRecord,
  EvaluatedHour,
  EvaluatedTime,
  ExcludedPeriod,
} from "../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { minWaitAfter } from "../engine/choose-retry.ts";
import { lastsToWindowEnd } from "../engine/decision-account.ts";
import { isOutageReason } from "../engine/learned-reasons.ts";
import {
  addDays,
  atLocalTime,
  formatClock,
  formatDay,
  formatZonedTime,
  type LocalDay,
  localDay,
  type Zone,
} from "../engine/local-time.ts";
import { endsRetries } from "../engine/rules/decline-groups.ts";
import { interpretDecline } from "../engine/rules/interpret-decline.ts";
import { formatPercent, toHundredths } from "../engine/shares.ts";
import { declineCodesOf, instrumentOf } from "../recovery/build-decision-facts.ts";
import { isCardAnswer } from "../recovery/build-history.ts";
import { describeRequestedAction } from "./customer-request-wording.ts";
import type { ExplainedCase } from "./load-explained-case.ts";

export const formatTime = (zone: Zone, at: Date) => formatZonedTime(zone, at.getTime());

const isSameDay = (a: LocalDay, b: LocalDay) => formatDay(a) === formatDay(b) && a.year === b.year;

export const describeBlockEnd = (ruled: ExcludedPeriod, { case: recoveryCase }: ExplainedCase, zone: Zone) =>
  lastsToWindowEnd(ruled, recoveryCase!.windowEndsAt) ? "the end of the window" : formatTime(zone, ruled.to);

const FIXED_RULES_INTRODUCTION = "Fixed rules choose the time and compare it with no other:";

/** For a retry of shadow mode whose time has passed. */
export const SHADOW_PLAN_STANDS =
  "The next decision follows new facts, such as the next attempt of the merchant's own system.";

/** Whether the time of a planned retry has passed in shadow mode, where nothing executes it. */
export const isShadowRetryPast = ({ case: recoveryCase, now }: ExplainedCase, { kind, idealTime }: DecisionRecord) =>
  recoveryCase!.arm === "shadow" && kind === "retry" && idealTime! < now;

/** Introduces the reasons for a time that has passed. */
export const introduceEarlierReasons = ({ madeAt }: DecisionRecord, zone: Zone) =>
  `Reasons given on ${formatTime(zone, madeAt)}:`;

/** Explains why no retry is made today. */
export function explainNotToday(explained: ExplainedCase, latest: DecisionRecord, zone: Zone): string[] {
  const { case: recoveryCase, actions, now } = explained;
  if (recoveryCase!.endedAt) return ["The case has ended. See “Why did it stop?”."];
  const dayOf = (at: Date) => localDay(zone, at.getTime());
  const today = dayOf(now);
  const { account, idealTime, actionId } = latest;
  const { days, ruledOut } = account;
  if (latest.kind === "card_change") {
    const asks = recoveryCase!.arm === "shadow" ? "would first be asked" : "is first asked";
    return [`The customer ${asks} ${describeRequestedAction(account.reasons)}. See “Why a new card?”.`];
  }
  const ruling = ruledOut.find(({ from, to }) => from <= now && now < to);
  if (latest.kind !== "retry")
    return ["No retry is planned.", ...(ruling ? describeRule(ruling, explained, zone) : account.reasons.slice(-1))];
  if (isShadowRetryPast(explained, latest))
    return [`A retry would have been requested for ${formatTime(zone, idealTime!)}. ${SHADOW_PLAN_STANDS}`];
  if (actions.some(({ id, decidedAt }) => id === actionId && decidedAt !== null) && idealTime! < now)
    return [`A retry was requested for ${formatTime(zone, idealTime!)}, and its outcome is awaited first.`];
  if (isSameDay(dayOf(idealTime!), today)) return ["The retry is planned for today."];
  const dayEnds = atLocalTime(zone, addDays(today, 1), 0);
  const rule = ruledOut.find(({ from, to }) => from.getTime() < dayEnds && to.getTime() >= dayEnds);
  if (rule) return describeRule(rule, explained, zone);
  // Only the learned policy compares days.
  const [first] = days;
  if (!first)
    return [...(ruling ? describeRule(ruling, explained, zone) : [FIXED_RULES_INTRODUCTION, ...account.reasons])];
  // A rule that ends today leaves a part of the day, but possibly no time that is compared.
  if (ruling && !days.some(({ at }) => at >= ruling.to && at.getTime() < dayEnds))
    return describeRule(ruling, explained, zone);
  const bestToday = days.find(({ at }) => isSameDay(dayOf(at), today));
  const others = days
    .filter((day) => day !== bestToday && Math.abs(+day.at - +idealTime!) > SAME_TIME_TOLERANCE_MS && day.at > now)
    .sort((a, b) => b.worth - a.worth)
    .slice(0, 3);
  const surplusOf = ({ worth }: EvaluatedTime) => toHundredths(worth) - toHundredths(account.even!.planWorth);
  const shown = [...others, ...(bestToday ? [bestToday] : [])];
  return [
    bestToday
      ? describeBestToday(bestToday, now, zone)
      : +first.at >= dayEnds
        ? describeFirstComparedDay(explained, latest, zone)
        : NOT_COMPARED,
    `Chosen: ${formatTime(zone, idealTime!)}: ${describeProspect({ chance: latest.chance!, worth: account.even!.planWorth })}`,
    ...describeSampling(account),
    ...others.map(
      (day) =>
        `${surplusOf(day) > 0 ? "Better" : surplusOf(day) === 0 ? "As good" : "Next best"}, ${formatTime(zone, day.at)}: a chance of ${formatPercent(day.chance)}, expected value ${formatPercent(day.worth)}.`,
    ),
    ...(shown.some((day) => surplusOf(day) === 0) ? [EQUAL_VALUE] : []),
    ...(!isSampled(account) && shown.some((day) => surplusOf(day) > 0) ? [PLAN_IS_APPROXIMATE] : []),
  ];
}

const describeRule = (rule: ExcludedPeriod, explained: ExplainedCase, zone: Zone) => [
  `A rule allows no retry until ${describeBlockEnd(rule, explained, zone)}: ${rule.rule}`,
  `Source: ${rule.source}.`,
];

/** A retry comes a few minutes after its chosen time. */
const SAME_TIME_TOLERANCE_MS = HOUR_MS;

const describeBestToday = (evaluatedTime: EvaluatedTime, now: Date, zone: Zone) =>
  `The best time today ${evaluatedTime.at > now ? "is" : "was"} ${formatTime(zone, evaluatedTime.at)}${evaluatedTime.at > now ? "" : ", which has passed"}: ${describeProspect(evaluatedTime)}`;

/** Explains why the first compared day is a later one: an outage, the wait after the last attempt, or a late decision. */
function describeFirstComparedDay(
  { case: recoveryCase, transactions }: ExplainedCase,
  latest: DecisionRecord,
  zone: Zone,
): string {
  const { madeAt, account } = latest;
  const day = `The first possible day is ${formatDay(localDay(zone, account.days[0]!.at.getTime()))}`;
  const outage = account.reasons.find(isOutageReason);
  if (outage) return `${day}. ${outage}`;
  const last = transactions.findLast((t) => isCardAnswer(t) && t.amount > 0 && t.createdAt <= madeAt);
  const lastAt = last?.createdAt ?? recoveryCase!.unpaidAt;
  const group = last?.state === "FAILED" ? interpretDecline(declineCodesOf(last), instrumentOf(last)).group : "UNKNOWN";
  const windowMs = +recoveryCase!.windowEndsAt - +recoveryCase!.unpaidAt;
  const gap = minWaitAfter(group, last?.paymentMethodType ?? null, windowMs);
  const cause = last
    ? "the last attempt was"
    : "no attempt by the merchant was reported, and the invoice became unpaid";
  const times = `one time ${gap < DAY_MS ? "every four hours" : "each half day"}, if the rules allow it`;
  if (+lastAt + gap <= +madeAt)
    return `${day}: it was decided on ${formatTime(zone, madeAt)}, when no time was left that day. Dunlin considers ${times}.`;
  return `${day}: ${cause} on ${formatTime(zone, lastAt)}. A retry is not considered within ${Math.round(gap / HOUR_MS)} hours of that${endsRetries(group) ? CARD_WAIT_CAUSE : ""}. From then on, Dunlin considers ${times}.`;
}

const CARD_WAIT_CAUSE = " (a new card or a confirmation is needed)";

const NOT_COMPARED =
  "No time today was compared. After the first day, Dunlin compares only the likeliest time in each 24 hours, and none of these is today.";

const describeProspect = ({ chance, worth }: Pick<EvaluatedTime, "chance" | "worth">) =>
  `a chance of ${formatPercent(chance)}, and with the following retries an expected value of ${formatPercent(worth)} of the amount.`;

const SAMPLED_TIME =
  "Dunlin chose this time at random, to keep the model accurate. It is one of several good times, or an earlier one at which few first retries have been made.";
const SAMPLED_HOUR =
  "The day is the best one. Dunlin chose the hour at random, as it does for one retry in five, to keep the model accurate.";
const EVENLY_SPACED_TIME =
  "Recently far fewer retries after such declines were approved than predicted. Until predictions hold again, some retries are evenly spaced, as this one was.";
const EQUAL_VALUE = "Times are equally good if their expected values are the same when rounded to whole percent.";
export const PLAN_IS_APPROXIMATE =
  "A plan is found step by step among the likeliest times, so occasionally another one has a slightly higher expected value.";

type Sampling = Pick<DecisionAccount, "drawn" | "hourDrawn" | "spread">;

const isSampled = ({ drawn, hourDrawn, spread }: Sampling) => drawn || hourDrawn || spread;

/** Explains why the time is not the plan's next one; empty if it is. */
export const describeSampling = ({ drawn, hourDrawn, spread }: Sampling): string[] => [
  ...(spread ? [EVENLY_SPACED_TIME] : []),
  ...(drawn ? [SAMPLED_TIME] : []),
  ...(hourDrawn ? [SAMPLED_HOUR] : []),
];

/** Explains the hour of the planned retry, or of the last one if the case has ended. */
export function explainHour(explained: ExplainedCase, latest: DecisionRecord, zone: Zone) {
  const { case: recoveryCase, decisions, actions, now } = explained;
  if (recoveryCase!.arm === "shadow" && !recoveryCase!.endedAt)
    return describeHour(latest, isShadowRetryPast(explained, latest) ? "would have been" : "would be", zone);
  if (!recoveryCase!.endedAt)
    return describeHour(latest, latest.idealTime && latest.idealTime < now ? "was" : "is", zone);
  if (recoveryCase!.arm === "shadow") {
    const last = decisions.findLast(({ kind }) => kind === "retry");
    return last ? describeHour(last, "would have been", zone) : ["No retry would have been made."];
  }
  const executedRetry = actions.findLast(
    ({ type, status }) => type === "RETRY" && (status === "SUCCEEDED" || status === "FAILED"),
  );
  if (!executedRetry) {
    const retries = actions.filter(({ type }) => type === "RETRY");
    if (retries.length === 0) return ["No hour was chosen: no retry was planned."];
    return retries.some(({ decidedAt }) => decidedAt !== null)
      ? ["No result was reported for any requested retry."]
      : ["A retry was planned, and the case ended before it was requested."];
  }
  const plans = decisions.filter(({ actionId }) => actionId === executedRetry.id);
  const [first, last] = [plans[0], plans.at(-1)];
  if (!first || !last) return ["The decisions for the last retry are no longer stored."];
  const laterPlanText = last === first ? "" : `, and again on ${formatTime(zone, last.madeAt)}`;
  return [
    `The last retry was planned on ${formatTime(zone, first.madeAt)}${laterPlanText}.`,
    ...describeHour(last, "was", zone),
    ...(last.account.hours.length > 0 ? [introduceEarlierReasons(last, zone), ...last.account.reasons] : []),
  ];
}

function describeHour(decision: DecisionRecord, was: string, zone: Zone): string[] {
  const { kind, idealTime, account } = decision;
  const { hours, reasons } = account;
  if (kind === "card_change")
    return [`No hour was chosen: the customer is asked at once ${describeRequestedAction(reasons)}.`];
  if (kind === "stop") return ["No hour was chosen: no other retry is made."];
  if (kind === "wait") return ["No hour was chosen: no retry is planned."];
  if (hours.length === 0) return reasons;
  return [
    `The retry ${was} for ${formatTime(zone, idealTime!)}. A few minutes are added, so that a bank does not get all retries in one second.`,
    ...describeSampling(account),
    `Chances on ${formatDay(localDay(zone, hours[0]!.at.getTime()))}: ${hours.map(({ at, chance }) => `${formatPercent(chance)} at ${formatClock(zone, at.getTime())}`).join(", ")}.`,
    ...(isSampled(account) ? [] : explainLikelierHours(decision, zone)),
    ...(hours.length > 1 && new Set(hours.map(({ chance }) => toHundredths(chance))).size === 1 ? [EQUAL_HOURS] : []),
  ];
}

const EQUAL_HOURS = "Rounded to whole percent, these hours have the same chance.";

/** "01:00, 17:00 and 21:00" */
const LIST_FORMAT = new Intl.ListFormat("en-GB");

/** Explains why likelier hours of the day were not chosen. */
function explainLikelierHours({ chance, account: { hours, even } }: DecisionRecord, zone: Zone): string[] {
  // Decisions of versions before 0.2.0 have no expected values of hours.
  if (hours.every(({ worth }) => worth === null)) return [];
  const likelier = hours.filter((hour) => toHundredths(hour.chance) > toHundredths(chance!));
  const isMore = ({ worth }: EvaluatedHour) => toHundredths(worth!) > toHundredths(even!.planWorth);
  const compared = likelier.filter(({ worth }) => worth !== null);
  const listHours = (those: readonly EvaluatedHour[], words: string) =>
    those.length > 0
      ? [`At ${LIST_FORMAT.format(those.map(({ at }) => formatClock(zone, at.getTime())))} ${words}`]
      : [];
  return [
    ...listHours(
      compared.filter((hour) => !isMore(hour)),
      "the chance was higher, but the expected value was not: it includes the retries that can follow.",
    ),
    ...listHours(compared.filter(isMore), `the expected value was higher. ${PLAN_IS_APPROXIMATE}`),
    ...listHours(
      likelier.filter(({ worth }) => worth === null),
      "the chance was higher, but the expected value was not computed: after the first day only one time of each 24 hours is compared.",
    ),
  ];
}
