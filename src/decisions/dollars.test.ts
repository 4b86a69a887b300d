import assert from "node:assert/strict";
import { test } from "node:test";
import { dollarsOf } from "./dollars.ts";

test("an amount is the same in dollars whether its currency is written in capitals or in small letters", () => {
  assert.equal(dollarsOf(1_600_000, "IDR"), 1);
  assert.equal(dollarsOf(1_600_000, "idr"), 1);
  assert.equal(dollarsOf(150, "jpy"), 1);
  assert.equal(dollarsOf(150, "XTS"), 1.5);
  // A thousand fils are a dinar.
  assert.ok(dollarsOf(1000, "KWD") > 3 && dollarsOf(1000, "KWD") < 3.5);
});
