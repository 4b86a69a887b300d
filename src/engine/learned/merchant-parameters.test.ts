import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "./learned-model.ts";
import { copyMerchantParameters, MERCHANT_PARAMETER_COUNT, setMerchantParameters } from "./merchant-parameters.ts";

test("each merchant-specific parameter returns to its place, and another merchant's replaces it", () => {
  const model = newLearnedModel();
  const anne = Float64Array.from({ length: MERCHANT_PARAMETER_COUNT }, (_, n) => n + 1);
  const ben = anne.map((number) => -number);
  setMerchantParameters(model, anne);
  assert.deepEqual(copyMerchantParameters(model), anne);
  assert.deepEqual(
    model.tries,
    anne
      .subarray(MERCHANT_PARAMETER_COUNT - model.tries.length - model.shortfalls.length)
      .subarray(0, model.tries.length),
  );
  assert.deepEqual(model.shortfalls, anne.subarray(MERCHANT_PARAMETER_COUNT - model.shortfalls.length));
  setMerchantParameters(model, ben);
  assert.deepEqual(copyMerchantParameters(model), ben);
});
