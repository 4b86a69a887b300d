import assert from "node:assert/strict";
import { test } from "node:test";
import { addTally, countCustomer, emptyTally, PSEUDO_CUSTOMER_COUNT, recoveryRateOf } from "./tally.ts";

/** A tally of customers, each with a failed and a recovered total. */
function tallyOf(customers: readonly (readonly [due: number, got: number])[]) {
  const tally = emptyTally();
  for (const [due, got] of customers) countCustomer(tally, 0, 0, due, got);
  return tally;
}

const many = (count: number, due: number, got: number) => Array.from({ length: count }, () => [due, got] as const);

test("a customer counted in steps gives the same tally as one counted at once", () => {
  const slowly = emptyTally();
  countCustomer(slowly, 0, 0, 1, 1);
  countCustomer(slowly, 1, 1, 1, 0);
  countCustomer(slowly, 2, 1, 1, 1);
  assert.deepEqual(slowly, tallyOf([[3, 2]]));
});

test("the variance is that of a share with pseudo-customers when each customer has one invoice", () => {
  const rate = recoveryRateOf(tallyOf([...many(300, 1, 1), ...many(200, 1, 0)]))!;
  assert.equal(rate.share, 0.6);
  const customers = 500 + 2 * PSEUDO_CUSTOMER_COUNT;
  const share = (300 + PSEUDO_CUSTOMER_COUNT) / customers;
  assert.ok(Math.abs(rate.variance - ((share * (1 - share)) / 500) * (customers / (customers - 1))) < 1e-12);
  assert.ok(rate.variance > (0.6 * 0.4) / 500, "pseudo-customers do not narrow the interval");
});

test("an arm has a variance above 0 when nothing, or everything, was recovered", () => {
  for (const [due, got] of [
    [1, 0],
    [1, 1],
    [4900, 0],
    [9_000_000_000_000, 9_000_000_000_000],
  ] as const) {
    const [few, more] = [100, 10_000].map((count) => recoveryRateOf(tallyOf(many(count, due, got)))!);
    assert.equal(few!.share, got / due);
    // If none of 100 customers pays, about 5% still could; with more customers the share is smaller.
    assert.ok(Math.sqrt(few!.variance) > 0.015 && Math.sqrt(few!.variance) < 0.03);
    assert.ok(more!.variance > 0 && more!.variance < few!.variance / 1000);
  }
});

test("ten invoices with the same outcome count as one", () => {
  const one = recoveryRateOf(tallyOf([...many(300, 1, 1), ...many(200, 1, 0)]))!;
  const ten = recoveryRateOf(tallyOf([...many(300, 10, 10), ...many(200, 10, 0)]))!;
  assert.ok(Math.abs(one.variance - ten.variance) < 1e-12);
});

test("a tally has no recovery rate when a few large customers outweigh the rest", () => {
  assert.equal(recoveryRateOf(tallyOf([...many(1000, 1_000, 500), [10_000_000, 0]])), null);
  assert.equal(recoveryRateOf(tallyOf(many(99, 1, 1))), null);
});

test("tallies of different customers add up", () => {
  assert.deepEqual(
    addTally(tallyOf([[1, 1]]), tallyOf([[3, 2]])),
    tallyOf([
      [1, 1],
      [3, 2],
    ]),
  );
});
