import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearned } from "./learned.ts";
import { OWN_SIZE, ownOf, putOwn } from "./own.ts";
import { PARTS, partsOf, putPart } from "./parts.ts";
import { CYCLES } from "./pay-cycles.ts";

function changed() {
  const learned = newLearned();
  learned.mean.forEach((_, n) => {
    learned.mean[n] = n / 7;
  });
  learned.seen[4095] = 3;
  learned.strain[5] = 0.25;
  learned.countryCycles.set(
    "SE",
    Float64Array.from({ length: CYCLES }, (_, n) => n),
  );
  return learned;
}

test("a model that is put together from its parts is the same to the last bit", () => {
  const learned = changed();
  const copy = newLearned();
  for (const [name, numbers] of partsOf(learned)) putPart(copy, name, numbers.slice());
  assert.deepEqual(copy, learned);
  assert.equal(partsOf(newLearned()).size, PARTS);
});

test("all that a model holds is stored, but for the means that it starts from", () => {
  const { start: _, countryCycles: __, ...stored } = newLearned();
  const places = partsOf(newLearned());
  for (const name of Object.keys(stored)) assert.ok(places.has(`${name}/0`), name);
});

test("a part that does not fit, or holds no numbers, is refused by name", () => {
  const learned = newLearned();
  assert.throws(() => putPart(learned, "mean/0", new Float64Array(3)), /mean\/0/);
  assert.throws(() => putPart(learned, "kindness/0", new Float64Array(256)), /kindness/);
  assert.throws(() => putPart(learned, "country/SE", new Float64Array(CYCLES).fill(Number.NaN)), /country\/SE/);
});

test("what is a merchant's own is taken out and put back, and touches nothing else", () => {
  const learned = changed();
  const before = structuredClone(learned);
  const own = ownOf(learned);
  assert.equal(own.length, OWN_SIZE);
  putOwn(
    learned,
    own.map((value) => value + 1),
  );
  const differing = learned.mean.reduce((count, value, n) => count + (value === before.mean[n] ? 0 : 1), 0);
  assert.equal(differing, 2);
  putOwn(learned, own);
  assert.deepEqual(learned, before);
});
