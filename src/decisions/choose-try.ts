import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import type { Belief } from "../model/belief.ts";
import { AT_ONCE } from "../model/booking.ts";
import { type Forecast, forecast } from "../model/forecast.ts";
import { AT, classOf, dayPartColumn, hourWeight } from "../model/layout.ts";
import type { Learned } from "../model/learned.ts";
import { probit } from "../model/normal.ts";
import { chanceOf } from "../model/observe.ts";
import { trimmed, trimOf } from "../model/trim.ts";
import { endsRetries } from "../rules/decline-groups.ts";
import type { PlanLimit } from "../rules/plan-limits.ts";
import { drawFirst, LOT_COST_MAX, noDraw } from "./draw-first.ts";
import { lot } from "./lot.ts";
import { followers, planTries, type TryPlan, worthOfNext } from "./plan-tries.ts";
import { evenSlot, spreadShare } from "./spread-evenly.ts";
import { DEAR, type Stakes, withMargin } from "./stakes.ts";

/** Tries are weighed at every fourth local hour. */
export const SLOT_MS = 4 * HOUR_MS;
const SLOTS_A_DAY = 6;
/** Slots begin at one in the night: just after the turn of the day, when limits start afresh. */
export const SLOT_START_MS = HOUR_MS;
/** A try right after one that failed would meet the same answer. */
const SOONEST_MS = 2 * HOUR_MS;
/** And longer where the card itself, or a confirmation, is what is missing: a person sees to it, or an updater's batch, of which there is one a day. */
const SOONEST_CARD_MS = 20 * HOUR_MS;
/** The last slot is this long before the window ends. */
const LAST_MS = HOUR_MS / 2;
export const lastOf = ({ windowEndsAt }: TryQuestion) => windowEndsAt - LAST_MS;
/**
 * Share of tries whose hour is drawn, by how likely each is believed to be the best one: else an hour that was never tried stays where
 * the prior put it.
 */
export const HOUR_DRAWN_SHARE = 0.2;
/**
 * Share of cases that are tried although no try seems worth making, as if tries cost nothing: else what is once believed to be hopeless is
 * never seen to be otherwise. At least so many; after a code that few tries were seen of, more.
 */
export const HOPELESS_TRIED_SHARE = 0.05;
/** When so many tries after a code were seen, half of the hopeless cases with it are tried. */
export const HOPELESS_HALF_TRIES = 30;

/** What is to be decided. */
export interface TryQuestion {
  /** Names the case: what is drawn for it falls the same way when it is decided again by what was known then. */
  key: string;
  now: number;
  windowEndsAt: number;
  triesLeft: number;
  /** Whether the rules allow a try then. */
  allow(at: number): boolean;
  /** What the rules allow of several tries together, as far as those that are left could be too many. */
  limits: readonly PlanLimit[];
  /** What is due, in US dollars, roughly. */
  dollars: number;
  stakes: Stakes;
}

/** What was weighed before a try was chosen. Chances are not calibrated. Good until the next decision is made: see `tables`. */
export interface Weighed {
  forecast: Forecast;
  plan: TryPlan;
  /** Slots of the try that was chosen and of those that follow it: the plan, but for what a draw put in place of its next try. */
  tries: readonly number[];
  /** With the margin, also where a hopeless case was planned as if tries cost nothing. */
  stakes: Stakes;
  /** What the plan is worth with its next try at each slot that it was chosen from; null where no lot asked for it. */
  worth: readonly number[] | null;
}

/** The next try, and what a person or a later evaluation may ask about it. */
export interface ChosenTry {
  at: number;
  /** The chance that it succeeds, calibrated. */
  chance: number;
  /** The chance with which lots chose this moment: 1 but for tries drawn by lot or spread evenly and those that might have been. The draw of an hour is not in it. */
  propensity: number;
  /** Expected worth of the plan, as a share of the amount due, before a draw put another moment in place of its next try. */
  value: number;
  /** The moments planned if this one fails, as of now. */
  next: readonly number[];
  drawn: boolean;
  /** Another moment would have been chosen, had its hour not been drawn. */
  hourDrawn: boolean;
  /** No try is worth making: the case is one of the few that are tried all the same. */
  hopeless: boolean;
  /** Spread evenly, since what is said does not come true of late. */
  spread: boolean;
  weighed: Weighed;
}

/**
 * When to try next; null when nothing allowed brings what it costs and the margin, but for a few cases.
 *
 * Pure: the same belief, question and `now` give the same answer.
 */
export function chooseTry(learned: Learned, belief: Belief, question: TryQuestion): ChosenTry | null {
  const turn = `${question.key}:${belief.tries}`;
  const hour = drawnHour(learned, belief, turn);
  const slots = slotsOf(belief, question, [...goodHours(learned, belief), ...(hour === null ? [] : [hour])]);
  if (slots.length === 0) return null;
  const seen = forecast(learned, belief, slots);
  const stakes = withMargin(question.stakes, learned, question.dollars);
  let asked = stakes;
  let plan = planTries(seen, question.triesLeft, asked, question.limits);
  const hopeless = plan.slots.length === 0;
  const triedShare = hopeless ? hopelessShare(learned, belief, question.stakes) : 1;
  const evenShare = spreadShare(learned, belief, question, hopeless);
  const spread = lot(`${turn}:spread`) < evenShare;
  if (hopeless) {
    if (!spread && lot(`${question.key}:hopeless`) >= triedShare) return null;
    asked = { ...stakes, cost: 0 };
    plan = planTries(seen, question.triesLeft, asked, question.limits);
  }
  const best = plan.slots[0];
  if (best === undefined) return null;
  const worth = belief.tries === 0 ? worthOfNext(seen, plan, asked, plan.picked) : null;
  const draw = worth ? drawFirst(learned, belief, question.key, seen, plan, worth) : noDraw(best);
  const even = evenSlot(slots, belief, question);
  const usual = spread ? even : draw.slot;
  const drawn = draw.drawn && !spread;
  const slot = spread || drawn || hour === null ? usual : bestAtHour(hour, belief, seen, plan, asked);
  const tries = [slot, ...followers(seen, plan, slot)];
  return {
    at: slots[slot]!,
    chance: trimmed(learned, trimOf(belief), chanceOf(learned, belief, slots[slot]!)),
    propensity: (1 - evenShare) * triedShare * draw.propensityOf(usual) + (slot === even ? evenShare : 0),
    value: plan.value,
    next: tries.slice(1).map((other) => slots[other]!),
    drawn,
    hourDrawn: slot !== usual,
    hopeless,
    spread,
    weighed: { forecast: seen, plan, tries, stakes, worth },
  };
}

