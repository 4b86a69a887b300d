import { isToEnd } from "../decisions/account.ts";
import { SOONEST_CARD_MS, SOONEST_MS } from "../decisions/choose-try.ts";
import { NOTHING_BEFORE } from "../decisions/learned-reasons.ts";
import {
  addDays,
  atLocalTime,
  clockWords,
  dayWords,
  type LocalDay,
  localDay,
  momentWords,
  type Zone,
} from "../decisions/local-time.ts";
import { hundredths, percent } from "../decisions/shares.ts";
import type { Account, DecisionRecord, HourProspect, Prospect, RuledOut } from "../domain/decision.ts";
import { HOUR_MS } from "../domain/durations.ts";
import { readDecline } from "../rules/decline-group.ts";
import { endsRetries } from "../rules/decline-groups.ts";
import { askedFor, askedTo } from "./asked-for.ts";
import type { Explained } from "./explain.ts";
import { codesOf, instrumentOf } from "./known.ts";

export const when = (zone: Zone, at: Date) => momentWords(zone, at.getTime());

const isSameDay = (a: LocalDay, b: LocalDay) => dayWords(a) === dayWords(b) && a.year === b.year;

export const untilWords = (ruled: RuledOut, { case: kase }: Explained, zone: Zone) =>
  isToEnd(ruled, kase!.windowEndsAt) ? "the end of the window" : when(zone, ruled.to);

const FIXED_RULES = "Fixed rules name the next moment, and compare it with no other:";

/** Beside what would have been asked for in shadow mode at a moment that has passed. */
export const STANDS =
  "What would come next is decided when something new is known, such as the next try of the merchant's own system.";

/** Whether it would have been asked for by now, had nothing new come to be known: nobody follows what is planned in shadow mode. */
export const isPastInShadow = ({ case: kase, now }: Explained, { kind, idealTime }: DecisionRecord) =>
  kase!.arm === "shadow" && kind === "retry" && idealTime! < now;

/** Said before reasons that were given for a moment that has passed. */
export const saidThen = ({ madeAt }: DecisionRecord, zone: Zone) => `What was said of it on ${when(zone, madeAt)}:`;

/** Why no try is made today, if none is. */
export function whyNotToday(explained: Explained, latest: DecisionRecord, zone: Zone): string[] {
  const { case: kase, actions, now } = explained;
  if (kase!.endedAt) return ["Nothing is tried any more: see why it stopped."];
  const dayOf = (at: Date) => localDay(zone, at.getTime());
  const today = dayOf(now);
  const { account, idealTime, actionId } = latest;
  const { days, ruledOut } = account;
  if (latest.kind === "card_change") return [`${askedFor(account.reasons)} comes first: see why a card change.`];
  const ruling = ruledOut.find(({ from, to }) => from <= now && now < to);
  if (latest.kind !== "retry")
    return ["No try is planned.", ...(ruling ? ruleWords(ruling, explained, zone) : account.reasons.slice(-1))];
  if (isPastInShadow(explained, latest))
    return [`A retry would have been asked for, on ${when(zone, idealTime!)}. ${STANDS}`];
  if (actions.some(({ id, decidedAt }) => id === actionId && decidedAt !== null) && idealTime! < now)
    return [`A retry was asked for, on ${when(zone, idealTime!)}, and what comes of it is awaited first.`];
  if (isSameDay(dayOf(idealTime!), today)) return ["It is today."];
  const dayEnds = atLocalTime(zone, addDays(today, 1), 0);
  const rule = ruledOut.find(({ from, to }) => from.getTime() < dayEnds && to.getTime() >= dayEnds);
  if (rule) return ruleWords(rule, explained, zone);
  // Nothing but what was learned compares days.
  const [first] = days;
  if (!first) return [...(ruling ? ruleWords(ruling, explained, zone) : [FIXED_RULES, ...account.reasons])];
  // What ends today leaves some of it, but no moment that is weighed need lie there.
  if (ruling && !days.some(({ at }) => at >= ruling.to && at.getTime() < dayEnds))
    return ruleWords(ruling, explained, zone);
  const best = days.find(({ at }) => isSameDay(dayOf(at), today));
  const others = days
    .filter((day) => day !== best && Math.abs(+day.at - +idealTime!) > SAME_MS && day.at > now)
    .sort((a, b) => b.worth - a.worth)
    .slice(0, 3);
  const more = ({ worth }: Prospect) => hundredths(worth) - hundredths(account.even!.planWorth);
  const shown = [...others, ...(best ? [best] : [])];
  return [
    best ? todaysBest(best, now, zone) : +first.at >= dayEnds ? firstWords(explained, latest, zone) : NOT_COMPARED,
    `The one that was chosen, ${when(zone, idealTime!)}: ${prospectWords({ chance: latest.chance!, worth: account.even!.planWorth })}`,
    ...drawnWords(account),
    ...others.map(
      (day) =>
        `${more(day) > 0 ? "Worth more" : more(day) === 0 ? "As good" : "The next best"}, ${when(zone, day.at)}: a chance of ${percent(day.chance)}, worth ${percent(day.worth)}.`,
    ),
    ...(shown.some((day) => more(day) === 0) ? [AS_GOOD] : []),
    ...(!isDrawn(account) && shown.some((day) => more(day) > 0) ? [STEP_BY_STEP] : []),
  ];
}

