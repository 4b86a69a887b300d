import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { chooseFirstRetry, withoutExploration } from "./explore-first-retry.ts";
import {
  chooseHour,
  FIRST_SLOT_OFFSET_MS,
  findGoodHours,
  SLOT_MS,
  SLOTS_PER_DAY,
  slotOf,
  slotOfDay,
  withoutHourExploration,
} from "./hour-slots.ts";
import { calibrate, calibrationIndex } from "./learned/calibrate.ts";
import type { CasePosterior } from "./learned/case-posterior.ts";
import { buildForecast, type Forecast } from "./learned/forecast.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { WEIGHT_STARTS } from "./learned/model-layout.ts";
import { createChanceFunction } from "./learned/observe.ts";
import { findFollowingSlots, planRetries, type RetryPlan, valuesByNextSlot } from "./plan-retries.ts";
import { EXPENSIVE_COST_RATE, type RetryValue, withMargin } from "./retry-value.ts";
import { endsRetries } from "./rules/decline-groups.ts";
import type { PlanLimit } from "./rules/plan-limits.ts";
import { evenlySpacedRate, evenlySpacedSlot } from "./space-evenly.ts";
import { uniformHash } from "./uniform-hash.ts";

/** A try right after one that failed would meet the same answer. */
export const MIN_WAIT_MS = 2 * HOUR_MS;
/** And longer where the card itself, or a confirmation, is what is missing: a person sees to it, or an updater's batch, of which there is one a day. */
export const MIN_CARD_WAIT_MS = 20 * HOUR_MS;
/** The last slot is this long before the window ends. */
const LAST_SLOT_MARGIN_MS = HOUR_MS / 2;
export const lastSlotTime = ({ windowEndsAt }: RetryContext) => windowEndsAt - LAST_SLOT_MARGIN_MS;
/**
 * Share of cases that are tried although no try seems worth making, as if tries cost nothing: else what is once believed to be hopeless is
 * never seen to be otherwise. At least so many; after a code that few tries were seen of, more.
 */
export const NOT_WORTH_RETRYING_RATE = 0.05;
/** When so many tries after a code were seen, half of the hopeless cases with it are tried. */
export const NOT_WORTH_RETRYING_HALF_COUNT = 30;

/** The question to decide. */
export interface RetryContext {
  /** Names the case: what is drawn for it falls the same way when it is decided again by what was known then. */
  key: string;
  now: number;
  windowEndsAt: number;
  triesLeft: number;
  /** Whether a share of retries may be sampled to learn from them. Without it nothing is random, except while predictions do not come true. */
  explores: boolean;
  /** Whether the rules allow a try then. */
  allow(at: number): boolean;
  /** The limits for several retries together, if the retries left could exceed them. */
  limits: readonly PlanLimit[];
  /** The amount due, roughly in US dollars. */
  dollars: number;
  stakes: RetryValue;
}

/** What was weighed before a try was chosen. Chances are not calibrated. Good until the next decision is made: see `tables`. */
export interface WeighedPlan {
  forecast: Forecast;
  plan: RetryPlan;
  /** Slots of the try that was chosen and of those that follow it: the plan, but for what a draw put in place of its next try. */
  tries: readonly number[];
  /** With the margin, also where a hopeless case was planned as if tries cost nothing. */
  stakes: RetryValue;
  /** What the plan is worth with its next try at each slot that it was chosen from; null where no lot asked for it. */
  worth: readonly number[] | null;
}

/** The next try, and what a person or a later evaluation may ask about it. */
export interface ChosenRetry {
  at: number;
  /** The chance that it succeeds, calibrated. */
  chance: number;
  /** The chance with which this moment was to be chosen, and any at all: over all moments they sum to one, or to the share of hopeless cases that is tried. */
  propensity: number;
  /** The moments planned if this one fails, as of now. */
  next: readonly number[];
  drawn: boolean;
  /** Another moment would have been chosen, had its hour not been drawn. */
  hourDrawn: boolean;
  /** No try is worth making: the case is one of the few that are tried all the same. */
  hopeless: boolean;
  /** Spread evenly, since what is said does not come true of late. */
  spread: boolean;
  weighed: WeighedPlan;
}

/**
 * When to try next; null when nothing allowed brings what it costs and the margin, but for a few cases.
 *
 * Pure: the same belief, question and `now` give the same answer.
 */
