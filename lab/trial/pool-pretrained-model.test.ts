import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { featureIndex, rowStart, WEIGHT_STARTS } from "../../src/engine/learned/model-layout.ts";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { poolPretrainedModel } from "./pool-pretrained-model.ts";

test("weights start firm when worlds agree, open when they differ, and unchanged when no world has seen them", () => {
  const fresh = newLearnedModel();
  const [a, b] = [newLearnedModel(), newLearnedModel()];
  for (const [model, shift] of [
    [a, 0.4],
    [b, 0.4],
  ] as const) {
    model.mean[WEIGHT_STARTS.hour] = shift;
    model.variance[WEIGHT_STARTS.hour] = 0.001;
  }
  for (const [model, shift] of [
    [a, 0.4],
    [b, -0.4],
  ] as const) {
    model.mean[WEIGHT_STARTS.tries] = shift;
    model.variance[WEIGHT_STARTS.tries] = 0.001;
  }
  const prior = fromPretrained(poolPretrainedModel([a, b], new Set()));
  assert.ok(prior.mean[WEIGHT_STARTS.hour]! > 0.2);
  assert.ok(Math.abs(prior.mean[WEIGHT_STARTS.tries]!) < 0.01);
  assert.ok(prior.variance[WEIGHT_STARTS.tries]! > prior.variance[WEIGHT_STARTS.hour]!);
  assert.equal(prior.mean[WEIGHT_STARTS.weekday], fresh.mean[WEIGHT_STARTS.weekday]);
});

test("merchant-specific weights and rows never leave their world", () => {
  const taught = newLearnedModel();
  const own = featureIndex("rmerchant:m1");
  const shared = featureIndex("rfunding:prepaid");
  const rows = [rowStart("country", "SE"), rowStart("issuer", "a bank")];
  for (const weight of [own, shared, ...rows]) {
    taught.mean[weight] = 0.5;
    taught.variance[weight] = 0.001;
  }
  const prior = fromPretrained(poolPretrainedModel([taught], new Set([shared])));
  for (const weight of [own, ...rows]) assert.equal(prior.mean[weight], 0);
  assert.ok(prior.mean[shared]! > 0.1);
});

test("a loosened weight counts only when the world has seen it", () => {
  const fresh = newLearnedModel();
  const taught = newLearnedModel();
  const [unobservedWeight, observedWeight] = [WEIGHT_STARTS.hour + 1, WEIGHT_STARTS.hour + 2];
  for (const weight of [unobservedWeight, observedWeight]) taught.variance[weight] = 3 * fresh.variance[weight]!;
  taught.mean[observedWeight] = 0.5;
  const prior = fromPretrained(poolPretrainedModel([taught], new Set()));
  assert.equal(prior.mean[unobservedWeight], fresh.mean[unobservedWeight]);
  assert.ok(prior.mean[observedWeight]! > 0.05, `${prior.mean[observedWeight]}`);
  assert.equal(prior.start[observedWeight], prior.mean[observedWeight]);
});