/**
 * How many of the hopeless cases are tried. Banks differ in what they mean by a code, so what is believed of one is worth little before tries
 * have shown it.
 */
function hopelessShare({ seen }: Learned, { codeName }: Belief, { cost }: Stakes): number {
  if (cost >= DEAR) return 0;
  const half = HOPELESS_HALF_TRIES;
  return Math.max(HOPELESS_TRIED_SHARE, half / (half + seen[codeName - AT.name]!));
}

/**
 * The moments that may be chosen, earliest first: every slot of the first day, since after a fault at the bank hours
 * count, of later days those at some hours, and the last one of the window.
 */
function slotsOf(belief: Belief, question: TryQuestion, hours: readonly number[]): number[] {
  const { now, allow } = question;
  const slots: number[] = [];
  const soonest = soonestOf(belief, question);
  const last = lastOf(question);
  for (let n = Math.ceil(slotOf(belief, soonest)); ; n++) {
    const at = n * SLOT_MS + SLOT_START_MS - belief.clock.offsetMs;
    if (at >= last) break;
    if ((at < now + DAY_MS || hours.includes(modulo(n, SLOTS_A_DAY))) && allow(at)) slots.push(at);
  }
  if (last >= soonest && allow(last)) slots.push(last);
  return slots;
}

/** The first moment that may be chosen: what comes of other bills puts it off by no wait, or a customer who is charged each hour would never be tried. */
export const soonestOf = (belief: Belief, { now }: TryQuestion): number =>
  Math.max(now + 1, belief.lastTriedAt + gapAfter(belief));

/** How long after such a decline no try is made. */
export const gapAfter = ({ reason }: Belief): number =>
  reason !== "FIRST" && endsRetries(reason) ? SOONEST_CARD_MS : SOONEST_MS;

/** A whole number at the beginning of a slot. */
const slotOf = ({ clock: { offsetMs } }: Belief, at: number) => (at + offsetMs - SLOT_START_MS) / SLOT_MS;
const modulo = (n: number, by: number) => ((n % by) + by) % by;
const hourOf = (slot: number) => (slot * SLOT_MS + SLOT_START_MS) / HOUR_MS;
/** The weight of an hour of the day, as a slot, for such declines. */
const weightOfHour = ({ reason }: Belief, slot: number) => hourWeight(classOf(reason), hourOf(slot));
/** What is believed of an hour: for such declines, and for such cases. */
function scoreOfHour({ mean }: Learned, belief: Belief, slot: number): number {
  // What is booked with all else of a day has no hour.
  if (belief.clock.booking !== AT_ONCE) return 0;
  const column = dayPartColumn(hourOf(slot));
  let score = mean[weightOfHour(belief, slot)]!;
  for (const row of belief.rows) score += mean[row + column]!;
  return score;
}

/** The slot of each half of the local day with the best hour for such a case. */
function goodHours(learned: Learned, belief: Belief): number[] {
  const half = SLOTS_A_DAY / 2;
  return [0, half].map((from) => {
    let best = from;
    let most = Number.NEGATIVE_INFINITY;
    for (let slot = from; slot < from + half; slot++) {
      const score = scoreOfHour(learned, belief, slot);
      // Of hours that are alike the latest is taken: what is booked in the morning is there by then.
      if (score < most) continue;
      most = score;
      best = slot;
    }
    return best;
  });
}

/**
 * The hour of the day, as a slot, that is best by one draw from what is believed of each; null where this turn draws none. What is not known of
 * its rows is not drawn: each would be explored anew, and what all of them say of an hour tells enough to look there.
 */
function drawnHour(learned: Learned, belief: Belief, turn: string): number | null {
  if (lot(`${turn}:hour`) >= HOUR_DRAWN_SHARE) return null;
  let best = 0;
  let most = Number.NEGATIVE_INFINITY;
  for (let slot = 0; slot < SLOTS_A_DAY; slot++) {
    const deviation = Math.sqrt(learned.variance[weightOfHour(belief, slot)]!);
    const drawn = scoreOfHour(learned, belief, slot) + deviation * probit(lot(`${slot}:${turn}`));
    if (drawn <= most) continue;
    most = drawn;
    best = slot;
  }
  return best;
}

/** The slot at that hour with which, as the next try, the plan is worth most; the plan's own next one where each would cost too much. */
function bestAtHour(hour: number, belief: Belief, forecast: Forecast, plan: TryPlan, stakes: Stakes): number {
  const slots = [...forecast.slots.keys()].filter(
    (slot) => modulo(slotOf(belief, forecast.slots[slot]!), SLOTS_A_DAY) === hour,
  );
  const worth = worthOfNext(forecast, plan, stakes, slots);
  const most = Math.max(...worth);
  return most < (1 - LOT_COST_MAX) * plan.value ? plan.slots[0]! : slots[worth.indexOf(most)]!;
}
