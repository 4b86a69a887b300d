import { FAMILIES } from "./hypotheses.ts";
import { type LearnedModel, newLearnedModel, shiftIndex } from "./learned-model.ts";
import { featureIndex, WEIGHT_STARTS } from "./model-layout.ts";

/**
 * Stands for the merchant in feature names. A shared model reserves places for a few merchant-specific parameters. Code that
 * works for a merchant first puts that merchant's parameters there.
 */
export const MERCHANT_PLACEHOLDER = "own";

/** Stages as in case-features.ts. */
const MERCHANT_FEATURE_INDICES = ["f", "r"].map((stage) => featureIndex(`${stage}merchant:${MERCHANT_PLACEHOLDER}`));
/** Mean, variance, shifts, observation count. */
const PARAMETERS_PER_FEATURE = 3 + FAMILIES.length;
const RETRY_COUNTS_START = PARAMETERS_PER_FEATURE * MERCHANT_FEATURE_INDICES.length;
const SHORTFALLS_START = RETRY_COUNTS_START + newLearnedModel().tries.length;
export const MERCHANT_PARAMETER_COUNT = SHORTFALLS_START + newLearnedModel().shortfalls.length;

export function copyMerchantParameters(model: LearnedModel): Float64Array {
  const featureWeights = MERCHANT_FEATURE_INDICES.flatMap((index) => {
    const shifts = model.shifts.subarray(shiftIndex(index)).subarray(0, FAMILIES.length);
    return [model.mean[index]!, model.variance[index]!, ...shifts, model.seen[index - WEIGHT_STARTS.name]!];
  });
  return Float64Array.from([...featureWeights, ...model.tries, ...model.shortfalls]);
}

export function setMerchantParameters(model: LearnedModel, parameters: Float64Array) {
  MERCHANT_FEATURE_INDICES.forEach((index, n) => {
    const [mean, variance, ...rest] = parameters.subarray(n * PARAMETERS_PER_FEATURE, (n + 1) * PARAMETERS_PER_FEATURE);
    model.mean[index] = mean!;
    model.variance[index] = variance!;
    model.shifts.set(rest.slice(0, FAMILIES.length), shiftIndex(index));
    model.seen[index - WEIGHT_STARTS.name] = rest.at(-1)!;
  });
  model.tries.set(parameters.subarray(RETRY_COUNTS_START, SHORTFALLS_START));
  model.shortfalls.set(parameters.subarray(SHORTFALLS_START));
}
