import assert from "node:assert/strict";
import { test } from "node:test";
import { isSplitImbalanced } from "./split-check.ts";

const ALPHA = 0.009;

/** The chance, to the last digit, that a split is ever said to be off by so many customers, looked at after each of them. */
function rateEverImbalanced(share: number, truly: number, customers: number): number {
  // The chance of each number of treated ones, among paths that were never said to be off.
  let paths = new Float64Array(customers + 1);
  paths[0] = 1;
  let off = 0;
  for (let n = 1; n <= customers; n++) {
    const next = new Float64Array(customers + 1);
    for (let treated = 0; treated <= n; treated++) {
      const chance = paths[treated]! * (1 - truly) + (treated > 0 ? paths[treated - 1]! * truly : 0);
      if (chance === 0) continue;
      if (isSplitImbalanced(share, treated, n, ALPHA)) off += chance;
      else next[treated] = chance;
    }
    paths = next;
  }
  return off;
}

test("customers who are split as they were drawn are hardly ever said to be missing, however small an arm is", () => {
  for (const share of [0.01, 0.5, 0.9, 0.99]) {
    const chance = rateEverImbalanced(share, share, 1500);
    assert.ok(chance <= ALPHA, `${share}: ${chance}`);
  }
});

test("customers who are missing are found", () => {
  assert.ok(rateEverImbalanced(0.99, 0.95, 1500) > 0.99);
  assert.ok(rateEverImbalanced(0.5, 0.6, 1500) > 0.99);
});

test("it is as exact for millions of customers", () => {
  assert.equal(isSplitImbalanced(0.9, 9_000_000, 10_000_000, ALPHA), false);
  assert.equal(isSplitImbalanced(0.9, 9_006_000, 10_000_000, ALPHA), true);
  assert.equal(isSplitImbalanced(0.5, 0, 0, ALPHA), false);
});
