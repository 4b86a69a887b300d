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
  "A model overrates its own plans: in simulations with cards and six retries, they recovered 1 to 6 points less than predicted.";
const DEBIT_PLAN_CAVEAT = "In simulations with bank debits, plans recovered as much as predicted";
const UNMEASURED_CAVEAT =
  "A model overrates its own plans. By how much is unknown for payments that are neither cards nor bank debits.";

/**
 * Returns the caveats for predicted recoveries: `debits` of the plans are bank debits, `others` neither debits nor cards. `npm
 * run lab -- promises` gives the figures, in docs/measurements.md.
 */
export const listPlanCaveats = ({ plans, debits, others }: { plans: number; debits: number; others: number }) =>
  [
    ...(debits + others < plans ? [CARD_PLAN_CAVEAT] : []),
    ...(debits > 0 ? [`${DEBIT_PLAN_CAVEAT}.`] : []),
    ...(others > 0 ? [UNMEASURED_CAVEAT] : []),
  ].join(" ");

const CARD_COMPARISON_CAVEAT = `${CARD_PLAN_CAVEAT} Evenly spaced retries recovered up to 6 points more than predicted.`;
const CARD_EVENLY_SPACED_CAVEAT =
  "In simulations with cards, evenly spaced retries recovered up to 6 points more than predicted.";
const DEBIT_COMPARISON_CAVEAT = `${DEBIT_PLAN_CAVEAT}, and evenly spaced retries 6 to 11 points less.`;
/** @param isPlanned  whether the caveat stands beside a plan */
export function evenlySpacedCaveat(paidBy: Instrument, isPlanned = true): string {
  if (findBankDebit(paidBy.paymentMethodType)) return DEBIT_COMPARISON_CAVEAT;
  if (!isCard(paidBy)) return UNMEASURED_CAVEAT;
  return isPlanned ? CARD_COMPARISON_CAVEAT : CARD_EVENLY_SPACED_CAVEAT;
}

export type Alternatives = Pick<DecisionAccount, "days" | "hours" | "even">;

/** A possible time, and the plan's value with its next retry there. */
interface ComparedTime {
  at: number;
  worth: number;
}

/**
 * Probabilities are calibrated, and every value includes the margin, also in a case retried although it is not worth retrying.
 *
 * @param unpaidAt  window start, from which six retries are spaced evenly
 * @param now  excludes earlier times, although plans are evaluated from the last news on
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

/** The best single retry in a case not worth retrying. */
export interface BestTime {
  at: number;
  /** Evaluated for this time alone; a chosen retry may differ by a few points. */
  chance: number;
  /** As fractions of the amount due. `mustBring`: the margin beyond the cost. */
  cost: number;
  mustBring: number;
  /** The probability from which the retry is worth making. */
  worthFrom: number;
}

/** Returns null if no time is left. Parameters as for `compareAlternatives`. */
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
  // As if retries cost nothing, so that one is chosen from the same times.
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

/** The first day has several times, and another day may have two. */
function bestTimePerDay(belief: CasePosterior, compared: readonly ComparedTime[]): ComparedTime[] {
  const best: ComparedTime[] = [];
  for (const one of compared) {
    const last = best.at(-1);
    if (!last || localDayOf(belief, last.at) !== localDayOf(belief, one.at)) best.push(one);
    else if (one.worth > last.worth) best[best.length - 1] = one;
  }
  return best;
}

/** Returns every fourth hour at which a retry is allowed. */
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

/** Six retries, or as many as the window allows, the last an hour before its end. Only future, allowed ones count. */
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
  // Only for a case's first plan.
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

/** Plans again: in one case of three, a longer plan's first retries are worth less than evenly spaced ones. */
function planWithFewerRetries(count: number, { hopeless, drawn, hourDrawn, spread, weighed }: ChosenRetry): number[] {
  const { forecast, plan, tries, stakes } = weighed;
  const fewer = planFewerRetries(forecast, count, hopeless ? { ...stakes, cost: 0 } : stakes, plan);
  if (!drawn && !hourDrawn && !spread) return [...fewer.slots];
  return [tries[0]!, ...findFollowingSlots(forecast, fewer, tries[0]!)];
}
