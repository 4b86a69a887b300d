import assert from "node:assert/strict";
import { test } from "node:test";
import type { RateTally } from "../tables/recovery-rates.ts";
import { findRateFall, rateBounds } from "./rate-fall.ts";

/** Customers with one case each. */
const single = (cases: number, recovered: number): RateTally => ({
  customers: cases,
  cases,
  recovered,
  casesCases: cases,
  casesRecovered: recovered,
  recoveredRecovered: recovered,
});
/** Customers with ten cases each, which are all recovered or all lost. */
const clustered = (customers: number, recoveredCustomers: number): RateTally => ({
  customers,
  cases: 10 * customers,
  recovered: 10 * recoveredCustomers,
  casesCases: 100 * customers,
  casesRecovered: 100 * recoveredCustomers,
  recoveredRecovered: 100 * recoveredCustomers,
});

test("a clear fall is found, with a 99% interval below zero", () => {
  const fall = findRateFall(single(3_000, 1_500), single(1_000, 400))!;
  assert.deepEqual([fall.earlier.rate, fall.recent.rate], [0.5, 0.4]);
  // 0.1 ± 2.5758 * sqrt(0.25 / 3000 + 0.24 / 1000)
  assert.ok(Math.abs(fall.low + 0.1464) < 0.001 && Math.abs(fall.high + 0.0536) < 0.001, `${fall.low} ${fall.high}`);
});

test("a fall within chance, a rise, or few cases are no alert", () => {
  assert.equal(findRateFall(single(3_000, 1_500), single(1_000, 470)), null);
  assert.equal(findRateFall(single(3_000, 1_500), single(1_000, 600)), null);
  assert.equal(findRateFall(single(3_000, 1_500), single(199, 10)), null);
  assert.equal(findRateFall(single(199, 150), single(1_000, 100)), null);
});

test("customers with many invoices count as one draw of chance", () => {
  assert.ok(findRateFall(single(3_000, 1_500), single(1_000, 400)));
  assert.equal(findRateFall(clustered(300, 150), clustered(100, 40)), null);
});

test("a rate of zero has an interval too", () => {
  assert.equal(findRateFall(single(200, 2), single(200, 0)), null);
  assert.ok(findRateFall(single(2_000, 500), single(200, 0)));
});

test("the compared weeks end when the youngest case is old enough, and consist of full days", () => {
  const [from, between, until] = rateBounds(new Date("2026-06-30T15:00:00Z"), 35);
  assert.equal(until.toISOString(), "2026-05-26T00:00:00.000Z");
  assert.equal(between.toISOString(), "2026-04-28T00:00:00.000Z");
  assert.equal(from.toISOString(), "2026-02-03T00:00:00.000Z");
});
