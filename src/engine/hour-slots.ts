import { HOUR_MS } from "../domain/durations.ts";
import type { CasePosterior } from "./learned/case-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { classOf, dayPartColumn, hourWeight } from "./learned/model-layout.ts";
import { probit } from "./learned/normal-distribution.ts";
import { IMMEDIATE } from "./learned/settlement.ts";
import { uniformHash } from "./uniform-hash.ts";

/** Tries are weighed at every fourth local hour. */
export const SLOT_MS = 4 * HOUR_MS;
export const SLOTS_PER_DAY = 6;
/** Slots begin at one in the night: just after the turn of the day, when limits start afresh. */
export const FIRST_SLOT_OFFSET_MS = HOUR_MS;
/**
 * Share of tries whose hour is drawn, by how likely each is believed to be the best one: else an hour that was never tried stays where
 * the prior put it.
 */
export const HOUR_EXPLORATION_RATE = 0.2;
/** An hour may be drawn whose chance is at least this part of the planned one's. */
export const MIN_RELATIVE_CHANCE = 0.95;
/** How likely each hour is to be the best one is told by so many draws from what is believed of all of them, the same for every case. */
const SCENARIO_COUNT = 64;
const SCENARIO_SAMPLES = Float64Array.from({ length: SCENARIO_COUNT * SLOTS_PER_DAY }, (_, n) =>
  probit(uniformHash(`scenario ${n}`)),
);

/** Counted from 1970 in local time; a whole number at the beginning of a slot. */
export const slotOf = ({ clock: { offsetMs } }: CasePosterior, at: number) =>
  (at + offsetMs - FIRST_SLOT_OFFSET_MS) / SLOT_MS;

/** Which slot of its day. */
export const slotOfDay = (slot: number) => ((slot % SLOTS_PER_DAY) + SLOTS_PER_DAY) % SLOTS_PER_DAY;

const hourOf = (slot: number) => (slot * SLOT_MS + FIRST_SLOT_OFFSET_MS) / HOUR_MS;
/** The weight of an hour of the day, as a slot, for such declines. */
const hourWeightOf = ({ reason }: CasePosterior, slot: number) => hourWeight(classOf(reason), hourOf(slot));
/** What is believed of an hour: for such declines, and for such cases. */
function hourScore({ mean }: LearnedModel, belief: CasePosterior, slot: number): number {
  // What is booked with all else of a day has no hour.
  if (belief.clock.booking !== IMMEDIATE) return 0;
  const column = dayPartColumn(hourOf(slot));
  let score = mean[hourWeightOf(belief, slot)]!;
  for (const row of belief.rows) score += mean[row + column]!;
  return score;
}

/** The slot of each half of the local day with the best hour for such a case. */
export function findGoodHours(learned: LearnedModel, belief: CasePosterior): number[] {
  const half = SLOTS_PER_DAY / 2;
  return [0, half].map((from) => {
    let best = from;
    let most = Number.NEGATIVE_INFINITY;
    for (let slot = from; slot < from + half; slot++) {
      const score = hourScore(learned, belief, slot);
      // Of hours that are alike the latest is taken: what is booked in the morning is there by then.
      if (score < most) continue;
      most = score;
      best = slot;
    }
    return best;
  });
}

/** The moment of a try on a planned day, and the chance with which each of that day was to be chosen. */
interface HourChoice {
  at: number;
  propensityOf(at: number): number;
}

/** The planned time, if no hour is sampled. */
export const withoutHourExploration = (planned: number): HourChoice => ({
  at: planned,
  propensityOf: (at) => Number(at === planned),
});

/**
 * The planned moment, or in one turn of five an hour of its day that is drawn. What is not known of a case's rows is not drawn: each would be
 * explored anew, and what all of them say of an hour tells enough to look there.
 *
 * @param turn  names the case and its try: the same is drawn when it is decided again
 * @param ofDay  the moments of the planned day at which a try may be made
 * @param chanceAt  the chance of a try at a moment
 */
export function chooseHour(
  learned: LearnedModel,
  belief: CasePosterior,
  turn: string,
  planned: number,
  ofDay: readonly number[],
  chanceAt: (at: number) => number,
): HourChoice {
  const least = MIN_RELATIVE_CHANCE * chanceAt(planned);
  const moments = [planned, ...ofDay.filter((at) => at !== planned && chanceAt(at) >= least)];
  const hours = moments.map((at) => {
    const slot = slotOfDay(Math.floor(slotOf(belief, at)));
    const deviation = Math.sqrt(learned.variance[hourWeightOf(belief, slot)]!);
    return { slot, score: hourScore(learned, belief, slot), deviation };
  });
  const bestIn = (scenario: number) => {
    let best = 0;
    let most = Number.NEGATIVE_INFINITY;
    for (const [n, { slot, score, deviation }] of hours.entries()) {
      const drawn = score + deviation * SCENARIO_SAMPLES[scenario * SLOTS_PER_DAY + slot]!;
      if (drawn <= most) continue;
      most = drawn;
      best = n;
    }
    return best;
  };
  const often = new Float64Array(moments.length);
  for (let scenario = 0; scenario < SCENARIO_COUNT; scenario++)
    often[bestIn(scenario)]! += HOUR_EXPLORATION_RATE / SCENARIO_COUNT;
  often[0]! += 1 - HOUR_EXPLORATION_RATE;
  const drawn = uniformHash(`${turn}:hour`) / HOUR_EXPLORATION_RATE;
  return {
    at: drawn < 1 ? moments[bestIn(Math.floor(drawn * SCENARIO_COUNT))]! : planned,
    propensityOf: (at) => often[moments.indexOf(at)] ?? 0,
  };
}
