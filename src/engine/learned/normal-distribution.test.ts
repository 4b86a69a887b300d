import assert from "node:assert/strict";
import { test } from "node:test";
import { normalCdf, probit } from "./normal-distribution.ts";

test("the distribution function has the published values, and its inverse reverses it", () => {
  const knownValues: [number, number][] = [
    [0, 0.5],
    [1, 0.8413],
    [-1.6449, 0.05],
    [2.5758, 0.995],
    [-9, 0],
    [9, 1],
  ];
  for (const [x, p] of knownValues) assert.ok(Math.abs(normalCdf(x) - p) < 5e-4, `${x}`);
  for (let p = 0.01; p < 1; p += 0.01) assert.ok(Math.abs(normalCdf(probit(p)) - p) < 1e-3, `${p}`);
});
