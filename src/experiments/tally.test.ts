import assert from "node:assert/strict";
import { test } from "node:test";
import { addTally, countCustomer, emptyTally, rateOf } from "./tally.ts";

/** A tally of customers, each with what failed and what was recovered. */
function tallyOf(customers: readonly (readonly [due: number, got: number])[]) {
  const tally = emptyTally();
  for (const [due, got] of customers) countCustomer(tally, 0, 0, due, got);
  return tally;
}

const many = (count: number, due: number, got: number) => Array.from({ length: count }, () => [due, got] as const);

test("a customer who comes back is the same as one who came with everything at once", () => {
  const slowly = emptyTally();
  countCustomer(slowly, 0, 0, 1, 1);
  countCustomer(slowly, 1, 1, 1, 0);
  countCustomer(slowly, 2, 1, 1, 1);
  assert.deepEqual(slowly, tallyOf([[3, 2]]));
});

test("with one invoice for each customer the variance is that of a share", () => {
  const rate = rateOf(tallyOf([...many(300, 1, 1), ...many(200, 1, 0)]))!;
  assert.equal(rate.share, 0.6);
  assert.ok(Math.abs(rate.variance - (0.6 * 0.4) / 499) < 1e-12);
});

test("ten invoices that fare alike say as much as one of them", () => {
  const one = rateOf(tallyOf([...many(300, 1, 1), ...many(200, 1, 0)]))!;
  const ten = rateOf(tallyOf([...many(300, 10, 10), ...many(200, 10, 0)]))!;
  assert.ok(Math.abs(one.variance - ten.variance) < 1e-12);
});

test("a few large customers outweigh the rest, so nothing is said of their money", () => {
  assert.equal(rateOf(tallyOf([...many(1000, 1_000, 500), [10_000_000, 0]])), null);
  assert.equal(rateOf(tallyOf(many(99, 1, 1))), null);
});

test("two tallies of different customers add up", () => {
  assert.deepEqual(
    addTally(tallyOf([[1, 1]]), tallyOf([[3, 2]])),
    tallyOf([
      [1, 1],
      [3, 2],
    ]),
  );
});
