import type { DecisionAccount } from "../domain/decision.ts";
import { DAY_MS } from "../domain/durations.ts";
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
import { chanceOf } from "./learned/observe.ts";
import { evaluateSets, findFollowingSlots, planRetries, valuesByNextSlot } from "./plan-retries.ts";
import { withMargin } from "./retry-value.ts";
import { findBankDebit } from "./rules/bank-debits.ts";
import { type Instrument, isCard } from "./rules/instrument.ts";
import { keepsLimit } from "./rules/plan-limits.ts";
import { roundShare } from "./shares.ts";
import { EVENLY_SPACED_RETRY_COUNT, evenlySpacedDays, nearestSlot } from "./space-evenly.ts";

const CARD_PLAN_CAVEAT =
  "A model overrates its own plans: in simulations with cards and six retries, they recovered 1 to 6 points less than predicted.";
const DEBIT_PLAN_CAVEAT = "In simulations with bank debits, plans recovered as much as predicted";
const UNMEASURED_CAVEAT =
  "A model overrates its own plans. By how much is unknown for payments that are neither cards nor bank debits.";

/** `debits`: plans that are bank debits; `others`: neither debits nor cards. Figures: `npm run lab -- promises`. */
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
export function evenlySpacedCaveat(paidBy: Instrument, isPlanned = true): string {
  if (findBankDebit(paidBy.paymentMethodType)) return DEBIT_COMPARISON_CAVEAT;
  if (!isCard(paidBy)) return UNMEASURED_CAVEAT;
  return isPlanned ? CARD_COMPARISON_CAVEAT : CARD_EVENLY_SPACED_CAVEAT;
}

export type Alternatives = Pick<DecisionAccount, "days" | "hours" | "even">;

interface ComparedTime {
  at: number;
  value: number;
}

/**
 * Probabilities are calibrated. Every value includes the margin, even if the case is not worth retrying.
 *
 * @param now  excludes earlier times
 */
export function compareAlternatives(
  model: LearnedModel,
  posterior: CasePosterior,
  retryContext: RetryContext,
  chosen: ChosenRetry,
  now: number,
): Alternatives {
  const index = calibrationIndex(posterior);
  const chanceAt = (at: number) => chanceOf(model, posterior, at);
  const calibrated = (at: number) => roundShare(calibrate(model, index, chanceAt(at)));
  const isOpen = (at: number) => at >= now || at === chosen.at;
  const compared = listComparedTimes(chosen).filter(({ at }) => isOpen(at));
  return {
    days: bestTimePerDay(posterior, compared).map(({ at, value }) => ({
      at: new Date(at),
      chance: calibrated(at),
      worth: roundShare(value),
    })),
    hours: compareHours(posterior, retryContext, chosen.at, compared)
      .filter(({ at }) => isOpen(at))
      .map(({ at, value }) => ({
        at: new Date(at),
        chance: calibrated(at),
        worth: value === null ? null : roundShare(value),
      })),
    even: evaluateEvenlySpaced(posterior, chosen, retryContext),
  };
}

export interface BestTime {
  at: number;
  /** For this time alone; a chosen retry may differ by a few points. */
  chance: number;
  /** Fractions of the amount due. `mustBring`: the margin beyond the cost. */
  cost: number;
  mustBring: number;
  /** Probability from which the retry is worth making. */
  minChance: number;
}

/** Null if no time is left. */
export function compareWithoutRetry(
  model: LearnedModel,
  posterior: CasePosterior,
  retryContext: RetryContext,
  now: number,
): { best: BestTime; outlook: Alternatives } | null {
  const { dollars } = retryContext;
  const retryValue = withMargin(retryContext.retryValue, model, dollars);
  const { cost } = retryContext.retryValue;
  // Free retries, so that one is chosen from the same times.
  const freeRetryValue = { ...retryContext.retryValue, cost: cost - retryValue.cost };
  const contextFromNow = { ...retryContext, now: Math.max(retryContext.now, now) };
  const chosen = chooseRetry(model, posterior, { ...contextFromNow, retryValue: freeRetryValue });
  if (!chosen) return null;
  const { forecast, plan } = chosen.weighedPlan;
  const values = evaluateSets(
    forecast,
    plan.picked.map((slot) => [slot]),
    retryValue,
  );
  const bestIndex = values.reduce((found, { value }, n) => (value > values[found]!.value ? n : found), 0);
  const at = forecast.slots[plan.picked[bestIndex]!]!;
  const best = {
    at,
    chance: values[bestIndex]!.recovers,
    cost,
    mustBring: retryValue.cost - cost,
    minChance: retryValue.cost / retryValue.valueAt(at),
  };
  const withoutChosen = { ...chosen, weighedPlan: { ...chosen.weighedPlan, slots: [], retryValue } };
  return {
    best,
    outlook: { days: [], hours: [], even: evaluateEvenlySpaced(posterior, withoutChosen, contextFromNow) },
  };
}

