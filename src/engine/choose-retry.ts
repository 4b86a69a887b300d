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
import { type Reason, WEIGHT_STARTS } from "./learned/model-layout.ts";
import { chanceOf } from "./learned/observe.ts";
import { hasSettlementPattern, IMMEDIATE } from "./learned/settlement.ts";
import { findFollowingSlots, planRetries, type RetryPlan, valuesByNextSlot } from "./plan-retries.ts";
import { EXPENSIVE_COST_RATE, type RetryValue, withMargin } from "./retry-value.ts";
import { endsRetries } from "./rules/decline-groups.ts";
import type { PlanLimit } from "./rules/plan-limits.ts";
import { evenlySpacedRate, evenlySpacedSlot } from "./space-evenly.ts";
import { uniformHash } from "./uniform-hash.ts";

/** A bank's fault or a full limit may end within hours, and debits are collected only once a day. */
const SHORTEST_WAIT_MS = 2 * HOUR_MS;
/** As a share of the window. Retries within hours of other declines seldom succeed, and make issuers suspicious. */
const WAIT_SHARE = 1 / 9;
const LONGEST_WAIT_MS = DAY_MS;
/** If a new card or confirmation is needed: customers and account updaters act once a day. */
const CARD_WAIT_MS = 20 * HOUR_MS;
const SHORT_WAIT_REASONS: ReadonlySet<Reason> = new Set(["ISSUER_DOWN", "LIMIT"]);
const LAST_SLOT_MARGIN_MS = HOUR_MS / 2;
export const lastSlotTime = ({ windowEndsAt }: RetryContext) => windowEndsAt - LAST_SLOT_MARGIN_MS;
/** Retried as if retries cost nothing, to correct wrong estimates. Higher after codes with few observed retries. */
export const NOT_WORTH_RETRYING_RATE = 0.05;
/** After this many retries with a code, half its cases not worth retrying are retried. */
export const NOT_WORTH_RETRYING_HALF_COUNT = 30;

export interface RetryContext {
  /** Determines random choices, so they repeat on the same facts. */
  key: string;
  now: number;
  windowEndsAt: number;
  /** The whole recovery window. */
  windowMs: number;
  retriesLeft: number;
  /** If false, nothing is random, except while predictions fail. */
  explores: boolean;
  allow(at: number): boolean;
  /** Whether the merchant allows no retry at this hour on any day; absent: each hour is allowed. */
  isQuietHour?: ((at: number) => boolean) | null;
  /** Limits that the remaining retries together could exceed. */
  limits: readonly PlanLimit[];
  dollars: number;
  retryValue: RetryValue;
}

/** Not calibrated. Valid until the next decision, which reuses the workspace. */
export interface WeighedPlan {
  forecast: Forecast;
  plan: RetryPlan;
  /** With a sampled slot in place of its next one. */
  slots: readonly number[];
  /** Includes the margin, even if planned as if retries cost nothing. */
  retryValue: RetryValue;
  /** By slot of the next retry; null if no sampling needed it. */
  valuesBySlot: readonly number[] | null;
}

export interface ChosenRetry {
  at: number;
  /** Calibrated probability of success. */
  chance: number;
  /** Sums over all times to one, or to the retried fraction of cases not worth retrying. */
  propensity: number;
  nextTimes: readonly number[];
  isSampled: boolean;
  isHourSampled: boolean;
  /** Retried although it is not worth it. */
  isNotWorthRetrying: boolean;
  /** Because recent predictions failed. */
  isEvenlySpaced: boolean;
  weighedPlan: WeighedPlan;
}

/** Null if no allowed retry is worth its cost and the margin, except for a few cases. Pure. */
export function chooseRetry(
  model: LearnedModel,
  posterior: CasePosterior,
  retryContext: RetryContext,
): ChosenRetry | null {
  const retryKey = `${retryContext.key}:${posterior.retryCount}`;
  const retryValue = withMargin(retryContext.retryValue, model, retryContext.dollars);
  let slots = findCandidateSlots(posterior, retryContext, (isUsable) => findGoodHours(model, posterior, isUsable));
  if (slots.length === 0) return null;
  let forecast = buildForecast(model, posterior, slots);
  let planRetryValue = retryValue;
  const planWithout = (excludedSlot?: number) =>
    planRetries(forecast, retryContext.retriesLeft, planRetryValue, retryContext.limits, excludedSlot);
  let plan = planWithout();
  const isNotWorthRetrying = plan.slots.length === 0;
  const retriedShare = isNotWorthRetrying ? notWorthRetryingRate(model, posterior, retryContext) : 1;
  const evenShare = evenlySpacedRate(model, posterior, retryContext, isNotWorthRetrying);
  const isEvenlySpaced = uniformHash(`${retryKey}:spread`) < evenShare;
  if (isNotWorthRetrying) {
    if (!isEvenlySpaced && uniformHash(`${retryContext.key}:hopeless`) >= retriedShare) return null;
    planRetryValue = { ...retryValue, cost: 0 };
    plan = planWithout();
  }
  if (plan.slots.length === 0) return null;
  const valuesBySlot =
    retryContext.explores && posterior.retryCount === 0 ? valuesByNextSlot(forecast, plan, planRetryValue) : null;
  const bestSlot = plan.slots[0]!;
  const plannedAt = slots[bestSlot]!;
  const slotChoice = valuesBySlot
    ? chooseFirstRetry(model, posterior, retryContext.key, forecast, plan, valuesBySlot, retryContext.dollars)
    : withoutExploration(bestSlot);
  const chanceAt = (at: number) => chanceOf(model, posterior, at);
  const hourChoice = retryContext.explores
    ? chooseHour(model, posterior, retryKey, plannedAt, allowedTimesOfDay(posterior, retryContext, plannedAt), chanceAt)
    : withoutHourExploration(plannedAt);
  const evenlySpacedAt = slots[evenlySpacedSlot(slots, posterior, retryContext)]!;
  const at = isEvenlySpaced ? evenlySpacedAt : slotChoice.isSampled ? slots[slotChoice.slot]! : hourChoice.at;
  const sampledShare = slots.indexOf(at) === bestSlot ? 0 : slotChoice.propensityOf(slots.indexOf(at));
  const propensity =
    (1 - evenShare) * retriedShare * (sampledShare + slotChoice.propensityOf(bestSlot) * hourChoice.propensityOf(at));
  let slot = slots.indexOf(at);
  if (slot < 0) {
    // No plan contains this hour, so its value as the next retry is computed here.
    slots = [...slots, at].sort((a, b) => a - b);
    slot = slots.indexOf(at);
    forecast = buildForecast(model, posterior, slots);
    plan = planWithout(slot);
  }
  const chosenSlots = [slot, ...findFollowingSlots(forecast, plan, slot)];
  return {
    at,
    chance: calibrate(model, calibrationIndex(posterior), chanceAt(at)),
    propensity: at === evenlySpacedAt ? propensity + evenShare : propensity,
    nextTimes: chosenSlots.slice(1).map((following) => slots[following]!),
    isSampled: slotChoice.isSampled && !isEvenlySpaced,
    isHourSampled: !isEvenlySpaced && !slotChoice.isSampled && at !== plannedAt,
    isNotWorthRetrying,
    isEvenlySpaced,
    weighedPlan: { forecast, plan, slots: chosenSlots, retryValue, valuesBySlot },
  };
}

