import assert from "node:assert/strict";
import { test } from "node:test";
import { PLANTED_IN_LIVES } from "../lives/planted.ts";
import { misfits } from "../planted-copy.ts";
import { PLANTED } from "./planted.ts";

test("every planted bug still fits the source: rewrite its patch together with the code that it spoils", () => {
  assert.deepEqual(misfits([...PLANTED, ...PLANTED_IN_LIVES]), []);
  assert.ok(PLANTED.length >= 10);
  assert.ok(PLANTED_IN_LIVES.length >= 10);
});