const ruleWords = (rule: RuledOut, explained: Explained, zone: Zone) => [
  `A rule leaves no try until ${untilWords(rule, explained, zone)}: ${rule.rule}`,
  `Source: ${rule.source}.`,
];

/** A try is a few minutes after the moment it was chosen for. */
const SAME_MS = HOUR_MS;

const todaysBest = (best: Prospect, now: Date, zone: Zone) =>
  `Of today's moments that were compared the best ${best.at > now ? "is" : "was"} ${when(zone, best.at)}${best.at > now ? "" : ", which has passed"}: ${prospectWords(best)}`;

/** Why the first day of which a moment was compared is a later one: an outage, or the wait after the last try. */
function firstWords({ case: kase, transactions }: Explained, latest: DecisionRecord, zone: Zone): string {
  const { madeAt, account } = latest;
  const day = `The first day with a moment that could be chosen is ${dayWords(localDay(zone, account.days[0]!.at.getTime()))}`;
  const outage = account.reasons.find((reason) => reason.includes(NOTHING_BEFORE));
  if (outage) return `${day}. ${outage}`;
  const last = transactions.findLast(({ amount, createdAt }) => amount > 0 && createdAt <= madeAt);
  const lastAt = last?.createdAt ?? kase!.unpaidAt;
  const isOfCard = last?.state === "FAILED" && endsRetries(readDecline(codesOf(last), instrumentOf(last)).group);
  const gap = isOfCard ? SOONEST_CARD_MS : SOONEST_MS;
  const what = last ? "the last try was" : "no try was reported, and the invoice became unpaid";
  if (+lastAt + gap <= +madeAt)
    return `${day}: it was decided on ${when(zone, madeAt)}, and of what was left of that day no moment was weighed: ${FOURTH_HOUR}.`;
  return `${day}: ${what} on ${when(zone, lastAt)}. No moment is weighed within ${isOfCard ? CARD_HOURS : "two hours"} of that, and then ${FOURTH_HOUR}.`;
}

const CARD_HOURS = "twenty hours, as the card itself or a confirmation is missing,";
const FOURTH_HOUR = "every fourth hour is, as far as rules allow it";

const NOT_COMPARED =
  "No moment of today was compared: after the first day it is the likeliest moment of each 24 hours, and none of those is today.";

const prospectWords = ({ chance, worth }: Pick<Prospect, "chance" | "worth">) =>
  `a chance of ${percent(chance)}, and with the tries planned after it worth ${percent(worth)} of the amount.`;

const DRAWN =
  "The moment was drawn by lot, to go on learning: among good ones, or sooner than planned where few first tries were made so soon.";
const HOUR_DRAWN =
  "In one try of five the hour is drawn, by how likely each is believed to be the best one, to go on learning: so was this one, on the day that is best.";
const SPREAD =
  "Of late far fewer tries were approved than was said, in cases that began with such a decline, so some are spread evenly until it comes true again: so was this one.";
const AS_GOOD =
  "Moments that are worth the same to the percent are as good as each other: which of them is chosen makes no difference that could be told.";
export const STEP_BY_STEP =
  "A plan is found step by step among the likeliest moments of the days, so now and then another one is worth a little more.";

type Draws = Pick<Account, "drawn" | "hourDrawn" | "spread">;

const isDrawn = ({ drawn, hourDrawn, spread }: Draws) => drawn || hourDrawn || spread;

/** Why another moment than the plan's next one was chosen, if it was. */
export const drawnWords = ({ drawn, hourDrawn, spread }: Draws): string[] => [
  ...(spread ? [SPREAD] : []),
  ...(drawn ? [DRAWN] : []),
  ...(hourDrawn ? [HOUR_DRAWN] : []),
];

