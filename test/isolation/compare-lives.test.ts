import assert from "node:assert/strict";
import { test } from "node:test";
import { compareLives } from "./compare-lives.ts";

test("a merchant's view is the same, byte for byte, beside a hostile merchant with the same ids", async (t) => {
  const { alone, beside, stranger } = await compareLives({ seed: 3, operations: 80 });
  assert.deepEqual(beside, alone);
  assert.ok(alone.length > 150 && alone.some((line) => line.includes("recovery_action {")), `${alone.length} lines`);
  assert.ok(stranger.taken > 20 && stranger.taken < stranger.operations, JSON.stringify(stranger));
  t.diagnostic(`${alone.length} lines; ${stranger.operations} things the stranger did, ${stranger.taken} taken`);
});
