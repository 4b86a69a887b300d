import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fromPretrained, MODEL_LAYOUT, type PretrainedModel } from "./pretrained-model.ts";

test("a pretrained model with another layout is refused", () => {
  assert.throws(
    () => fromPretrained({ layout: "0", weights: [], cycles: [], countryCycles: {}, kinds: [], shifts: [] }),
    /layout/,
  );
});

test("the shipped pretrained model has this layout and is smaller than 200 kB", () => {
  const text = readFileSync(join(import.meta.dirname, "prior.json"), "utf8");
  assert.ok(text.length < 200_000);
  const prior = JSON.parse(text) as PretrainedModel;
  assert.equal(prior.layout, MODEL_LAYOUT);
  assert.ok(fromPretrained(prior).mean.every(Number.isFinite));
});
