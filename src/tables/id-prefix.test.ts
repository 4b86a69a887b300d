import assert from "node:assert/strict";
import { test } from "node:test";
import { uuidsWithPrefix } from "./id-prefix.ts";

const NOTHING = ["ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000000"];

test("the start of an event's id becomes a range, and text that starts no id becomes an empty one", () => {
  assert.deepEqual(uuidsWithPrefix("0198C0d"), [
    "0198c0d0-0000-0000-0000-000000000000",
    "0198c0df-ffff-ffff-ffff-ffffffffffff",
  ]);
  assert.deepEqual(uuidsWithPrefix("0198c0de-7"), [
    "0198c0de-7000-0000-0000-000000000000",
    "0198c0de-7fff-ffff-ffff-ffffffffffff",
  ]);
  const whole = "0198c0de-0000-7000-8000-00000000000c";
  assert.deepEqual(uuidsWithPrefix(whole), [whole, whole]);
  for (const text of ["in_1", "0198c0de7", "-", "%", `${whole}0`])
    assert.deepEqual(uuidsWithPrefix(text), NOTHING, text);
});
