import assert from "node:assert/strict";
import { test } from "node:test";
import { newestById } from "./batch.ts";

const record = (id: string, minute: number, state = "") => ({ id, updatedAt: new Date(minute * 60_000), state });

test("of records with the same id the newest stays, and of equally new ones the last", () => {
  const batch = [record("b", 2), record("a", 1, "first"), record("b", 3), record("a", 1, "last"), record("b", 1)];
  assert.deepEqual(newestById(batch), [record("a", 1, "last"), record("b", 3)]);
});

test("a batch in the order of its ids stays as it is", () => {
  const batch = [record("B", 3), record("a", 1), record("é", 2)];
  assert.deepEqual(newestById(batch), batch);
  assert.deepEqual(newestById(batch.toReversed()), batch);
});
