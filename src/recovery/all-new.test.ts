import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { foundKnown, mayBeAllNew } from "./all-new.ts";

test("who pushed something known is taken to do so for sixteen batches, and who never did is looked at each time", () => {
  const [changes, history] = [randomUUID(), randomUUID()];
  for (let n = 0; n < 3; n++) assert.equal(mayBeAllNew(history), true);
  assert.equal(mayBeAllNew(changes), true);
  foundKnown(changes);
  const looks = Array.from({ length: 18 }, () => mayBeAllNew(changes));
  assert.deepEqual(looks, [...Array.from({ length: 16 }, () => false), true, true]);
  assert.equal(mayBeAllNew(history), true);
});
