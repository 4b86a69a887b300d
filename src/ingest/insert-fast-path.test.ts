import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { pauseFastPath, shouldTryFastPath } from "./insert-fast-path.ts";

test("the fast path is skipped for sixteen batches after a pause, and tried for every other merchant's batch", () => {
  const [pausedId, otherId] = [randomUUID(), randomUUID()];
  for (let n = 0; n < 3; n++) assert.equal(shouldTryFastPath(otherId), true);
  assert.equal(shouldTryFastPath(pausedId), true);
  pauseFastPath(pausedId);
  const attempts = Array.from({ length: 18 }, () => shouldTryFastPath(pausedId));
  assert.deepEqual(attempts, [...Array.from({ length: 16 }, () => false), true, true]);
  assert.equal(shouldTryFastPath(otherId), true);
});
