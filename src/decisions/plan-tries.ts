import { chanceAt, type Forecast } from "../model/forecast.ts";
import { phi } from "../model/normal.ts";
import { CYCLES } from "../model/pay-cycles.ts";

/** What a try is worth and costs, as shares of the amount due. */
export interface Stakes {
  /** What a recovery at that moment is worth. */
  worthAt(at: number): number;
  /** Cost of one try. */
  cost: number;
}

/** The tries to come, as seen now: only the first will be made for sure, the rest is planned anew after it. */
export interface TryPlan {
  /** Moments, earliest first; empty when no try is worth its cost. */
  at: readonly number[];
  /** Expected worth of the whole plan, as a share of the amount due. */
  value: number;
  /** The chance that the first try succeeds. */
  chance: number;
  /** For each slot: the chance if it were the very next try. */
  chances: Float64Array;
}

const DAY_MS = 86_400_000;
/** Two planned tries are at least this far apart. */
const APART_MS = 20 * 3_600_000;

/**
 * The set of tries worth most together.
 *
 * Only failure lets a case go on, so a plan is a set of moments. Its worth is a sum over explanations: how likely each
 * is, and what the tries reach if it is true. That way a second try on the same pay day counts for little, and one that
 * covers another explanation for much. Found greedily, then each try is moved to where it is best beside the others.
 *
 * @param tries  how many may be planned at most
 */
export function planTries(forecast: Forecast, tries: number, stakes: Stakes): TryPlan {
  const { slots } = forecast;
  const chances = Float64Array.from(slots, (_, slot) => chanceAt(forecast, slot));
  const days = bestOfDays(forecast, chances);
  const worth = Float64Array.from(slots, (at) => stakes.worthAt(at));
  const valueOf = (plan: readonly number[]) => planValue(forecast, plan, worth, stakes.cost);

  let plan: number[] = [];
  let value = 0;
  const improve = (rest: readonly number[]) => {
    let better = false;
    for (const slot of days) {
      const next = inserted(rest, slot, slots);
      if (!next) continue;
      const worthNow = valueOf(next);
      if (worthNow > value + 1e-9) {
        value = worthNow;
        plan = next;
        better = true;
      }
    }
    return better;
  };
  while (plan.length < tries && improve(plan));
  for (const slot of [...plan]) {
    const rest = plan.filter((other) => other !== slot);
    if (rest.length === plan.length) continue;
    const without = valueOf(rest);
    if (without > value) {
      plan = rest;
      value = without;
    } else improve(rest);
  }
  return { at: plan.map((slot) => slots[slot]!), value, chance: plan.length > 0 ? chances[plan[0]!]! : 0, chances };
}

/** The best slot of each stretch of a day, and all of the first day: after a fault at the bank hours count. */
function bestOfDays({ slots }: Forecast, chances: Float64Array): number[] {
  const found: number[] = [];
  const start = slots[0] ?? 0;
  for (let slot = 0; slot < slots.length; slot++) {
    const last = found.at(-1);
    const dayOf = (n: number) => Math.floor((slots[n]! - start) / DAY_MS);
    if (last === undefined || dayOf(slot) === 0 || dayOf(last) !== dayOf(slot)) found.push(slot);
    else if (chances[slot]! > chances[last]!) found[found.length - 1] = slot;
  }
  return found;
}

/** The plan with another slot, in order of time; null when it would be too close to one of them. */
function inserted(plan: readonly number[], slot: number, slots: readonly number[]): number[] | null {
  let place = 0;
  for (const other of plan) {
    if (Math.abs(slots[other]! - slots[slot]!) < APART_MS) return null;
    if (other < slot) place++;
  }
  return [...plan.slice(0, place), slot, ...plan.slice(place)];
}

const still = new Float64Array(256);

/** Expected worth of trying at those slots until one succeeds. */
function planValue(forecast: Forecast, plan: readonly number[], worth: Float64Array, cost: number): number {
  const { explanations, chances, fresh, same, paidOn, lastPaidOn, next, later } = forecast;
  const width = explanations.length;
  for (let k = 0; k < width; k++) still[k] = chances[k]!;
  let value = 0;
  let before = -1;
  for (const slot of plan) {
    const score = before < 0 ? next[slot]! : later[slot]!;
    let reached = 0;
    let paid = 0;
    for (let k = 0; k < width; k++) {
      const place = slot * width + k;
      const paidBefore = before < 0 ? lastPaidOn[k]! : paidOn[before * width + k]!;
      const isSame = explanations[k]! < CYCLES && paidOn[place] === paidBefore;
      const p = phi(score + (isSame ? same[place]! : fresh[place]!));
      const mass = still[k]!;
      reached += mass;
      paid += mass * p;
      still[k] = mass * (1 - p);
    }
    value += paid * worth[slot]! - reached * cost;
    before = slot;
  }
  return value;
}
