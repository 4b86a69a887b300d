import { isToEnd } from "../decisions/account.ts";
import {
  addDays,
  atLocalTime,
  dayWords,
  type LocalDay,
  localDay,
  momentWords,
  type Zone,
} from "../decisions/local-time.ts";
import type { DecisionRecord, Prospect, RuledOut } from "../domain/decision.ts";
import type { Explained } from "./explain.ts";

export const when = (zone: Zone, at: Date) => momentWords(zone, at.getTime());
export const hundredths = (share: number) => Math.round(share * 100);
export const percent = (share: number) => `${hundredths(share)}%`;

const clockWords = (zone: Zone, at: Date) => /\d\d:\d\d/.exec(when(zone, at))![0];

const isSameDay = (a: LocalDay, b: LocalDay) => dayWords(a) === dayWords(b) && a.year === b.year;

export const untilWords = (ruled: RuledOut, { case: kase }: Explained, zone: Zone) =>
  isToEnd(ruled, kase!.windowEndsAt) ? "the end of the window" : when(zone, ruled.to);

const NOTHING_PLANNED = "No try is planned: see what is planned now.";
const FIXED_RULES = "Fixed rules name the next moment, and compare it with no other: see what is planned now.";

/** Why no try is made today, if none is. */
export function whyNotToday(explained: Explained, latest: DecisionRecord, zone: Zone): string[] {
  const { case: kase, actions, now } = explained;
  if (kase!.endedAt) return ["Nothing is tried any more: see why it stopped."];
  const dayOf = (at: Date) => localDay(zone, at.getTime());
  const today = dayOf(now);
  const {
    account: { days, ruledOut },
    idealTime,
  } = latest;
  if (latest.kind === "card_change") return ["Another card comes first: see why a card change."];
  if (latest.kind !== "retry") return [NOTHING_PLANNED];
  if (isSameDay(dayOf(idealTime!), today)) return ["It is today."];
  if (actions.some(({ id, decidedAt }) => id === latest.actionId && decidedAt !== null) && idealTime! < now)
    return [`A retry was asked for, on ${when(zone, idealTime!)}, and what comes of it is awaited first.`];
  const dayEnds = atLocalTime(zone, addDays(today, 1), 0);
  // One that ends today leaves some of it.
  const rule = ruledOut.find(({ from, to }) => from.getTime() < dayEnds && to.getTime() >= dayEnds);
  if (rule)
    return [`A rule leaves no try until ${untilWords(rule, explained, zone)}: ${rule.rule}`, `Source: ${rule.source}.`];
  // Nothing but what was learned compares days.
  const [first] = days;
  if (!first) return [FIXED_RULES];
  const chosen = days.find(({ at }) => isSameDay(dayOf(at), dayOf(idealTime!)));
  const best = days.find(({ at }) => isSameDay(dayOf(at), today));
  const others = days
    .filter((day) => day !== best && day !== chosen && day.at > now)
    .sort((a, b) => b.worth - a.worth)
    .slice(0, 3);
  const { account } = latest;
  const isDrawn = account.drawn || account.hourDrawn || account.spread;
  const isMore = ({ worth }: Prospect) => chosen !== undefined && hundredths(worth) > hundredths(chosen.worth);
  return [
    best ? todaysBest(best, now, zone) : +first.at >= dayEnds ? firstWords(first, zone) : NOT_COMPARED,
    ...chosenWords(latest, chosen, zone),
    ...others.map(
      (day) =>
        `${isMore(day) ? "Worth more" : "The next best"}, ${when(zone, day.at)}: a chance of ${percent(day.chance)}, worth ${percent(day.worth)}.`,
    ),
    ...(!isDrawn && days.some(isMore) ? [STEP_BY_STEP] : []),
  ];
}

const todaysBest = (best: Prospect, now: Date, zone: Zone) =>
  best.at > now
    ? `Today's best moment is ${when(zone, best.at)}: ${prospectWords(best)}`
    : `Today's best moment was ${when(zone, best.at)}, which has passed: ${prospectWords(best)}`;

const firstWords = ({ at }: Prospect, zone: Zone) =>
  `The first day with a moment that could be chosen is ${dayWords(localDay(zone, at.getTime()))}: moments are weighed every four hours, as far as rules and outages allow it, from the last news on, and two hours after the last try at the soonest, or twenty where the card itself or a confirmation is missing. Where no try was reported, the invoice's becoming unpaid counts as one.`;

