import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearned } from "./learned.ts";
import { learnTrim, trimmed } from "./trim.ts";

/** A model that saw tries of each of these chances, in turn, come true as often as is said. Golden-ratio steps stand for luck. */
function taught(truth: Readonly<Record<string, number>>) {
  const learned = newLearned();
  for (let n = 1; n <= 4000; n++) {
    const lot = (n * 0.6180339887) % 1;
    for (const [chance, share] of Object.entries(truth)) learnTrim(learned, 1, Number(chance), lot < share);
  }
  return learned;
}

function assertNear(actual: number, wanted: number, within: number) {
  assert.ok(Math.abs(actual - wanted) < within, `${actual} is not ${wanted}`);
}

test("chances that come out too high above one half are corrected there, and elsewhere stay as they are", () => {
  const learned = taught({ 0.3: 0.3, 0.8: 0.6 });
  assertNear(trimmed(learned, 1, 0.3), 0.3, 0.03);
  assertNear(trimmed(learned, 1, 0.8), 0.6, 0.03);
  assertNear(trimmed(learned, 2, 0.8), 0.8, 0.01);
});

test("chances that are too high when low, too low in the middle and too high when high are each corrected", () => {
  const truth = { 0.04: 0.002, 0.15: 0.03, 0.25: 0.12, 0.45: 0.63, 0.65: 0.7, 0.85: 0.75, 0.97: 0.9 };
  const learned = taught(truth);
  for (const [chance, share] of Object.entries(truth)) assertNear(trimmed(learned, 1, Number(chance)), share, 0.04);
});

test("a chance between two knots moves with both, and one beyond the last keeps that one's shift", () => {
  const learned = newLearned();
  const before = trimmed(learned, 1, 0.6);
  for (let n = 0; n < 50; n++) learnTrim(learned, 1, 0.6, true);
  assert.ok(trimmed(learned, 1, 0.6) > before + 0.05);
  assert.ok(trimmed(learned, 1, 0.5) > 0.5);
  assert.ok(trimmed(learned, 1, 0.72) > 0.72);
  assertNear(trimmed(learned, 1, 0.1), 0.1, 1e-3);
  for (let n = 0; n < 50; n++) learnTrim(learned, 1, 0.999, false);
  assert.ok(trimmed(learned, 1, 0.9999) < 0.999);
  assert.ok(trimmed(learned, 1, 0.999) < trimmed(learned, 1, 0.9999));
});
