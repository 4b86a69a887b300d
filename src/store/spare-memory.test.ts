import assert from "node:assert/strict";
import { test } from "node:test";
import { giveBack, takeMemory } from "./spare-memory.ts";

test("memory that was given back is taken again for what is about as long, and never by two at once", () => {
  const first = takeMemory(5_000);
  const second = takeMemory(5_000);
  assert.notEqual(first.buffer, second.buffer);
  giveBack(first.subarray(100, 200));
  const third = takeMemory(8_192);
  assert.equal(third.buffer, first.buffer);
  assert.equal(third.length, 8_192);
  assert.notEqual(takeMemory(5_000).buffer, first.buffer);
});

test("memory of any length is had, and of what is given back no more is kept than a few of a size", () => {
  for (const size of [0, 1, 4_096, 4_097, 2 ** 19, 2 ** 19 + 1, 2 ** 22]) assert.equal(takeMemory(size).length, size);
  const taken = Array.from({ length: 20 }, () => takeMemory(100_000));
  for (const memory of taken) giveBack(memory);
  const given = new Set(taken.map(({ buffer }) => buffer));
  const again = Array.from({ length: 20 }, () => takeMemory(100_000)).filter(({ buffer }) => given.has(buffer));
  assert.equal(again.length, 8);
  const large = takeMemory(2 ** 20);
  giveBack(large);
  assert.notEqual(takeMemory(2 ** 20).buffer, large.buffer);
});

test("memory is taken back once, and only what was taken", () => {
  const memory = takeMemory(5_000);
  giveBack(memory);
  giveBack(memory.subarray(10));
  assert.equal(takeMemory(5_000).buffer, memory.buffer);
  assert.notEqual(takeMemory(5_000).buffer, memory.buffer);
  const foreign = Buffer.alloc(8_192);
  giveBack(foreign);
  assert.notEqual(takeMemory(8_192).buffer, foreign.buffer);
});
