import type { Account } from "../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import type { Belief } from "../model/belief.ts";
import type { Learned } from "../model/learned.ts";
import { chancesOf } from "../model/observe.ts";
import { trimmed, trimOf } from "../model/trim.ts";
import { bankDebit } from "../rules/bank-debits.ts";
import { type Instrument, isCard } from "../rules/instrument.ts";
import { keepsLimit } from "../rules/plan-limits.ts";
import { type ChosenTry, chooseTry, momentsOfDay, soonestOf, type TryQuestion } from "./choose-try.ts";
import { followers, judge, planFewer, worthOfNext } from "./plan-tries.ts";
import { rounded } from "./shares.ts";
import { EVEN_TRIES, nearest } from "./spread-evenly.ts";
import { withMargin } from "./stakes.ts";

const CARDS_FLATTERED =
  "A model flatters the plans that it made: in simulated worlds of cards, with six tries, they recovered 1 to 6 points less than it said.";
const DEBITS_AS_SAID = "In a simulated world of bank debits plans recovered what the model said of them";
const NOT_MEASURED =
  "A model flatters the plans that it made; by how much was measured in no world of such payments, which are neither by card nor bank debits.";

/**
 * To be said beside what `plans` would recover, of which `debits` are for bank debits and `others` neither for those nor for cards; `npm run bench:promises`
 * measures it, docs/measurements.md has the figures.
 */
export const besidePlans = ({ plans, debits, others }: { plans: number; debits: number; others: number }) =>
  [
    ...(debits + others < plans ? [CARDS_FLATTERED] : []),
    ...(debits > 0 ? [`${DEBITS_AS_SAID}.`] : []),
    ...(others > 0 ? [NOT_MEASURED] : []),
  ].join(" ");

const CARDS_BESIDE_EVEN = `${CARDS_FLATTERED} Even tries recovered up to 6 points more than it said.`;
const CARDS_EVEN_ALONE = "In simulated worlds of cards even tries recovered up to 6 points more than a model said.";
const DEBITS_BESIDE_EVEN = `${DEBITS_AS_SAID}, and even tries 6 to 11 points less.`;
/** The same, where even tries are beside the plan, if there is one: what holds for one way of paying does not for others. */
export function besideEven(paidBy: Instrument, isPlanned = true): string {
  if (bankDebit(paidBy.paymentMethodType)) return DEBITS_BESIDE_EVEN;
  if (!isCard(paidBy)) return NOT_MEASURED;
  return isPlanned ? CARDS_BESIDE_EVEN : CARDS_EVEN_ALONE;
}

/** What else could have been done, and what it would have been worth by the same model. */
export type Outlook = Pick<Account, "days" | "hours" | "even">;

/** A moment that the next try was chosen from, and what the plan is worth with it there. */
interface Compared {
  at: number;
  worth: number;
}

/**
 * The alternatives to a try that was chosen. Chances are calibrated, and all are weighed with the margin, also in a case that is tried although no
 * try seems worth making.
 *
 * @param unpaidAt  start of the window, from which six even tries would be spread
 * @param now  what had passed by then is no alternative, though moments are weighed from the last news on
 */
export function outlookOf(
  learned: Learned,
  belief: Belief,
  question: TryQuestion,
  chosen: ChosenTry,
  unpaidAt: number,
  now: number,
): Outlook {
  const of = trimOf(belief);
  const chanceAt = chancesOf(learned, belief);
  const calibrated = (at: number) => rounded(trimmed(learned, of, chanceAt(at)));
  const isOpen = (at: number) => at >= now || at === chosen.at;
  const compared = comparedBy(chosen).filter(({ at }) => isOpen(at));
  return {
    days: bestOfDays(belief, compared).map(({ at, worth }) => ({
      at: new Date(at),
      chance: calibrated(at),
      worth: rounded(worth),
    })),
    hours: hoursOf(belief, question, chosen.at, compared)
      .filter(({ at }) => isOpen(at))
      .map(({ at, worth }) => ({
        at: new Date(at),
        chance: calibrated(at),
        worth: worth === null ? null : rounded(worth),
      })),
    even: evenTries(belief, chosen, question, unpaidAt),
  };
}

/** The moment whose try alone would bring most, in a case in which none is worth making. */
export interface BestMoment {
  at: number;
  /** That it succeeds, as it was weighed: of a moment that is chosen it is said as worked out for that one alone, which differs by a few points. */
  chance: number;
  /** What it costs, and with the margin what it must bring, as shares of the amount due. */
  cost: number;
  mustBring: number;
  /** From this chance on it would be worth making. */
  worthFrom: number;
}

/**
 * What there was in a case in which no try is worth making: its best moment, and even tries; null where no moment is left to be chosen.
 *
 * @param unpaidAt  as for `outlookOf`
 * @param now  no moment before it is left
 */
