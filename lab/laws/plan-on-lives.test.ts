import assert from "node:assert/strict";
import { test } from "node:test";
import { planOnLives, type Slot } from "./plan-on-lives.ts";

const buildSlot = (day: number, paid: readonly number[], chance = 1): Slot => ({
  at: day,
  paid: Uint8Array.from(paid),
  chance,
  value: 1 - 0.004 * day,
});
const daysOf = (...args: Parameters<typeof planOnLives>) => planOnLives(...args).map(({ at }) => at);

test("a second retry goes where the first one fails, and not where the paying lives have already paid", () => {
  const slots = [buildSlot(1, [1, 1, 1, 0, 0, 0]), buildSlot(2, [1, 1, 1, 0, 0, 0]), buildSlot(3, [0, 0, 0, 1, 1, 0])];
  assert.deepEqual(daysOf(slots, 1, 0.01, 0), [1]);
  assert.deepEqual(daysOf(slots, 2, 0.01, 0), [1, 3]);
  assert.deepEqual(daysOf(slots, 6, 0.01, 0), [1, 3]);
});

test("a second retry in the same lives is worth its cost when a charge can be refused at random", () => {
  const slots = [buildSlot(1, [1, 0], 0.5), buildSlot(2, [1, 0], 0.5), buildSlot(3, [1, 0], 0.5)];
  assert.deepEqual(daysOf(slots, 2, 0.01, 0), [1, 2]);
  assert.deepEqual(daysOf(slots, 3, 0.2, 0), [1]);
});

test("no retry is planned when none is worth its cost or none is left", () => {
  assert.deepEqual(daysOf([buildSlot(1, [1, 0, 0, 0])], 3, 0.3, 0), []);
  assert.deepEqual(daysOf([buildSlot(1, [1, 1])], 0, 0.01, 0), []);
  assert.deepEqual(daysOf([], 3, 0.01, 0), []);
});

test("two retries keep the required distance", () => {
  const slots = [buildSlot(1, [1, 0, 0]), buildSlot(2, [0, 1, 0]), buildSlot(3, [0, 0, 1])];
  assert.deepEqual(daysOf(slots, 3, 0.01, 2), [1, 3]);
  assert.deepEqual(daysOf(slots, 3, 0.01, 0), [1, 2, 3]);
});

test("the best single retry gives way to two that recover more together", () => {
  const slots = [buildSlot(1, [1, 1, 1, 0, 0, 0]), buildSlot(2, [0, 1, 1, 1, 1, 0]), buildSlot(3, [0, 0, 0, 1, 1, 1])];
  assert.deepEqual(daysOf(slots, 1, 0.01, 0), [2]);
  assert.deepEqual(daysOf(slots, 2, 0.01, 0), [1, 3]);
});