export function chooseRetry(learned: LearnedModel, belief: CasePosterior, question: RetryContext): ChosenRetry | null {
  const turn = `${question.key}:${belief.tries}`;
  const stakes = withMargin(question.stakes, learned, question.dollars);
  let slots = findCandidateSlots(belief, question, findGoodHours(learned, belief));
  if (slots.length === 0) return null;
  let forecast = buildForecast(learned, belief, slots);
  let planStakes = stakes;
  const planWithout = (aside?: number) => planRetries(forecast, question.triesLeft, planStakes, question.limits, aside);
  let plan = planWithout();
  const hopeless = plan.slots.length === 0;
  const triedShare = hopeless ? notWorthRetryingRate(learned, belief, question) : 1;
  const evenShare = evenlySpacedRate(learned, belief, question, hopeless);
  const spread = uniformHash(`${turn}:spread`) < evenShare;
  if (hopeless) {
    if (!spread && uniformHash(`${question.key}:hopeless`) >= triedShare) return null;
    planStakes = { ...stakes, cost: 0 };
    plan = planWithout();
  }
  if (plan.slots.length === 0) return null;
  const worth = question.explores && belief.tries === 0 ? valuesByNextSlot(forecast, plan, planStakes) : null;
  const best = plan.slots[0]!;
  const planned = slots[best]!;
  const draw = worth
    ? chooseFirstRetry(learned, belief, question.key, forecast, plan, worth, question.dollars)
    : withoutExploration(best);
  const chanceAt = createChanceFunction(learned, belief);
  const hour = question.explores
    ? chooseHour(learned, belief, turn, planned, allowedTimesOfDay(belief, question, planned), chanceAt)
    : withoutHourExploration(planned);
  const even = slots[evenlySpacedSlot(slots, belief, question)]!;
  const at = spread ? even : draw.drawn ? slots[draw.slot]! : hour.at;
  const lots = slots.indexOf(at) === best ? 0 : draw.propensityOf(slots.indexOf(at));
  const propensity = (1 - evenShare) * triedShare * (lots + draw.propensityOf(best) * hour.propensityOf(at));
  let slot = slots.indexOf(at);
  if (slot < 0) {
    // An hour that no plan is made with: what it is worth as the next try has to be foreseen beside the plan.
    slots = [...slots, at].sort((one, other) => one - other);
    slot = slots.indexOf(at);
    forecast = buildForecast(learned, belief, slots);
    plan = planWithout(slot);
  }
  const tries = [slot, ...findFollowingSlots(forecast, plan, slot)];
  return {
    at,
    chance: calibrate(learned, calibrationIndex(belief), chanceAt(at)),
    propensity: at === even ? propensity + evenShare : propensity,
    next: tries.slice(1).map((other) => slots[other]!),
    drawn: draw.drawn && !spread,
    hourDrawn: !spread && !draw.drawn && at !== planned,
    hopeless,
    spread,
    weighed: { forecast, plan, tries, stakes, worth },
  };
}

/**
 * How many of the cases not worth retrying are retried. Banks differ in the meaning of a code, so an estimate for one is worth little before retries
 * have confirmed it. Without exploring, all are retried until enough retries were seen, and none after that.
 */
function notWorthRetryingRate(
  { seen }: LearnedModel,
  { codeName }: CasePosterior,
  { explores, stakes }: RetryContext,
): number {
  if (stakes.cost >= EXPENSIVE_COST_RATE) return 0;
  const half = NOT_WORTH_RETRYING_HALF_COUNT;
  const tries = seen[codeName - WEIGHT_STARTS.name]!;
  return explores ? Math.max(NOT_WORTH_RETRYING_RATE, half / (half + tries)) : Number(tries < half);
}

/**
 * The moments that may be chosen, earliest first: every slot of the first day, since after a fault at the bank hours
 * count, of later days those at some hours, and the last one of the window.
 */
function findCandidateSlots(belief: CasePosterior, question: RetryContext, hours: readonly number[]): number[] {
  const { now, allow } = question;
  const slots: number[] = [];
  const soonest = earliestRetryTime(belief, question);
  const last = lastSlotTime(question);
  for (let n = Math.ceil(slotOf(belief, soonest)); ; n++) {
    const at = n * SLOT_MS + FIRST_SLOT_OFFSET_MS - belief.clock.offsetMs;
    if (at >= last) break;
    if ((at < now + DAY_MS || hours.includes(slotOfDay(n))) && allow(at)) slots.push(at);
  }
  if (last >= soonest && allow(last)) slots.push(last);
  return slots;
}

/** The moments of the local day of a moment at which a try may be made, at every fourth hour. */
export function allowedTimesOfDay(belief: CasePosterior, question: RetryContext, at: number): number[] {
  const first = Math.floor(slotOf(belief, at) / SLOTS_PER_DAY) * SLOTS_PER_DAY;
  const soonest = earliestRetryTime(belief, question);
  const last = lastSlotTime(question);
  return Array.from(
    { length: SLOTS_PER_DAY },
    (_, n) => (first + n) * SLOT_MS + FIRST_SLOT_OFFSET_MS - belief.clock.offsetMs,
  ).filter((moment) => moment >= soonest && moment < last && question.allow(moment));
}

/** The first moment that may be chosen: what comes of other bills puts it off by no wait, or a customer who is charged each hour would never be tried. */
export const earliestRetryTime = (belief: CasePosterior, { now }: RetryContext): number =>
  Math.max(now + 1, belief.lastTriedAt + minWaitAfter(belief));

/** How long after such a decline no try is made. */
export const minWaitAfter = ({ reason }: CasePosterior): number =>
  reason !== "FIRST" && endsRetries(reason) ? MIN_CARD_WAIT_MS : MIN_WAIT_MS;
