import assert from "node:assert/strict";
import { test } from "node:test";
import { isSplitImbalanced, splitPValue } from "./split-check.ts";

const ALPHA = 0.009;

/** The exact probability that the check ever reports an imbalance if it runs after each customer. */
function rateEverImbalanced(share: number, trueShare: number, customers: number): number {
  // The probability of each number of treated customers, without a report so far.
  let paths = new Float64Array(customers + 1);
  paths[0] = 1;
  let reported = 0;
  for (let n = 1; n <= customers; n++) {
    const next = new Float64Array(customers + 1);
    for (let treated = 0; treated <= n; treated++) {
      const probability = paths[treated]! * (1 - trueShare) + (treated > 0 ? paths[treated - 1]! * trueShare : 0);
      if (probability === 0) continue;
      if (isSplitImbalanced(share, treated, n, ALPHA)) reported += probability;
      else next[treated] = probability;
    }
    paths = next;
  }
  return reported;
}

test("a correct split is rarely reported as imbalanced, however small an arm is", () => {
  for (const share of [0.01, 0.5, 0.9, 0.99]) {
    const probability = rateEverImbalanced(share, share, 1500);
    assert.ok(probability <= ALPHA, `${share}: ${probability}`);
  }
});

test("missing customers are detected", () => {
  assert.ok(rateEverImbalanced(0.99, 0.95, 1500) > 0.99);
  assert.ok(rateEverImbalanced(0.5, 0.6, 1500) > 0.99);
});

test("the check stays exact for millions of customers", () => {
  assert.equal(isSplitImbalanced(0.9, 9_000_000, 10_000_000, ALPHA), false);
  assert.equal(isSplitImbalanced(0.9, 9_006_000, 10_000_000, ALPHA), true);
  assert.equal(isSplitImbalanced(0.5, 0, 0, ALPHA), false);
});

test("the p-value is the level at which the split is just reported", () => {
  for (const [share, treated, customers] of [
    [0.5, 5_400, 10_000],
    [0.9, 880, 1_000],
    [0.5, 500, 1_000],
  ] as const) {
    const p = splitPValue(share, treated, customers);
    assert.ok(p > 0 && p <= 1);
    assert.equal(isSplitImbalanced(share, treated, customers, p * 1.001), p < 1);
    assert.equal(isSplitImbalanced(share, treated, customers, p * 0.999), false);
  }
});
