import { GROUP_OF, GROUPS, NO_GROUP } from "./groups.ts";
import { ROW_WIDTH } from "./layout.ts";
import type { Learned } from "./learned.ts";

/** What was seen of a group counts by so much less at each lesson that meets it. */
const KEPT = 0.9995;
/** So many standard deviations of strain are no chance; the more often a group was loosened, the more it takes. */
const CLEAR = 3;
const CLEAR_MORE = 0.5;
/** So many below zero are more than noise: what had been learned is not true any more. */
const WRONG = 4;
/** Before so much was seen, in squares of gains, one lesson may be most of it. */
const SEEN_MIN = 0.002;
const FACTOR = 3;

/** Of each group: the sum of gains, the sum of their squares, and how often it was loosened because it was held back. */
const SUM = 0;
const SQUARES = 1;
const TIMES = 2;
const WIDTH = 3;
export const newStrain = () => new Float64Array(WIDTH * GROUPS.length);

/** The groups that a lesson found too stiff. */
const stiff: number[] = [];

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
export function noteStrain(learned: Learned, weight: number, pull: number) {
  const group = GROUP_OF[weight]!;
  if (group === NO_GROUP) return;
  const { mean, start, strain } = learned;
  const at = WIDTH * group;
  const gain = pull * (mean[weight]! - start[weight]!);
  const sum = strain[at + SUM]! * KEPT + gain;
  const squares = strain[at + SQUARES]! * KEPT * KEPT + gain * gain;
  strain[at + SUM] = sum;
  strain[at + SQUARES] = squares;
  if (squares < SEEN_MIN || stiff.includes(group)) return;
  const deviations = sum / Math.sqrt(squares);
  if (deviations > CLEAR + CLEAR_MORE * strain[at + TIMES]! || deviations < -WRONG) stiff.push(group);
}

/** Once the lesson's weights have moved, loosen the groups that were found too stiff: all of their weights, those that were never met among them. */
export function loosenStiff({ variance, strain }: Learned) {
  for (const group of stiff) {
    const { from, width, rows, varianceMax } = GROUPS[group]!;
    for (let row = 0; row < rows; row++) {
      const first = from + row * ROW_WIDTH;
      for (let n = first; n < first + width; n++)
        variance[n] = Math.max(variance[n]!, Math.min(varianceMax, variance[n]! * FACTOR));
    }
    const at = WIDTH * group;
    if (strain[at + SUM]! > 0) strain[at + TIMES]!++;
    strain[at + SUM] = 0;
    strain[at + SQUARES] = 0;
  }
  stiff.length = 0;
}
