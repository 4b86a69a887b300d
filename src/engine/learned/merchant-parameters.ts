import { FAMILIES } from "./hypotheses.ts";
import { type LearnedModel, newLearnedModel, shiftIndex } from "./learned-model.ts";
import { featureIndex, WEIGHT_STARTS } from "./model-layout.ts";

/**
 * In what a merchant differs from the others that share a model: how its first charges and its retries go beside theirs, what
 * its cases suffer from, how many of its tries are approved, and how far what is said of them comes true. These few numbers have places of their own in the model, and whoever works for a merchant puts
 * that merchant's there first.
 */
export const MERCHANT_PLACEHOLDER = "own";

/** "f…" and "r…" as `caseFeatures` makes them. */
const MERCHANT_FEATURE_INDICES = ["f", "r"].map((stage) => featureIndex(`${stage}merchant:${MERCHANT_PLACEHOLDER}`));
/** Mean, variance, the shifts, and how often it was seen. */
const PARAMETERS_PER_FEATURE = 3 + FAMILIES.length;
const RETRY_COUNTS_START = PARAMETERS_PER_FEATURE * MERCHANT_FEATURE_INDICES.length;
const SHORTFALLS_START = RETRY_COUNTS_START + newLearnedModel().tries.length;
export const MERCHANT_PARAMETER_COUNT = SHORTFALLS_START + newLearnedModel().shortfalls.length;

/** The numbers that are in a merchant's places now, copied. */
export function copyMerchantParameters(learned: LearnedModel): Float64Array {
  const named = MERCHANT_FEATURE_INDICES.flatMap((index) => {
    const shifts = learned.shifts.subarray(shiftIndex(index)).subarray(0, FAMILIES.length);
    return [learned.mean[index]!, learned.variance[index]!, ...shifts, learned.seen[index - WEIGHT_STARTS.name]!];
  });
  return Float64Array.from([...named, ...learned.tries, ...learned.shortfalls]);
}

/** Put a merchant's numbers in their places. */
export function setMerchantParameters(learned: LearnedModel, own: Float64Array) {
  MERCHANT_FEATURE_INDICES.forEach((index, n) => {
    const [mean, variance, ...rest] = own.subarray(n * PARAMETERS_PER_FEATURE, (n + 1) * PARAMETERS_PER_FEATURE);
    learned.mean[index] = mean!;
    learned.variance[index] = variance!;
    learned.shifts.set(rest.slice(0, FAMILIES.length), shiftIndex(index));
    learned.seen[index - WEIGHT_STARTS.name] = rest.at(-1)!;
  });
  learned.tries.set(own.subarray(RETRY_COUNTS_START, SHORTFALLS_START));
  learned.shortfalls.set(own.subarray(SHORTFALLS_START));
}
