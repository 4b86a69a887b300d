import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearned } from "./learned.ts";
import { OWN_SIZE, ownOf, putOwn } from "./own.ts";

test("each number that is a merchant's own comes back where it was, and another merchant's takes its place", () => {
  const learned = newLearned();
  const anne = Float64Array.from({ length: OWN_SIZE }, (_, n) => n + 1);
  const ben = anne.map((number) => -number);
  putOwn(learned, anne);
  assert.deepEqual(ownOf(learned), anne);
  assert.deepEqual(
    learned.tries,
    anne.subarray(OWN_SIZE - learned.tries.length - learned.shortfalls.length).subarray(0, learned.tries.length),
  );
  assert.deepEqual(learned.shortfalls, anne.subarray(OWN_SIZE - learned.shortfalls.length));
  putOwn(learned, ben);
  assert.deepEqual(ownOf(learned), ben);
});
