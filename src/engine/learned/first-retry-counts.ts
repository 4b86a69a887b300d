import type { CasePosterior } from "./case-posterior.ts";
import type { LearnedModel } from "./learned-model.ts";
import { CLASS_COUNT, classOf, ELAPSED_BINS, elapsedBin } from "./model-layout.ts";

/** What was seen of first tries fades by this with each one more: what was true long ago is put to the test again. */
const FADE_FACTOR = 0.9997;

/** No first try was made yet: for each class of reason, a count for each stretch of time since the failure. */
export const newFirstRetryCounts = () => new Float64Array(CLASS_COUNT * ELAPSED_BINS);

/** Which stretch of time since its failure a moment of a case lies in: 0 is the soonest. */
export const elapsedBucket = ({ firstFailedAt }: CasePosterior, at: number) => elapsedBin(at - firstFailedAt);

/** How many first tries were made in each stretch after declines of the reason's class, faded: the numbers themselves, no copies. */
export function firstRetryCounts({ firsts }: LearnedModel, { reason }: Pick<CasePosterior, "reason">): Float64Array {
  const from = classOf(reason) * ELAPSED_BINS;
  return firsts.subarray(from, from + ELAPSED_BINS);
}

/** A case's first try is made at that moment. */
export function countFirstRetry(learned: LearnedModel, belief: CasePosterior, at: number) {
  const counts = firstRetryCounts(learned, belief);
  for (let n = 0; n < counts.length; n++) counts[n]! *= FADE_FACTOR;
  counts[elapsedBucket(belief, at)]!++;
}
