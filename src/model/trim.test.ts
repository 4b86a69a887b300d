import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearned } from "./learned.ts";
import { learnTrim, trimmed } from "./trim.ts";

test("chances that come out too high above one half are corrected there, and elsewhere stay as they are", () => {
  const learned = newLearned();
  // A fixed sequence of golden-ratio steps stands for chance: 0.3 comes true as said, 0.8 only six times in ten.
  for (let n = 1; n <= 4000; n++) {
    const lot = (n * 0.6180339887) % 1;
    learnTrim(learned, 1, 0.3, lot < 0.3);
    learnTrim(learned, 1, 0.8, lot < 0.6);
  }
  assert.ok(Math.abs(trimmed(learned, 1, 0.3) - 0.3) < 0.03, `${trimmed(learned, 1, 0.3)}`);
  assert.ok(Math.abs(trimmed(learned, 1, 0.8) - 0.6) < 0.03, `${trimmed(learned, 1, 0.8)}`);
  assert.ok(Math.abs(trimmed(learned, 2, 0.8) - 0.8) < 0.01);
});
