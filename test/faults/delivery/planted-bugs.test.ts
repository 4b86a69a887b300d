import assert from "node:assert/strict";
import { test } from "node:test";
import { PLANTED_LIVES_BUGS } from "../../lives/planted-bugs.ts";
import { findStalePatches } from "../../patched-copy.ts";
import { PLANTED_DELIVERY_BUGS } from "./planted-bugs.ts";

test("every planted bug still fits the source: rewrite its patch together with the code that it spoils", () => {
  assert.deepEqual(findStalePatches([...PLANTED_DELIVERY_BUGS, ...PLANTED_LIVES_BUGS]), []);
  assert.ok(PLANTED_DELIVERY_BUGS.length >= 10);
  assert.ok(PLANTED_LIVES_BUGS.length >= 10);
});
