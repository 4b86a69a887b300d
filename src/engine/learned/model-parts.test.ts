import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "./learned-model.ts";
import { copyMerchantParameters, MERCHANT_PARAMETER_COUNT, setMerchantParameters } from "./merchant-parameters.ts";
import { PART_COUNT, setPart, splitIntoParts } from "./model-parts.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";

function buildChangedModel() {
  const model = newLearnedModel();
  model.mean.forEach((_, n) => {
    model.mean[n] = n / 7;
  });
  model.seen[4095] = 3;
  model.strain[5] = 0.25;
  model.countryCycles.set(
    "SE",
    Float64Array.from({ length: CYCLE_COUNT }, (_, n) => n),
  );
  return model;
}

test("a model restored from its parts is identical to the last bit", () => {
  const model = buildChangedModel();
  const copy = newLearnedModel();
  for (const [name, numbers] of splitIntoParts(model)) setPart(copy, name, numbers.slice());
  assert.deepEqual(copy, model);
  assert.equal(splitIntoParts(newLearnedModel()).size, PART_COUNT);
});

test("every number of a model is stored, except its initial means", () => {
  const { start: _, countryCycles: __, workspace: ___, ...stored } = newLearnedModel();
  const places = splitIntoParts(newLearnedModel());
  for (const name of Object.keys(stored)) assert.ok(places.has(`${name}/0`), name);
});

test("a part that does not fit, or contains no numbers, is refused by name", () => {
  const model = newLearnedModel();
  assert.throws(() => setPart(model, "mean/0", new Float64Array(3)), /mean\/0/);
  assert.throws(() => setPart(model, "kindness/0", new Float64Array(256)), /kindness/);
  assert.throws(() => setPart(model, "country/SE", new Float64Array(CYCLE_COUNT).fill(Number.NaN)), /country\/SE/);
});

test("merchant-specific parameters can be taken out and put back without affecting the rest", () => {
  const model = buildChangedModel();
  const before = structuredClone(model);
  const own = copyMerchantParameters(model);
  assert.equal(own.length, MERCHANT_PARAMETER_COUNT);
  setMerchantParameters(
    model,
    own.map((value) => value + 1),
  );
  const differing = model.mean.reduce((count, value, n) => count + (value === before.mean[n] ? 0 : 1), 0);
  assert.equal(differing, 2);
  setMerchantParameters(model, own);
  assert.deepEqual(model, before);
});
