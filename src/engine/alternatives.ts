import type { DecisionAccount } from "../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import {
  allowedTimesOfDay,
  type ChosenRetry,
  chooseRetry,
  earliestRetryTime,
  type RetryContext,
} from "./choose-retry.ts";
import { calibrate, calibrationIndex } from "./learned/calibrate.ts";
import type { CasePosterior } from "./learned/case-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { createChanceFunction } from "./learned/observe.ts";
import { evaluateSets, findFollowingSlots, planFewerRetries, valuesByNextSlot } from "./plan-retries.ts";
import { withMargin } from "./retry-value.ts";
import { findBankDebit } from "./rules/bank-debits.ts";
import { type Instrument, isCard } from "./rules/instrument.ts";
import { keepsLimit } from "./rules/plan-limits.ts";
import { roundShare } from "./shares.ts";
import { EVENLY_SPACED_RETRY_COUNT, nearestSlot } from "./space-evenly.ts";

const CARD_PLAN_CAVEAT =
  "A model flatters the plans that it made: in simulated worlds of cards, with six tries, they recovered 1 to 6 points less than it said.";
const DEBIT_PLAN_CAVEAT = "In a simulated world of bank debits plans recovered what the model said of them";
const UNMEASURED_CAVEAT =
  "A model flatters the plans that it made; by how much was measured in no world of such payments, which are neither by card nor bank debits.";

/**
 * To be said beside what `plans` would recover, of which `debits` are for bank debits and `others` neither for those nor for cards; `npm run lab -- promises`
 * measures it, docs/measurements.md has the figures.
 */
export const listPlanCaveats = ({ plans, debits, others }: { plans: number; debits: number; others: number }) =>
  [
    ...(debits + others < plans ? [CARD_PLAN_CAVEAT] : []),
    ...(debits > 0 ? [`${DEBIT_PLAN_CAVEAT}.`] : []),
    ...(others > 0 ? [UNMEASURED_CAVEAT] : []),
  ].join(" ");

const CARD_COMPARISON_CAVEAT = `${CARD_PLAN_CAVEAT} Even tries recovered up to 6 points more than it said.`;
const CARD_EVENLY_SPACED_CAVEAT =
  "In simulated worlds of cards even tries recovered up to 6 points more than a model said.";
const DEBIT_COMPARISON_CAVEAT = `${DEBIT_PLAN_CAVEAT}, and even tries 6 to 11 points less.`;
/** The same, where even tries are beside the plan, if there is one: what holds for one way of paying does not for others. */
export function evenlySpacedCaveat(paidBy: Instrument, isPlanned = true): string {
  if (findBankDebit(paidBy.paymentMethodType)) return DEBIT_COMPARISON_CAVEAT;
  if (!isCard(paidBy)) return UNMEASURED_CAVEAT;
  return isPlanned ? CARD_COMPARISON_CAVEAT : CARD_EVENLY_SPACED_CAVEAT;
}

/** What else could have been done, and what it would have been worth by the same model. */
export type Alternatives = Pick<DecisionAccount, "days" | "hours" | "even">;

