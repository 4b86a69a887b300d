import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AT, nameWeight, rowStart } from "./layout.ts";
import { newLearned } from "./learned.ts";
import { fromPrior, LAYOUT, type Prior, priorOf } from "./prior.ts";

test("what worlds agree on starts firm, what they differ in starts open, and what none met stays as it was", () => {
  const fresh = newLearned();
  const [a, b] = [newLearned(), newLearned()];
  for (const [learned, shift] of [
    [a, 0.4],
    [b, 0.4],
  ] as const) {
    learned.mean[AT.hour] = shift;
    learned.variance[AT.hour] = 0.001;
  }
  for (const [learned, shift] of [
    [a, 0.4],
    [b, -0.4],
  ] as const) {
    learned.mean[AT.tries] = shift;
    learned.variance[AT.tries] = 0.001;
  }
  const prior = fromPrior(priorOf([a, b], new Set()));
  assert.ok(prior.mean[AT.hour]! > 0.2);
  assert.ok(Math.abs(prior.mean[AT.tries]!) < 0.01);
  assert.ok(prior.variance[AT.tries]! > prior.variance[AT.hour]!);
  assert.equal(prior.mean[AT.weekday], fresh.mean[AT.weekday]);
});

test("a merchant's own weight never leaves its world, nor does any row", () => {
  const taught = newLearned();
  const own = nameWeight("rmerchant:m1");
  const shared = nameWeight("rfunding:prepaid");
  const rows = [rowStart("country", "SE"), rowStart("issuer", "a bank")];
  for (const weight of [own, shared, ...rows]) {
    taught.mean[weight] = 0.5;
    taught.variance[weight] = 0.001;
  }
  const prior = fromPrior(priorOf([taught], new Set([shared])));
  for (const weight of [own, ...rows]) assert.equal(prior.mean[weight], 0);
  assert.ok(prior.mean[shared]! > 0.1);
});

test("what a world loosened and never met does not count, and what it met and loosened does", () => {
  const fresh = newLearned();
  const taught = newLearned();
  const [unmet, met] = [AT.hour + 1, AT.hour + 2];
  for (const weight of [unmet, met]) taught.variance[weight] = 3 * fresh.variance[weight]!;
  taught.mean[met] = 0.5;
  const prior = fromPrior(priorOf([taught], new Set()));
  assert.equal(prior.mean[unmet], fresh.mean[unmet]);
  assert.ok(prior.mean[met]! > 0.05, `${prior.mean[met]}`);
  assert.equal(prior.start[met], prior.mean[met]);
});

test("a prior of another layout is refused", () => {
  assert.throws(() => fromPrior({ ...priorOf([newLearned()], new Set()), layout: "0" }), /layout/);
});

test("the shipped prior fits this layout and weighs less than 200 kB", () => {
  const text = readFileSync(join(import.meta.dirname, "prior.json"), "utf8");
  assert.ok(text.length < 200_000);
  const prior = JSON.parse(text) as Prior;
  assert.equal(prior.layout, LAYOUT);
  assert.ok(fromPrior(prior).mean.every(Number.isFinite));
});
