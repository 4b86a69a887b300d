import { GROUP_OF, GROUPS, NO_GROUP } from "./groups.ts";
import { ROW_WIDTH } from "./layout.ts";
import type { Learned } from "./learned.ts";

/** What was seen counts by so much less at each lesson: a group that has long been right may turn out to be stiff. */
const KEPT = 0.9995;
/** So many standard deviations of strain are no chance. */
const CLEAR = 3;
/** Squares of strain that must have been seen: the first few lessons say anything. */
const SEEN_MIN = 0.002;
const FACTOR = 3;

/**
 * A group of weights is as stiff as its variance is small. If all lessons pull its weights further away from nothing, where they went already, they
 * were too stiff: what nobody expected to matter does. Then all of the group are loosened, those that were not pulled yet among them.
 *
 * A lesson's pull times the weight is what would have been gained had the weight been larger: zero on average where it is right, below where it is
 * noise. (Sutton adapts the rates of learning by the same product: "Adapting bias by gradient descent", 1992.)
 *
 * @param pull  derivative of the log-likelihood of an outcome by the weight, before the weight is moved
 */
export function strain(learned: Learned, weight: number, pull: number) {
  const group = GROUP_OF[weight]!;
  if (group === NO_GROUP) return;
  const sums = learned.strain;
  const gain = pull * learned.mean[weight]!;
  const sum = sums[2 * group]! * KEPT + gain;
  const squares = sums[2 * group + 1]! * KEPT * KEPT + gain * gain;
  const isStiff = squares > SEEN_MIN && sum > CLEAR * Math.sqrt(squares);
  if (isStiff) loosen(learned, group);
  sums[2 * group] = isStiff ? 0 : sum;
  sums[2 * group + 1] = isStiff ? 0 : squares;
}

function loosen({ variance }: Learned, group: number) {
  const { from, width, rows, varianceMax } = GROUPS[group]!;
  for (let row = 0; row < rows; row++) {
    const start = from + row * ROW_WIDTH;
    for (let n = start; n < start + width; n++)
      variance[n] = Math.max(variance[n]!, Math.min(varianceMax, variance[n]! * FACTOR));
  }
}