/** Of a case that is over people ask about the last try. */
export function whyThisHour(explained: Explained, latest: DecisionRecord, zone: Zone) {
  const { case: kase, decisions, actions, now } = explained;
  if (kase!.arm === "shadow" && !kase!.endedAt)
    return hourWords(latest, isPastInShadow(explained, latest) ? "would have been" : "would be", zone);
  if (!kase!.endedAt) return hourWords(latest, latest.idealTime && latest.idealTime < now ? "was" : "is", zone);
  if (kase!.arm === "shadow") {
    const last = decisions.findLast(({ kind }) => kind === "retry");
    return last ? hourWords(last, "would have been", zone) : ["No retry would have been made."];
  }
  const done = actions.findLast(
    ({ type, status }) => type === "RETRY" && (status === "SUCCEEDED" || status === "FAILED"),
  );
  if (!done) {
    const retries = actions.filter(({ type }) => type === "RETRY");
    if (retries.length === 0) return ["No hour was chosen: no retry was planned."];
    return retries.some(({ decidedAt }) => decidedAt !== null)
      ? ["No retry that was asked for is known to have been carried out."]
      : ["A retry was planned, and the case ended before it was asked for."];
  }
  const plans = decisions.filter(({ actionId }) => actionId === done.id);
  const [first, last] = [plans[0], plans.at(-1)];
  if (!first || !last) return ["What was decided of the last retry is kept no longer."];
  const anew = last === first ? "" : `, and anew on ${when(zone, last.madeAt)}`;
  return [
    `The last retry was planned on ${when(zone, first.madeAt)}${anew}.`,
    ...hourWords(last, "was", zone),
    ...(last.account.hours.length > 0 ? [saidThen(last, zone), ...last.account.reasons] : []),
  ];
}

function hourWords(decision: DecisionRecord, was: string, zone: Zone): string[] {
  const { kind, idealTime, account } = decision;
  const { hours, reasons } = account;
  if (kind === "card_change") return [`No hour was chosen: the customer is asked at once ${askedTo(reasons)}.`];
  if (kind === "stop") return ["No hour was chosen: no other try is made."];
  if (kind === "wait") return ["No hour was chosen: no try is planned."];
  if (hours.length === 0) return reasons;
  return [
    `The retry ${was} for ${when(zone, idealTime!)}; a few minutes are added, so that a bank does not get all tries in one second.`,
    ...drawnWords(account),
    `Chances on ${dayWords(localDay(zone, hours[0]!.at.getTime()))}: ${hours.map(({ at, chance }) => `${percent(chance)} at ${clockWords(zone, at.getTime())}`).join(", ")}.`,
    ...(isDrawn(account) ? [] : likelierWords(decision, zone)),
    ...(hours.length > 1 && new Set(hours.map(({ chance }) => hundredths(chance))).size === 1 ? [ANY_HOUR] : []),
  ];
}

const ANY_HOUR = "To the percent these hours are as good as each other.";

/** "01:00, 17:00 and 21:00" */
const LISTED = new Intl.ListFormat("en-GB");

/** Why none of the likelier hours of the day was chosen. */
function likelierWords({ chance, account: { hours, even } }: DecisionRecord, zone: Zone): string[] {
  // Earlier programs kept of no hour what it was worth.
  if (hours.every(({ worth }) => worth === null)) return [];
  const likelier = hours.filter((hour) => hundredths(hour.chance) > hundredths(chance!));
  const isMore = ({ worth }: HourProspect) => hundredths(worth!) > hundredths(even!.planWorth);
  const compared = likelier.filter(({ worth }) => worth !== null);
  const said = (those: readonly HourProspect[], words: string) =>
    those.length > 0 ? [`At ${LISTED.format(those.map(({ at }) => clockWords(zone, at.getTime())))} ${words}`] : [];
  return [
    ...said(
      compared.filter((hour) => !isMore(hour)),
      "the chance was higher, but no more would have been gained: what counts is what a try is worth together with those that can follow it.",
    ),
    ...said(compared.filter(isMore), `more would have been gained. ${STEP_BY_STEP}`),
    ...said(
      likelier.filter(({ worth }) => worth === null),
      "the chance was higher, but that was not compared: after the first day one moment of each 24 hours is, the likelier of two hours of the day that seem good for such declines.",
    ),
  ];
}
