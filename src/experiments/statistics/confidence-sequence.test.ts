import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom, drawNormal } from "../../../lab/experiments/random-numbers.ts";
import { sequenceHalfWidth, varianceFor } from "./confidence-sequence.ts";

test("a path without drift leaves the bound in at most the promised share of runs, however often it is looked at", () => {
  const [runs, looks, alpha] = [1000, 2000, 0.05];
  let left = 0;
  for (let run = 0; run < runs; run++) {
    const random = createRandom(run);
    let sum = 0;
    for (let n = 1; n <= looks; n++) {
      sum += drawNormal(random);
      if (Math.abs(sum / n) <= sequenceHalfWidth(1 / n, 0.1, alpha)) continue;
      left++;
      break;
    }
  }
  // Ville's inequality bounds it by 5 % for ever; a look after each step, over a long time, comes near to that.
  assert.ok(left / runs <= 0.05 + 2 * Math.sqrt((0.05 * 0.95) / runs), `${left} of ${runs}`);
  assert.ok(left / runs >= 0.015, `${left} of ${runs}: a bound that is never reached gives power away`);
});

test("the interval is wider than one for a single look, and at its scale by less than 1.7 times", () => {
  for (const variance of [1e-2, 1e-4, 1e-6])
    assert.ok(sequenceHalfWidth(variance, 0.03, 0.05) > 1.96 * Math.sqrt(variance));
  const variance = 0.03 ** 2 / 9;
  assert.ok(sequenceHalfWidth(variance, 0.03, 0.05) < 1.7 * 1.96 * Math.sqrt(variance));
});

test("the variance for a width gives that width", () => {
  for (const width of [0.2, 0.03, 0.004])
    assert.ok(Math.abs(sequenceHalfWidth(varianceFor(width, 0.03, 0.035), 0.03, 0.035) / width - 1) < 1e-9);
});
