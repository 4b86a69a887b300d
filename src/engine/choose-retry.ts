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

/** A retry right after a failure gets the same answer. */
export const MIN_WAIT_MS = 2 * HOUR_MS;
/** When a new card or confirmation is needed: the customer, or an account updater, acts once a day. */
export const MIN_CARD_WAIT_MS = 20 * HOUR_MS;
/** Between the last slot and the window's end. */
const LAST_SLOT_MARGIN_MS = HOUR_MS / 2;
export const lastSlotTime = ({ windowEndsAt }: RetryContext) => windowEndsAt - LAST_SLOT_MARGIN_MS;
/**
 * Fraction of cases not worth retrying that are retried as if retries cost nothing, to correct wrong estimates. Higher after
 * codes with few observed retries.
 */
export const NOT_WORTH_RETRYING_RATE = 0.05;
/** After this many retries with a code, half its cases not worth retrying are retried. */
export const NOT_WORTH_RETRYING_HALF_COUNT = 30;

export interface RetryContext {
  /** Names the case and determines random choices, so they repeat on the same facts. */
  key: string;
  now: number;
  windowEndsAt: number;
  triesLeft: number;
  /** Whether some retries may be sampled to learn from them. Otherwise nothing is random, except while predictions fail. */
  explores: boolean;
  allow(at: number): boolean;
  /** Limits that the remaining retries together could exceed. */
  limits: readonly PlanLimit[];
  /** Amount due, approximate. */
  dollars: number;
  stakes: RetryValue;
}

/** The plan from which a retry was chosen. Not calibrated. Valid until the next decision, which reuses the workspace. */
export interface WeighedPlan {
  forecast: Forecast;
  plan: RetryPlan;
  /** Slots of the plan, with a sampled slot in place of its next one. */
  tries: readonly number[];
  /** Includes the margin, also if the case was planned as if retries cost nothing. */
  stakes: RetryValue;
  /** The plan's value by slot of its next retry; null if no sampling needed it. */
  worth: readonly number[] | null;
}

export interface ChosenRetry {
  at: number;
  /** Calibrated probability of success. */
  chance: number;
  /** Over all times it sums to one, or to the retried fraction of cases not worth retrying. */
  propensity: number;
  /** Planned times if this one fails. */
  next: readonly number[];
  drawn: boolean;
  hourDrawn: boolean;
  /** Whether the case is not worth retrying, but is one of the few retried all the same. */
  hopeless: boolean;
  /** Whether the retry is spaced evenly, because recent predictions failed. */
  spread: boolean;
  weighed: WeighedPlan;
}

/** Returns null if no allowed retry is worth its cost and the margin, except for a few cases. Pure. */
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
    // No plan contains this hour, so its value as the next retry is computed here.
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
 * Banks use codes differently, so an estimate means little before retries at that bank confirm it. Without exploring, all cases
 * are retried until enough retries were observed, and none afterwards.
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
 * Earliest first: every slot of the first day, since hours count after a bank fault; some hours of later days; and the window's
 * last slot.
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

/** Checks every fourth hour. */
export function allowedTimesOfDay(belief: CasePosterior, question: RetryContext, at: number): number[] {
  const first = Math.floor(slotOf(belief, at) / SLOTS_PER_DAY) * SLOTS_PER_DAY;
  const soonest = earliestRetryTime(belief, question);
  const last = lastSlotTime(question);
  return Array.from(
    { length: SLOTS_PER_DAY },
    (_, n) => (first + n) * SLOT_MS + FIRST_SLOT_OFFSET_MS - belief.clock.offsetMs,
  ).filter((moment) => moment >= soonest && moment < last && question.allow(moment));
}

/** Ignores other invoices' charges: a customer charged each hour would never be retried. */
export const earliestRetryTime = (belief: CasePosterior, { now }: RetryContext): number =>
  Math.max(now + 1, belief.lastTriedAt + minWaitAfter(belief));

export const minWaitAfter = ({ reason }: CasePosterior): number =>
  reason !== "FIRST" && endsRetries(reason) ? MIN_CARD_WAIT_MS : MIN_WAIT_MS;