function listComparedTimes({
  isNotWorthRetrying,
  weighedPlan: { forecast, plan, retryValue, valuesBySlot: knownValues },
}: ChosenRetry): ComparedTime[] {
  const values = (!isNotWorthRetrying && knownValues) || valuesByNextSlot(forecast, plan, retryValue);
  return plan.picked.map((slot, n) => ({ at: forecast.slots[slot]!, value: values[n]! }));
}

const localDayOf = ({ clock: { offsetMs } }: CasePosterior, at: number) => Math.floor((at + offsetMs) / DAY_MS);

function bestTimePerDay(posterior: CasePosterior, compared: readonly ComparedTime[]): ComparedTime[] {
  const bestTimes: ComparedTime[] = [];
  for (const time of compared) {
    const last = bestTimes.at(-1);
    if (!last || localDayOf(posterior, last.at) !== localDayOf(posterior, time.at)) bestTimes.push(time);
    else if (time.value > last.value) bestTimes[bestTimes.length - 1] = time;
  }
  return bestTimes;
}

/** Returns every fourth hour at which a retry is allowed. */
function compareHours(
  posterior: CasePosterior,
  retryContext: RetryContext,
  chosenAt: number,
  compared: readonly ComparedTime[],
): { at: number; value: number | null }[] {
  const day = localDayOf(posterior, chosenAt);
  const valueByTime = new Map<number, number | null>(
    allowedTimesOfDay(posterior, retryContext, chosenAt).map((at) => [at, null]),
  );
  for (const time of compared) if (localDayOf(posterior, time.at) === day) valueByTime.set(time.at, time.value);
  return [...valueByTime].map(([at, value]) => ({ at, value })).sort((a, b) => a.at - b.at);
}

/** Six retries, or as many as fit. Only future, allowed ones count. */
function evaluateEvenlySpaced(
  posterior: CasePosterior,
  chosen: ChosenRetry,
  retryContext: RetryContext,
): DecisionAccount["even"] {
  const { weighedPlan } = chosen;
  const { windowEndsAt, windowMs, retriesLeft, limits } = retryContext;
  const { forecast, retryValue } = weighedPlan;
  const earliestAt = earliestRetryTime(posterior, retryContext);
  const count = Math.min(EVENLY_SPACED_RETRY_COUNT, posterior.retryCount + retriesLeft);
  const evenTimes = evenlySpacedDays(windowMs / DAY_MS, count)
    .map((days) => windowEndsAt - windowMs + days * DAY_MS)
    .filter((at) => at >= earliestAt && retryContext.allow(at));
  const evenSlots: number[] = [];
  const times: number[] = [];
  for (const at of evenTimes) {
    const slot = nearestSlot(forecast.slots, at);
    const time = forecast.slots[slot]!;
    if (evenSlots.length === retriesLeft || evenSlots.includes(slot)) continue;
    if (!limits.every((limit) => keepsLimit(limit, times, time))) continue;
    evenSlots.push(slot);
    times.push(time);
  }
  // Only for a case's first plan.
  const isCompared = posterior.retryCount === 0 && weighedPlan.slots.length > evenSlots.length && evenSlots.length > 0;
  const fewer = isCompared ? planWithFewerRetries(evenSlots.length, chosen) : null;
  const [evenlySpaced, planned, asMany] = evaluateSets(
    forecast,
    [evenSlots, weighedPlan.slots, ...(fewer ? [fewer] : [])],
    retryValue,
  );
  const dates = (slots: readonly number[]) => slots.map((slot) => new Date(forecast.slots[slot]!));
  return {
    tries: dates(evenSlots),
    recovers: roundShare(evenlySpaced!.recovers),
    worth: roundShare(evenlySpaced!.value),
    plan: dates(weighedPlan.slots),
    planRecovers: roundShare(planned!.recovers),
    planWorth: roundShare(planned!.value),
    asMany: asMany ? { recovers: roundShare(asMany.recovers), worth: roundShare(asMany.value) } : null,
  };
}

/** Plans again: in one case of three, a longer plan's first retries are worth less than evenly spaced ones. */
function planWithFewerRetries(
  count: number,
  { isNotWorthRetrying, isSampled, isHourSampled, isEvenlySpaced, weighedPlan }: ChosenRetry,
): number[] {
  const { forecast, plan, slots, retryValue } = weighedPlan;
  const planRetryValue = isNotWorthRetrying ? { ...retryValue, cost: 0 } : retryValue;
  const fewer = planRetries(forecast, count, planRetryValue, plan.limits, plan.excludedSlot, plan.apartMs);
  if (!isSampled && !isHourSampled && !isEvenlySpaced) return [...fewer.slots];
  return [slots[0]!, ...findFollowingSlots(forecast, fewer, slots[0]!)];
}
