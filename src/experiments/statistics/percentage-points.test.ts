import assert from "node:assert/strict";
import { test } from "node:test";
import { formatSharePoints } from "./percentage-points.ts";

test("a share that would read as a limit has more decimals, and one that is the limit reads as it", () => {
  assert.equal(formatSharePoints(0.02996, 0.03), "2.996");
  assert.equal(formatSharePoints(-0.00004, 0.03), "0.004");
  assert.equal(formatSharePoints(0.03, 0.03), "3.0");
  assert.equal(formatSharePoints(-0.03, 0.03), "3.0");
  assert.equal(formatSharePoints(0, 0.03), "0.0");
});