export function outlookWithoutTry(
  learned: Learned,
  belief: Belief,
  question: TryQuestion,
  unpaidAt: number,
  now: number,
): { best: BestMoment; outlook: Outlook } | null {
  const { dollars } = question;
  const stakes = withMargin(question.stakes, learned, dollars);
  const { cost } = question.stakes;
  // As if tries cost nothing: then some would be chosen, from the same moments.
  const free = { ...question.stakes, cost: cost - stakes.cost };
  const asked = { ...question, now: Math.max(question.now, now) };
  const chosen = chooseTry(learned, belief, { ...asked, stakes: free });
  if (!chosen) return null;
  const { forecast, plan } = chosen.weighed;
  const alone = judge(
    forecast,
    plan.picked.map((slot) => [slot]),
    stakes,
  );
  const most = alone.reduce((found, { worth }, n) => (worth > alone[found]!.worth ? n : found), 0);
  const at = forecast.slots[plan.picked[most]!]!;
  const best = {
    at,
    chance: alone[most]!.recovers,
    cost,
    mustBring: stakes.cost - cost,
    worthFrom: stakes.cost / stakes.worthAt(at),
  };
  const none = { ...chosen, weighed: { ...chosen.weighed, tries: [], stakes } };
  return { best, outlook: { days: [], hours: [], even: evenTries(belief, none, asked, unpaidAt) } };
}

function comparedBy({ hopeless, weighed: { forecast, plan, stakes, worth: known } }: ChosenTry): Compared[] {
  const worth = (!hopeless && known) || worthOfNext(forecast, plan, stakes);
  return plan.picked.map((slot, n) => ({ at: forecast.slots[slot]!, worth: worth[n]! }));
}

const localDayOf = ({ clock: { offsetMs } }: Belief, at: number) => Math.floor((at + offsetMs) / DAY_MS);

/** The best one of each local day: the first day has several, and another one may have two. */
function bestOfDays(belief: Belief, compared: readonly Compared[]): Compared[] {
  const best: Compared[] = [];
  for (const one of compared) {
    const last = best.at(-1);
    if (!last || localDayOf(belief, last.at) !== localDayOf(belief, one.at)) best.push(one);
    else if (one.worth > last.worth) best[best.length - 1] = one;
  }
  return best;
}

/** Every fourth hour of the local day of a moment, as far as a try is allowed then, with what was compared that day. */
function hoursOf(
  belief: Belief,
  question: TryQuestion,
  chosenAt: number,
  compared: readonly Compared[],
): { at: number; worth: number | null }[] {
  const day = localDayOf(belief, chosenAt);
  const worth = new Map<number, number | null>(momentsOfDay(belief, question, chosenAt).map((at) => [at, null]));
  for (const one of compared) if (localDayOf(belief, one.at) === day) worth.set(one.at, one.worth);
  return [...worth].map(([at, worth]) => ({ at, worth })).sort((a, b) => a.at - b.at);
}

/** Six tries spread evenly over the window, or as many as may be made in it, the last one an hour before its end: those that are still to come, and allowed. */
function evenTries(belief: Belief, chosen: ChosenTry, question: TryQuestion, unpaidAt: number): Account["even"] {
  const { weighed } = chosen;
  const { windowEndsAt, triesLeft, limits } = question;
  const { forecast, stakes } = weighed;
  const soonest = soonestOf(belief, question);
  const count = Math.min(EVEN_TRIES, belief.tries + triesLeft);
  const wanted = Array.from(
    { length: count },
    (_, n) => unpaidAt + ((windowEndsAt - unpaidAt) * (n + 1)) / count - (n + 1 === count ? HOUR_MS : 0),
  ).filter((at) => at >= soonest && question.allow(at));
  const tries: number[] = [];
  const moments: number[] = [];
  for (const at of wanted) {
    const slot = nearest(forecast.slots, at);
    const moment = forecast.slots[slot]!;
    if (tries.length === triesLeft || tries.includes(slot)) continue;
    if (!limits.every((limit) => keepsLimit(limit, moments, moment))) continue;
    tries.push(slot);
    moments.push(moment);
  }
  // It is asked about the first plan of a case.
  const isAsked = belief.tries === 0 && weighed.tries.length > tries.length && tries.length > 0;
  const fewer = isAsked ? fewerTries(tries.length, chosen) : null;
  const [even, planned, asMany] = judge(forecast, [tries, weighed.tries, ...(fewer ? [fewer] : [])], stakes);
  const dates = (slots: readonly number[]) => slots.map((slot) => new Date(forecast.slots[slot]!));
  return {
    tries: dates(tries),
    recovers: rounded(even!.recovers),
    worth: rounded(even!.worth),
    plan: dates(weighed.tries),
    planRecovers: rounded(planned!.recovers),
    planWorth: rounded(planned!.worth),
    asMany: asMany ? { recovers: rounded(asMany.recovers), worth: rounded(asMany.worth) } : null,
  };
}

/** The plan as it would be with so many tries at most: its own first ones would be fewer of another plan, worth less than even tries in one case of three. */
function fewerTries(count: number, { hopeless, drawn, hourDrawn, spread, weighed }: ChosenTry): number[] {
  const { forecast, plan, tries, stakes } = weighed;
  const fewer = planFewer(forecast, count, hopeless ? { ...stakes, cost: 0 } : stakes, plan);
  if (!drawn && !hourDrawn && !spread) return [...fewer.slots];
  return [tries[0]!, ...followers(forecast, fewer, tries[0]!)];
}
