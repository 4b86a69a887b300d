import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChartData, computeRegret } from "./chart-data.ts";

const buildChart = (failedAt: number[], values: number[]): ChartData => ({
  failedAt: Float64Array.from(failedAt),
  values: Float64Array.from(values),
  bins: [],
});

test("regret adds up the value that the oracle gained and the policy did not, payment by payment", () => {
  const policy = buildChart([1, 2, 3], [10, 10, 25]);
  const oracle = buildChart([1, 2, 3], [10, 30, 50]);
  assert.deepEqual(computeRegret(policy, oracle), [
    { payments: 0, dollars: 0 },
    { payments: 1, dollars: 0 },
    { payments: 2, dollars: 20 },
    { payments: 3, dollars: 25 },
  ]);
});

test("runs are cut at the same times when different payments failed", () => {
  const policy = buildChart([0, 1, 2, 5], [4, 10, 15, 19]);
  const oracle = buildChart([1, 5], [12, 20]);
  assert.deepEqual(
    computeRegret(policy, oracle).map(({ dollars }) => dollars),
    [0, 2, 1],
  );
  assert.equal(computeRegret(buildChart([], []), oracle).at(-1)!.dollars, 20);
});

test("a year of many payments is cut into few steps, the last one at its end", () => {
  const many = Array.from({ length: 5000 }, (_, n) => n);
  const points = computeRegret(
    buildChart(
      many,
      many.map(() => 0),
    ),
    buildChart(many, many),
  );
  assert.equal(points.length, 121);
  assert.deepEqual(points.at(-1), { payments: 5000, dollars: 4999 });
});
