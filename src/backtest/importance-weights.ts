import type { BehaviorModel } from "./behavior-model.ts";
import type { Episode } from "./estimate.ts";
import { STOP_CHOICE } from "./retry-gaps.ts";

/** With more unseen choices, the estimate would be invented. */
export const MAX_UNSEEN_SHARE = 0.05;
/** A choice made less often in similar situations does not count as seen. */
const MIN_SEEN_COUNT = 5;
const MIN_PROPENSITY = 0.005;
/** Larger deviations are not random. */
const SIGNIFICANT_STANDARD_ERRORS = 3;

export interface EpisodeWeights {
  weights: Float64Array[];
  /** By episode; infinity: never. */
  stopDecisions: Float64Array;
  effective: number;
  /** Share of choices that the merchant's system hardly ever made there. */
  unseen: number;
  /**
   * With correct propensities, the weights of agreeing choices add up to the weight of all invoices that they represent. If
   * stated ones deviate significantly, this is the ratio; otherwise null.
   */
  standsFor: number | null;
  /** Of invoices that the strategy does not give up at once. */
  continuedShare: number;
}

/**
 * Weighs episodes by the inverse propensity of the merchant's choices, after each decision. The weight is 0 once the choices
 * differ. Ended invoices keep their weight.
 */
export function weighEpisodes(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  weightOf: (episode: Episode) => number,
  behavior: BehaviorModel,
): EpisodeWeights {
  const weights: Float64Array[] = [];
  let previous = Float64Array.from(episodes, weightOf);
  /** By episode; infinity: never. */
  const stopDecisions = new Float64Array(episodes.length).fill(Number.POSITIVE_INFINITY);
  let effective = episodes.length;
  let unseen = 0;
  let standsFor: number | null = null;
  for (let k = 0; k < depth; k++) {
    const current = Float64Array.from(previous);
    let [continuedCount, previousWeight, weight, squares, squaredChanges, unseenWeight] = [0, 0, 0, 0, 0, 0];
    let isStated = false;
    episodes.forEach(({ decisions }, i) => {
      const decision = decisions[k];
      if (!decision || stopDecisions[i]! < k) return;
      const strategyChoice = chosen[i]![k]!;
      if (strategyChoice === STOP_CHOICE) {
        stopDecisions[i] = k;
        return;
      }
      continuedCount++;
      const { situation, choice, chance } = decision;
      if (behavior.count(situation, strategyChoice) < MIN_SEEN_COUNT) unseenWeight += previous[i]!;
      const propensity = Math.max(chance ?? behavior.propensity(situation, choice), MIN_PROPENSITY);
      current[i] = choice === strategyChoice ? previous[i]! / propensity : 0;
      isStated ||= chance !== null;
      previousWeight += previous[i]!;
      weight += current[i]!;
      squares += current[i]! ** 2;
      squaredChanges += (current[i]! - previous[i]!) ** 2;
    });
    const deviation = Math.abs(weight - previousWeight) - SIGNIFICANT_STANDARD_ERRORS * Math.sqrt(squaredChanges);
    if (isStated && deviation > MAX_UNSEEN_SHARE * previousWeight) standsFor ??= weight / previousWeight;
    unseen += unseenWeight / sum(previous);
    if (continuedCount > 0) effective = Math.min(effective, squares > 0 ? weight ** 2 / squares : 0);
    weights.push(current);
    previous = current;
  }
  const continued = episodes.reduce((total, episode, i) => total + (stopDecisions[i] === 0 ? 0 : weightOf(episode)), 0);
  const continuedShare = continued / sum(Float64Array.from(episodes, weightOf));
  return { weights, stopDecisions, effective, unseen, standsFor, continuedShare };
}

export const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