const NOT_COMPARED =
  "No moment of today was compared: after the first day it is the likeliest moment of each 24 hours, and none of those is today.";

const prospectWords = ({ chance, worth }: Prospect) =>
  `a chance of ${percent(chance)}, and with the tries planned after it worth ${percent(worth)} of the amount.`;

/** @param day  the best moment of the day that was chosen: the hour of the try may be another one */
function chosenWords({ idealTime, chance, account }: DecisionRecord, day: Prospect | undefined, zone: Zone): string[] {
  const chosen = when(zone, idealTime!);
  if (account.hourDrawn)
    return [
      ...(day ? [`The best of the day that was chosen, ${when(zone, day.at)}: ${prospectWords(day)}`] : []),
      `The hour was drawn, to go on learning, and the best moment at that hour is taken, on whichever day: ${chosen}, with a chance of ${percent(chance!)}.`,
    ];
  const why = account.spread ? [SPREAD] : account.drawn ? [DRAWN] : [];
  if (account.spread || !day)
    return [`The one that was chosen, ${chosen}, has a chance of ${percent(chance!)}.`, ...why];
  return [`The one that was chosen, ${chosen}: ${prospectWords(day)}`, ...why];
}

export const DRAWN =
  "The moment was drawn by lot, to go on learning: among good ones, or sooner than planned where few first tries were made so soon.";
export const HOUR_DRAWN =
  "In one try of five the hour is drawn, by how likely each is believed to be the best one, to go on learning, and the best moment at that hour is taken, on whichever day: so was this one.";
export const SPREAD =
  "Of late far fewer tries were approved than was said, in cases that began with such a decline, so some are spread evenly until it comes true again: so was this one.";
export const STEP_BY_STEP =
  "A plan is found step by step among the likeliest moments of the days, so now and then another one is worth a little more.";
const NOT_ONE_CHANCE =
  "An hour with a higher chance was not chosen: what counts is not the one chance, but what a try is worth together with those that can follow it.";

/** Of a case that is over people ask about the last try. */
export function whyThisHour({ case: kase, decisions, actions }: Explained, latest: DecisionRecord, zone: Zone) {
  if (!kase!.endedAt) return hourWords(latest, "is", zone);
  if (kase!.arm === "shadow") {
    const last = decisions.findLast(({ kind }) => kind === "retry");
    return last ? hourWords(last, "would have been", zone) : ["No retry would have been made."];
  }
  const done = actions.findLast(
    ({ type, status }) => type === "RETRY" && (status === "SUCCEEDED" || status === "FAILED"),
  );
  if (!done) return ["No retry that was asked for is known to have been carried out."];
  const plans = decisions.filter(({ actionId }) => actionId === done.id);
  const [first, last] = [plans[0], plans.at(-1)];
  if (!first || !last) return ["What was decided of the last retry is kept no longer."];
  const anew = last === first ? "" : `, and anew on ${when(zone, last.madeAt)}`;
  return [
    `The last retry was planned on ${when(zone, first.madeAt)}${anew}.`,
    ...hourWords(last, "was", zone),
    ...(last.account.hours.length > 0 ? last.account.reasons : []),
  ];
}

function hourWords({ kind, idealTime, chance, account }: DecisionRecord, was: string, zone: Zone): string[] {
  const { hours, reasons, hourDrawn, spread } = account;
  if (kind === "card_change") return ["No hour was chosen: the customer is asked for another card at once."];
  if (kind === "stop") return ["No hour was chosen: no other try is made."];
  if (kind === "wait") return ["No hour was chosen: no try is planned."];
  if (hours.length === 0) return reasons;
  const hasLikelier = chance !== null && hours.some((hour) => hundredths(hour.chance) > hundredths(chance));
  return [
    `The retry ${was} for ${when(zone, idealTime!)}; a few minutes are added, so that a bank does not get all tries in one second.`,
    ...(hourDrawn ? [HOUR_DRAWN] : []),
    ...(spread ? [SPREAD] : []),
    ...(account.drawn ? [DRAWN] : []),
    `Chances on ${dayWords(localDay(zone, hours[0]!.at.getTime()))}: ${hours.map(({ at, chance }) => `${percent(chance)} at ${clockWords(zone, at)}`).join(", ")}.`,
    ...(hasLikelier && !account.drawn && !hourDrawn && !spread ? [NOT_ONE_CHANCE] : []),
  ];
}
