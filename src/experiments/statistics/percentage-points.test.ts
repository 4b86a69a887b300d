import assert from "node:assert/strict";
import { test } from "node:test";
import { formatSharePoints } from "./percentage-points.ts";

test("a share gets more decimals when it would read as a limit that it does not equal", () => {
  assert.equal(formatSharePoints(0.02996, 0.03), "2.996");
  assert.equal(formatSharePoints(-0.00004, 0.03), "0.004");
  assert.equal(formatSharePoints(0.03, 0.03), "3.0");
  assert.equal(formatSharePoints(-0.03, 0.03), "3.0");
  assert.equal(formatSharePoints(0, 0.03), "0.0");
});
