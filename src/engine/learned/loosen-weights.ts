import type { LearnedModel } from "./learned-model.ts";
import { ROW_WIDTH } from "./model-layout.ts";
import { GROUP_BY_WEIGHT, NO_GROUP, WEIGHT_GROUPS } from "./weight-groups.ts";

/** Reduces the weight of earlier updates. */
const FADE_FACTOR = 0.9995;
/** A strain this large is not chance. Each earlier loosening raises the threshold. */
const MIN_STRAIN_DEVIATIONS = 3;
const STRAIN_DEVIATIONS_PER_LOOSENING = 0.5;
/** Below zero: the learned weights no longer hold. */
const OUTDATED_DEVIATIONS = 4;
/** Sum of squared gains; below it, a single update may dominate. */
const MIN_OBSERVED_GAIN = 0.002;
const VARIANCE_FACTOR = 3;

/** By group: gains, their squares, and how often it was loosened for being too stiff. */
const SUM_INDEX = 0;
const SQUARES_INDEX = 1;
const LOOSENED_INDEX = 2;
const STRAIN_WIDTH = 3;
export const newStrain = () => new Float64Array(STRAIN_WIDTH * WEIGHT_GROUPS.length);

/**
 * Records how an update pulls a weight, before any weight moves.
 *
 * The pull times the weight's distance from its start is the gain from a longer move: on average zero if the weight is right,
 * negative if it is noise. A clearly positive recent sum shows an effect that the prior ruled out; a clearly negative one, that
 * the world has changed. (Compare Sutton, "Adapting bias by gradient descent", 1992.)
 *
 * @param pull  derivative of the outcome's log-likelihood by the weight
 */
export function recordStrain(model: LearnedModel, weight: number, pull: number) {
  const group = GROUP_BY_WEIGHT[weight]!;
  if (group === NO_GROUP) return;
  const { mean, start, strain } = model;
  const { stiffGroups } = model.workspace;
  const at = STRAIN_WIDTH * group;
  const gain = pull * (mean[weight]! - start[weight]!);
  const sum = strain[at + SUM_INDEX]! * FADE_FACTOR + gain;
  const squares = strain[at + SQUARES_INDEX]! * FADE_FACTOR * FADE_FACTOR + gain * gain;
  strain[at + SUM_INDEX] = sum;
  strain[at + SQUARES_INDEX] = squares;
  if (squares < MIN_OBSERVED_GAIN || stiffGroups.includes(group)) return;
  const deviations = sum / Math.sqrt(squares);
  if (
    deviations > MIN_STRAIN_DEVIATIONS + STRAIN_DEVIATIONS_PER_LOOSENING * strain[at + LOOSENED_INDEX]! ||
    deviations < -OUTDATED_DEVIATIONS
  )
    stiffGroups.push(group);
}

/** Call it after the update's weights have moved. Includes weights never seen. */
export function loosenStiffGroups({ variance, strain, workspace }: LearnedModel) {
  const { stiffGroups } = workspace;
  for (const group of stiffGroups) {
    const { from, width, rows, varianceMax } = WEIGHT_GROUPS[group]!;
    for (let row = 0; row < rows; row++) {
      const first = from + row * ROW_WIDTH;
      for (let n = first; n < first + width; n++)
        variance[n] = Math.max(variance[n]!, Math.min(varianceMax, variance[n]! * VARIANCE_FACTOR));
    }
    const at = STRAIN_WIDTH * group;
    if (strain[at + SUM_INDEX]! > 0) strain[at + LOOSENED_INDEX]!++;
    strain[at + SUM_INDEX] = 0;
    strain[at + SQUARES_INDEX] = 0;
  }
  stiffGroups.length = 0;
}
