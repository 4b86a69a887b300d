import type { Belief } from "./belief.ts";
import { CLASS_COUNT, classOf, ELAPSED_BINS, elapsedBin } from "./layout.ts";
import type { Learned } from "./learned.ts";

/** What was seen of first tries fades by this with each one more: what was true long ago is put to the test again. */
const KEPT = 0.9997;

/** No first try was made yet: for each class of reason, a count for each stretch of time since the failure. */
export const newFirsts = () => new Float64Array(CLASS_COUNT * ELAPSED_BINS);

/** Which stretch of time since its failure a moment of a case lies in: 0 is the soonest. */
export const stretchOf = ({ firstFailedAt }: Belief, at: number) => elapsedBin(at - firstFailedAt);

/** How many first tries were made in each stretch after declines of the reason's class, faded: the numbers themselves, no copies. */
export function firstsOf({ firsts }: Learned, { reason }: Pick<Belief, "reason">): Float64Array {
  const from = classOf(reason) * ELAPSED_BINS;
  return firsts.subarray(from, from + ELAPSED_BINS);
}

/** A case's first try is made at that moment. */
export function countFirst(learned: Learned, belief: Belief, at: number) {
  const counts = firstsOf(learned, belief);
  for (let n = 0; n < counts.length; n++) counts[n]! *= KEPT;
  counts[stretchOf(belief, at)]!++;
}
