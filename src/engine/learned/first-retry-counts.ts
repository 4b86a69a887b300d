import type { CasePosterior } from "./case-posterior.ts";
import type { LearnedModel } from "./learned-model.ts";
import { CLASS_COUNT, classOf, ELAPSED_BINS, elapsedBin } from "./model-layout.ts";

/** Fades earlier counts at each first retry, so that times once found bad are explored again. */
const FADE_FACTOR = 0.9997;

/** By class of reasons and time bucket. */
export const newFirstRetryCounts = () => new Float64Array(CLASS_COUNT * ELAPSED_BINS);

/** 0 is the earliest. */
export const elapsedBucket = ({ firstFailedAt }: CasePosterior, at: number) => elapsedBin(at - firstFailedAt);

/** By time bucket. A view into the model, not a copy. */
export function firstRetryCounts({ firsts }: LearnedModel, { reason }: Pick<CasePosterior, "reason">): Float64Array {
  const from = classOf(reason) * ELAPSED_BINS;
  return firsts.subarray(from, from + ELAPSED_BINS);
}

export function countFirstRetry(model: LearnedModel, posterior: CasePosterior, at: number) {
  const counts = firstRetryCounts(model, posterior);
  for (let n = 0; n < counts.length; n++) counts[n]! *= FADE_FACTOR;
  counts[elapsedBucket(posterior, at)]!++;
}