/**
 * Banks use codes differently, so estimates mean little before retries at that bank confirm them. Without exploring, all cases
 * are retried until enough retries were observed, and none afterwards.
 */
function notWorthRetryingRate(
  { seen }: LearnedModel,
  { codeFeature }: CasePosterior,
  { explores, retryValue }: RetryContext,
): number {
  if (retryValue.cost >= EXPENSIVE_COST_RATE) return 0;
  const halfCount = NOT_WORTH_RETRYING_HALF_COUNT;
  const retryCount = seen[codeFeature - WEIGHT_STARTS.name]!;
  return explores
    ? Math.max(NOT_WORTH_RETRYING_RATE, halfCount / (halfCount + retryCount))
    : Number(retryCount < halfCount);
}

/** Earliest first: every slot of the first day after the decline, since hours count after a bank fault; two of each later day; the last slot. */
function findCandidateSlots(
  posterior: CasePosterior,
  retryContext: RetryContext,
  hoursAmong: (isUsable?: (slot: number) => boolean) => readonly number[],
): number[] {
  const { now, allow, isQuietHour } = retryContext;
  const allHours = hoursAmong();
  // A day whose best hours are quiet still has others.
  const hoursOf = (n: number) =>
    isQuietHour ? hoursAmong((slot) => !isQuietHour(timeOf(n - slotOfDay(n) + slot))) : allHours;
  const slots: number[] = [];
  const earliestAt = earliestRetryTime(posterior, retryContext);
  const lastAt = lastSlotTime(retryContext);
  const timeOf = (n: number) => n * SLOT_MS + FIRST_SLOT_OFFSET_MS - posterior.clock.offsetMs;
  for (let n = Math.ceil(slotOf(posterior, earliestAt)); ; n++) {
    const at = timeOf(n);
    if (at >= lastAt) break;
    if ((at < now + DAY_MS || hoursOf(n).includes(slotOfDay(n))) && allow(at)) slots.push(at);
  }
  if (lastAt >= earliestAt && allow(lastAt)) slots.push(lastAt);
  return slots;
}

/** Checks every fourth hour. */
export function allowedTimesOfDay(posterior: CasePosterior, retryContext: RetryContext, at: number): number[] {
  const first = Math.floor(slotOf(posterior, at) / SLOTS_PER_DAY) * SLOTS_PER_DAY;
  const earliestAt = earliestRetryTime(posterior, retryContext);
  const lastAt = lastSlotTime(retryContext);
  return Array.from(
    { length: SLOTS_PER_DAY },
    (_, n) => (first + n) * SLOT_MS + FIRST_SLOT_OFFSET_MS - posterior.clock.offsetMs,
  ).filter((time) => time >= earliestAt && time < lastAt && retryContext.allow(time));
}

/** Ignores other invoices' charges: a customer charged each hour would never be retried. */
export const earliestRetryTime = (posterior: CasePosterior, retryContext: RetryContext): number =>
  Math.max(retryContext.now + 1, posterior.lastTriedAt + minWaitOf(posterior, retryContext));

/** Between the last decline and the next retry. */
export const minWaitOf = ({ reason, clock }: CasePosterior, { windowMs }: RetryContext): number =>
  waitAfter(reason, clock.booking === IMMEDIATE, windowMs);

/** As `minWaitOf`, from the decline alone. */
export const minWaitAfter = (reason: Reason, paymentMethodType: string | null, windowMs: number): number =>
  waitAfter(reason, !hasSettlementPattern(paymentMethodType), windowMs);

function waitAfter(reason: Reason, isAnsweredAtOnce: boolean, windowMs: number): number {
  if (reason !== "FIRST" && endsRetries(reason)) return CARD_WAIT_MS;
  if (!isAnsweredAtOnce || SHORT_WAIT_REASONS.has(reason)) return SHORTEST_WAIT_MS;
  return Math.max(SHORTEST_WAIT_MS, Math.min(LONGEST_WAIT_MS, WAIT_SHARE * windowMs));
}
