import { HOUR_MS } from "../domain/durations.ts";
import type { CasePosterior } from "./learned/case-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { classOf, dayPartColumn, hourWeight } from "./learned/model-layout.ts";
import { probit } from "./learned/normal-distribution.ts";
import { IMMEDIATE } from "./learned/settlement.ts";
import { uniformHash } from "./uniform-hash.ts";

/** In local time. */
export const SLOT_MS = 4 * HOUR_MS;
export const SLOTS_PER_DAY = 6;
/** One falls just after midnight, when daily limits restart. */
export const FIRST_SLOT_OFFSET_MS = HOUR_MS;
/**
 * Fraction of retries whose hour is sampled, by its probability of being the best. Otherwise an hour without retries would keep
 * its prior.
 */
export const HOUR_EXPLORATION_RATE = 0.2;
/** Relative to the planned hour's. */
export const MIN_RELATIVE_CHANCE = 0.95;
/** From all hours' posterior, the same for every case. */
const SCENARIO_COUNT = 64;
const SCENARIO_SAMPLES = Float64Array.from({ length: SCENARIO_COUNT * SLOTS_PER_DAY }, (_, n) =>
  probit(uniformHash(`scenario ${n}`)),
);

/** Local slots since 1970; whole when a slot begins. */
export const slotOf = ({ clock: { offsetMs } }: CasePosterior, at: number) =>
  (at + offsetMs - FIRST_SLOT_OFFSET_MS) / SLOT_MS;

export const slotOfDay = (slot: number) => ((slot % SLOTS_PER_DAY) + SLOTS_PER_DAY) % SLOTS_PER_DAY;

const hourOf = (slot: number) => (slot * SLOT_MS + FIRST_SLOT_OFFSET_MS) / HOUR_MS;
const hourWeightOf = ({ reason }: CasePosterior, slot: number) => hourWeight(classOf(reason), hourOf(slot));
function hourScore({ mean }: LearnedModel, posterior: CasePosterior, slot: number): number {
  if (posterior.clock.booking !== IMMEDIATE) return 0;
  const column = dayPartColumn(hourOf(slot));
  let score = mean[hourWeightOf(posterior, slot)]!;
  for (const row of posterior.rows) score += mean[row + column]!;
  return score;
}

/** The best slot of each half of a day, if one is usable. */
export function findGoodHours(
  model: LearnedModel,
  posterior: CasePosterior,
  isUsable: (slot: number) => boolean = () => true,
): number[] {
  const halfDay = SLOTS_PER_DAY / 2;
  return [0, halfDay].flatMap((from) => {
    let bestSlot: number | null = null;
    let most = Number.NEGATIVE_INFINITY;
    for (let slot = from; slot < from + halfDay; slot++) {
      if (!isUsable(slot)) continue;
      const score = hourScore(model, posterior, slot);
      // The latest of equal hours: payments booked in the morning have arrived.
      if (score < most) continue;
      most = score;
      bestSlot = slot;
    }
    return bestSlot ?? [];
  });
}

interface HourChoice {
  at: number;
  propensityOf(at: number): number;
}

export const withoutHourExploration = (plannedAt: number): HourChoice => ({
  at: plannedAt,
  propensityOf: (at) => Number(at === plannedAt),
});

/**
 * Returns the planned time, or for one retry in five a sampled hour of its day. Ignores a case's own rows' uncertainty: each
 * would be explored again.
 *
 * @param retryKey  names the case and its retry, which is always sampled the same way
 * @param ofDay  the planned day's allowed times
 */
export function chooseHour(
  model: LearnedModel,
  posterior: CasePosterior,
  retryKey: string,
  plannedAt: number,
  ofDay: readonly number[],
  chanceAt: (at: number) => number,
): HourChoice {
  const minChance = MIN_RELATIVE_CHANCE * chanceAt(plannedAt);
  const times = [plannedAt, ...ofDay.filter((at) => at !== plannedAt && chanceAt(at) >= minChance)];
  const hours = times.map((at) => {
    const slot = slotOfDay(Math.floor(slotOf(posterior, at)));
    const deviation = Math.sqrt(model.variance[hourWeightOf(posterior, slot)]!);
    return { slot, score: hourScore(model, posterior, slot), deviation };
  });
  const bestIn = (scenario: number) => {
    let bestIndex = 0;
    let most = Number.NEGATIVE_INFINITY;
    for (const [n, { slot, score, deviation }] of hours.entries()) {
      const sampledScore = score + deviation * SCENARIO_SAMPLES[scenario * SLOTS_PER_DAY + slot]!;
      if (sampledScore <= most) continue;
      most = sampledScore;
      bestIndex = n;
    }
    return bestIndex;
  };
  const propensities = new Float64Array(times.length);
  for (let scenario = 0; scenario < SCENARIO_COUNT; scenario++)
    propensities[bestIn(scenario)]! += HOUR_EXPLORATION_RATE / SCENARIO_COUNT;
  propensities[0]! += 1 - HOUR_EXPLORATION_RATE;
  const draw = uniformHash(`${retryKey}:hour`) / HOUR_EXPLORATION_RATE;
  return {
    at: draw < 1 ? times[bestIn(Math.floor(draw * SCENARIO_COUNT))]! : plannedAt,
    propensityOf: (at) => propensities[times.indexOf(at)] ?? 0,
  };
}
