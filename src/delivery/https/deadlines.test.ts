import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createDeadlines } from "./deadlines.ts";

const monotonicMs = () => performance.now();

test("what is not removed in time is told of once, in the order in which it began", async () => {
  const late: string[] = [];
  const deadlines = createDeadlines<string>(30, monotonicMs, (thing) => late.push(thing));
  deadlines.add("a");
  deadlines.add("in time");
  await sleep(15);
  deadlines.add("b");
  deadlines.remove("in time");
  deadlines.remove("never in");
  await sleep(20);
  assert.deepEqual(late, ["a"]);
  await sleep(20);
  assert.deepEqual(late, ["a", "b"]);
  deadlines.add("c");
  await sleep(45);
  assert.deepEqual(late, ["a", "b", "c"]);
});

test("whoever is told may add and remove others", async () => {
  const late: string[] = [];
  const deadlines = createDeadlines<string>(10, monotonicMs, (thing) => {
    late.push(thing);
    if (thing === "a") {
      deadlines.remove("b");
      deadlines.add("c");
    }
  });
  deadlines.add("a");
  deadlines.add("b");
  await sleep(60);
  assert.deepEqual(late, ["a", "c"]);
});

test("nobody is told too early, and an empty list holds no process up", () => {
  let nowMs = 0;
  const deadlines = createDeadlines<string>(60_000, () => nowMs, assert.fail);
  deadlines.add("a");
  nowMs = 59_999;
  deadlines.remove("a");
  assert.deepEqual(
    process.getActiveResourcesInfo().filter((name) => name === "Timeout"),
    [],
  );
});
