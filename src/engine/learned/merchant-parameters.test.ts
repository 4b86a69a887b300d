import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "./learned-model.ts";
import { copyMerchantParameters, MERCHANT_PARAMETER_COUNT, setMerchantParameters } from "./merchant-parameters.ts";

test("each merchant-specific parameter returns to its place, and another merchant's replaces it", () => {
  const learned = newLearnedModel();
  const anne = Float64Array.from({ length: MERCHANT_PARAMETER_COUNT }, (_, n) => n + 1);
  const ben = anne.map((number) => -number);
  setMerchantParameters(learned, anne);
  assert.deepEqual(copyMerchantParameters(learned), anne);
  assert.deepEqual(
    learned.tries,
    anne
      .subarray(MERCHANT_PARAMETER_COUNT - learned.tries.length - learned.shortfalls.length)
      .subarray(0, learned.tries.length),
  );
  assert.deepEqual(learned.shortfalls, anne.subarray(MERCHANT_PARAMETER_COUNT - learned.shortfalls.length));
  setMerchantParameters(learned, ben);
  assert.deepEqual(copyMerchantParameters(learned), ben);
});
