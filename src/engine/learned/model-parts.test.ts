import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "./learned-model.ts";
import { copyMerchantParameters, MERCHANT_PARAMETER_COUNT, setMerchantParameters } from "./merchant-parameters.ts";
import { PART_COUNT, setPart, splitIntoParts } from "./model-parts.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";

function buildChangedModel() {
  const learned = newLearnedModel();
  learned.mean.forEach((_, n) => {
    learned.mean[n] = n / 7;
  });
  learned.seen[4095] = 3;
  learned.strain[5] = 0.25;
  learned.countryCycles.set(
    "SE",
    Float64Array.from({ length: CYCLE_COUNT }, (_, n) => n),
  );
  return learned;
}

test("a model restored from its parts is identical to the last bit", () => {
  const learned = buildChangedModel();
  const copy = newLearnedModel();
  for (const [name, numbers] of splitIntoParts(learned)) setPart(copy, name, numbers.slice());
  assert.deepEqual(copy, learned);
  assert.equal(splitIntoParts(newLearnedModel()).size, PART_COUNT);
});

test("every number of a model is stored, except its initial means", () => {
  const { start: _, countryCycles: __, workspace: ___, ...stored } = newLearnedModel();
  const places = splitIntoParts(newLearnedModel());
  for (const name of Object.keys(stored)) assert.ok(places.has(`${name}/0`), name);
});

test("a part that does not fit, or contains no numbers, is refused by name", () => {
  const learned = newLearnedModel();
  assert.throws(() => setPart(learned, "mean/0", new Float64Array(3)), /mean\/0/);
  assert.throws(() => setPart(learned, "kindness/0", new Float64Array(256)), /kindness/);
  assert.throws(() => setPart(learned, "country/SE", new Float64Array(CYCLE_COUNT).fill(Number.NaN)), /country\/SE/);
});

test("merchant-specific parameters can be taken out and put back without affecting the rest", () => {
  const learned = buildChangedModel();
  const before = structuredClone(learned);
  const own = copyMerchantParameters(learned);
  assert.equal(own.length, MERCHANT_PARAMETER_COUNT);
  setMerchantParameters(
    learned,
    own.map((value) => value + 1),
  );
  const differing = learned.mean.reduce((count, value, n) => count + (value === before.mean[n] ? 0 : 1), 0);
  assert.equal(differing, 2);
  setMerchantParameters(learned, own);
  assert.deepEqual(learned, before);
});
