import type { LearnedModel } from "./learned-model.ts";
import { ROW_WIDTH } from "./model-layout.ts";
import { GROUP_BY_WEIGHT, NO_GROUP, WEIGHT_GROUPS } from "./weight-groups.ts";

/** What was seen of a group counts by so much less at each lesson that meets it. */
const FADE_FACTOR = 0.9995;
/** So many standard deviations of strain are no chance; the more often a group was loosened, the more it takes. */
const MIN_STRAIN_DEVIATIONS = 3;
const STRAIN_DEVIATIONS_PER_LOOSENING = 0.5;
/** So many below zero are more than noise: what had been learned is not true any more. */
const OUTDATED_DEVIATIONS = 4;
/** Before so much was seen, in squares of gains, one lesson may be most of it. */
const MIN_OBSERVED_GAIN = 0.002;
const VARIANCE_FACTOR = 3;

/** Of each group: the sum of gains, the sum of their squares, and how often it was loosened because it was held back. */
const SUM_INDEX = 0;
const SQUARES_INDEX = 1;
const LOOSENED_INDEX = 2;
const STRAIN_WIDTH = 3;
export const newStrain = () => new Float64Array(STRAIN_WIDTH * WEIGHT_GROUPS.length);

/**
 * Note how a lesson pulls a weight, before any weight is moved.
 *
 * A group of weights is as stiff as its variance is small. The pull times how far the weight has come from its start is what would have been gained had
 * it come further: zero in the mean where it is right, less where it is noise. Where the sum is clearly more, for most of what the lessons say of late, the group has been too
 * stiff: what nobody expected to matter does. Where it is far less, the world has changed. (As rates of learning adapt in Sutton, "Adapting bias by gradient descent", 1992; there a trace of
 * late steps stands where the whole way stands here.)
 *
 * @param pull  derivative of the log-likelihood of the outcome by the weight
 */
export function recordStrain(learned: LearnedModel, weight: number, pull: number) {
  const group = GROUP_BY_WEIGHT[weight]!;
  if (group === NO_GROUP) return;
  const { mean, start, strain } = learned;
  const { stiffGroups } = learned.workspace;
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

/** Once the lesson's weights have moved, loosen the groups that were found too stiff: all of their weights, those that were never met among them. */
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
