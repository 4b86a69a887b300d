import assert from "node:assert/strict";
import { test } from "node:test";
import { planOnLives, type Slot } from "./plan-on-lives.ts";

const buildSlot = (day: number, paid: readonly number[], chance = 1): Slot => ({
  at: day,
  paid: Uint8Array.from(paid),
  chance,
  worth: 1 - 0.004 * day,
});
const daysOf = (...of: Parameters<typeof planOnLives>) => planOnLives(...of).map(({ at }) => at);

test("a second try is made where the first one is in vain, and not where a life that pays has paid already", () => {
  const slots = [buildSlot(1, [1, 1, 1, 0, 0, 0]), buildSlot(2, [1, 1, 1, 0, 0, 0]), buildSlot(3, [0, 0, 0, 1, 1, 0])];
  assert.deepEqual(daysOf(slots, 1, 0.01, 0), [1]);
  assert.deepEqual(daysOf(slots, 2, 0.01, 0), [1, 3]);
  assert.deepEqual(daysOf(slots, 6, 0.01, 0), [1, 3]);
});

test("a charge that may be refused for nothing is worth another try in the same lives", () => {
  const slots = [buildSlot(1, [1, 0], 0.5), buildSlot(2, [1, 0], 0.5), buildSlot(3, [1, 0], 0.5)];
  assert.deepEqual(daysOf(slots, 2, 0.01, 0), [1, 2]);
  assert.deepEqual(daysOf(slots, 3, 0.2, 0), [1]);
});

test("nothing is planned where no try brings what it costs, or none is left", () => {
  assert.deepEqual(daysOf([buildSlot(1, [1, 0, 0, 0])], 3, 0.3, 0), []);
  assert.deepEqual(daysOf([buildSlot(1, [1, 1])], 0, 0.01, 0), []);
  assert.deepEqual(daysOf([], 3, 0.01, 0), []);
});

test("two tries are so far apart as they have to be", () => {
  const slots = [buildSlot(1, [1, 0, 0]), buildSlot(2, [0, 1, 0]), buildSlot(3, [0, 0, 1])];
  assert.deepEqual(daysOf(slots, 3, 0.01, 2), [1, 3]);
  assert.deepEqual(daysOf(slots, 3, 0.01, 0), [1, 2, 3]);
});

test("a try that is the best single one gives way to two that do more together", () => {
  const slots = [buildSlot(1, [1, 1, 1, 0, 0, 0]), buildSlot(2, [0, 1, 1, 1, 1, 0]), buildSlot(3, [0, 0, 0, 1, 1, 1])];
  assert.deepEqual(daysOf(slots, 1, 0.01, 0), [2]);
  assert.deepEqual(daysOf(slots, 2, 0.01, 0), [1, 3]);
});
