import { FAMILIES } from "./hypotheses.ts";
import { type LearnedModel, newLearnedModel, shiftIndex } from "./learned-model.ts";
import { featureIndex, WEIGHT_STARTS } from "./model-layout.ts";

/**
 * Stands for the merchant in feature names. A shared model has reserved places for a few merchant-specific parameters: levels for
 * first charges and retries, each cause's frequency, the approval rate, and the shortfall. Code that works for a merchant first
 * puts that merchant's parameters there.
 */
export const MERCHANT_PLACEHOLDER = "own";

/** "f…" and "r…" as in case-features.ts. */
const MERCHANT_FEATURE_INDICES = ["f", "r"].map((stage) => featureIndex(`${stage}merchant:${MERCHANT_PLACEHOLDER}`));
/** Mean, variance, the shifts, and the number of observations. */
const PARAMETERS_PER_FEATURE = 3 + FAMILIES.length;
const RETRY_COUNTS_START = PARAMETERS_PER_FEATURE * MERCHANT_FEATURE_INDICES.length;
const SHORTFALLS_START = RETRY_COUNTS_START + newLearnedModel().tries.length;
export const MERCHANT_PARAMETER_COUNT = SHORTFALLS_START + newLearnedModel().shortfalls.length;

export function copyMerchantParameters(learned: LearnedModel): Float64Array {
  const named = MERCHANT_FEATURE_INDICES.flatMap((index) => {
    const shifts = learned.shifts.subarray(shiftIndex(index)).subarray(0, FAMILIES.length);
    return [learned.mean[index]!, learned.variance[index]!, ...shifts, learned.seen[index - WEIGHT_STARTS.name]!];
  });
  return Float64Array.from([...named, ...learned.tries, ...learned.shortfalls]);
}

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