/** A moment that the next try was chosen from, and what the plan is worth with it there. */
interface ComparedTime {
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
export function compareAlternatives(
  learned: LearnedModel,
  belief: CasePosterior,
  question: RetryContext,
  chosen: ChosenRetry,
  unpaidAt: number,
  now: number,
): Alternatives {
  const of = calibrationIndex(belief);
  const chanceAt = createChanceFunction(learned, belief);
  const calibrated = (at: number) => roundShare(calibrate(learned, of, chanceAt(at)));
  const isOpen = (at: number) => at >= now || at === chosen.at;
  const compared = listComparedTimes(chosen).filter(({ at }) => isOpen(at));
  return {
    days: bestTimePerDay(belief, compared).map(({ at, worth }) => ({
      at: new Date(at),
      chance: calibrated(at),
      worth: roundShare(worth),
    })),
    hours: compareHours(belief, question, chosen.at, compared)
      .filter(({ at }) => isOpen(at))
      .map(({ at, worth }) => ({
        at: new Date(at),
        chance: calibrated(at),
        worth: worth === null ? null : roundShare(worth),
      })),
    even: evaluateEvenlySpaced(belief, chosen, question, unpaidAt),
  };
}

/** The moment whose try alone would bring most, in a case in which none is worth making. */
export interface BestTime {
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
 * @param unpaidAt  as for `compareAlternatives`
 * @param now  no moment before it is left
 */
export function compareWithoutRetry(
  learned: LearnedModel,
  belief: CasePosterior,
  question: RetryContext,
  unpaidAt: number,
  now: number,
): { best: BestTime; outlook: Alternatives } | null {
  const { dollars } = question;
  const stakes = withMargin(question.stakes, learned, dollars);
  const { cost } = question.stakes;
  // As if tries cost nothing: then some would be chosen, from the same moments.
  const free = { ...question.stakes, cost: cost - stakes.cost };
  const asked = { ...question, now: Math.max(question.now, now) };
  const chosen = chooseRetry(learned, belief, { ...asked, stakes: free });
  if (!chosen) return null;
  const { forecast, plan } = chosen.weighed;
  const alone = evaluateSets(
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
  return { best, outlook: { days: [], hours: [], even: evaluateEvenlySpaced(belief, none, asked, unpaidAt) } };
}

function listComparedTimes({
  hopeless,
  weighed: { forecast, plan, stakes, worth: known },
}: ChosenRetry): ComparedTime[] {
  const worth = (!hopeless && known) || valuesByNextSlot(forecast, plan, stakes);
  return plan.picked.map((slot, n) => ({ at: forecast.slots[slot]!, worth: worth[n]! }));
}

const localDayOf = ({ clock: { offsetMs } }: CasePosterior, at: number) => Math.floor((at + offsetMs) / DAY_MS);

/** The best one of each local day: the first day has several, and another one may have two. */
function bestTimePerDay(belief: CasePosterior, compared: readonly ComparedTime[]): ComparedTime[] {
  const best: ComparedTime[] = [];
  for (const one of compared) {
    const last = best.at(-1);
    if (!last || localDayOf(belief, last.at) !== localDayOf(belief, one.at)) best.push(one);
    else if (one.worth > last.worth) best[best.length - 1] = one;
  }
  return best;
}

/** Every fourth hour of the local day of a moment, as far as a try is allowed then, with what was compared that day. */
function compareHours(
  belief: CasePosterior,
  question: RetryContext,
  chosenAt: number,
  compared: readonly ComparedTime[],
): { at: number; worth: number | null }[] {
  const day = localDayOf(belief, chosenAt);
  const worth = new Map<number, number | null>(allowedTimesOfDay(belief, question, chosenAt).map((at) => [at, null]));
  for (const one of compared) if (localDayOf(belief, one.at) === day) worth.set(one.at, one.worth);
  return [...worth].map(([at, worth]) => ({ at, worth })).sort((a, b) => a.at - b.at);
}

/** Six tries spread evenly over the window, or as many as may be made in it, the last one an hour before its end: those that are still to come, and allowed. */
function evaluateEvenlySpaced(
  belief: CasePosterior,
  chosen: ChosenRetry,
  question: RetryContext,
  unpaidAt: number,
): DecisionAccount["even"] {
  const { weighed } = chosen;
  const { windowEndsAt, triesLeft, limits } = question;
  const { forecast, stakes } = weighed;
  const soonest = earliestRetryTime(belief, question);
  const count = Math.min(EVENLY_SPACED_RETRY_COUNT, belief.tries + triesLeft);
  const wanted = Array.from(
    { length: count },
    (_, n) => unpaidAt + ((windowEndsAt - unpaidAt) * (n + 1)) / count - (n + 1 === count ? HOUR_MS : 0),
  ).filter((at) => at >= soonest && question.allow(at));
  const tries: number[] = [];
  const moments: number[] = [];
  for (const at of wanted) {
    const slot = nearestSlot(forecast.slots, at);
    const moment = forecast.slots[slot]!;
    if (tries.length === triesLeft || tries.includes(slot)) continue;
    if (!limits.every((limit) => keepsLimit(limit, moments, moment))) continue;
    tries.push(slot);
    moments.push(moment);
  }
  // It is asked about the first plan of a case.
  const isAsked = belief.tries === 0 && weighed.tries.length > tries.length && tries.length > 0;
  const fewer = isAsked ? planWithFewerRetries(tries.length, chosen) : null;
  const [even, planned, asMany] = evaluateSets(forecast, [tries, weighed.tries, ...(fewer ? [fewer] : [])], stakes);
  const dates = (slots: readonly number[]) => slots.map((slot) => new Date(forecast.slots[slot]!));
  return {
    tries: dates(tries),
    recovers: roundShare(even!.recovers),
    worth: roundShare(even!.worth),
    plan: dates(weighed.tries),
    planRecovers: roundShare(planned!.recovers),
    planWorth: roundShare(planned!.worth),
    asMany: asMany ? { recovers: roundShare(asMany.recovers), worth: roundShare(asMany.worth) } : null,
  };
}

/** The plan as it would be with so many tries at most: its own first ones would be fewer of another plan, worth less than even tries in one case of three. */
function planWithFewerRetries(count: number, { hopeless, drawn, hourDrawn, spread, weighed }: ChosenRetry): number[] {
  const { forecast, plan, tries, stakes } = weighed;
  const fewer = planFewerRetries(forecast, count, hopeless ? { ...stakes, cost: 0 } : stakes, plan);
  if (!drawn && !hourDrawn && !spread) return [...fewer.slots];
  return [tries[0]!, ...findFollowingSlots(forecast, fewer, tries[0]!)];
}
