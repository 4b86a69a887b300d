import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { pauseFastPath, shouldTryFastPath } from "./insert-fast-path.ts";

test("who pushed something known is taken to do so for sixteen batches, and who never did is looked at each time", () => {
  const [changes, history] = [randomUUID(), randomUUID()];
  for (let n = 0; n < 3; n++) assert.equal(shouldTryFastPath(history), true);
  assert.equal(shouldTryFastPath(changes), true);
  pauseFastPath(changes);
  const looks = Array.from({ length: 18 }, () => shouldTryFastPath(changes));
  assert.deepEqual(looks, [...Array.from({ length: 16 }, () => false), true, true]);
  assert.equal(shouldTryFastPath(history), true);
});
