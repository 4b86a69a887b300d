import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom, drawNormal } from "../../../lab/experiments/random-numbers.ts";
import { sequenceHalfWidth, varianceFor } from "./confidence-sequence.ts";

test("a path without drift leaves the bound in at most the promised share of runs when it is checked after each step", () => {
  const [runs, checks, alpha] = [1000, 2000, 0.05];
  let exceeded = 0;
  for (let run = 0; run < runs; run++) {
    const random = createRandom(run);
    let sum = 0;
    for (let n = 1; n <= checks; n++) {
      sum += drawNormal(random);
      if (Math.abs(sum / n) <= sequenceHalfWidth(1 / n, 0.1, alpha)) continue;
      exceeded++;
      break;
    }
  }
  // Ville's inequality bounds the share by 5%. A check after each step of a long path comes close to it.
  assert.ok(exceeded / runs <= 0.05 + 2 * Math.sqrt((0.05 * 0.95) / runs), `${exceeded} of ${runs}`);
  assert.ok(exceeded / runs >= 0.015, `${exceeded} of ${runs}: a bound that is never reached wastes power`);
});

test("the interval is wider than one for a single check, and less than 1.7 times as wide at its scale", () => {
  for (const variance of [1e-2, 1e-4, 1e-6])
    assert.ok(sequenceHalfWidth(variance, 0.03, 0.05) > 1.96 * Math.sqrt(variance));
  const variance = 0.03 ** 2 / 9;
  assert.ok(sequenceHalfWidth(variance, 0.03, 0.05) < 1.7 * 1.96 * Math.sqrt(variance));
});

test("the variance for a width gives that width", () => {
  for (const width of [0.2, 0.03, 0.004])
    assert.ok(Math.abs(sequenceHalfWidth(varianceFor(width, 0.03, 0.035), 0.03, 0.035) / width - 1) < 1e-9);
});
