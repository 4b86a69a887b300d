import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createDeadlines } from "./deadlines.ts";

/** A clock that moves only between steps, however slow the machine is. */
function createClock() {
  let nowMs = 0;
  return {
    monotonicMs: () => nowMs,
    pass(ms: number) {
      nowMs += ms;
    },
  };
}

async function expectEnded(late: readonly string[], items: readonly string[]) {
  for (let attempts = 0; attempts < 1000 && late.length < items.length; attempts++) await sleep(5);
  // A report that comes too early has come by now.
  await sleep(15);
  assert.deepEqual(late, items);
}

test("things that are not removed in time are reported once, in the order of their start", async () => {
  const clock = createClock();
  const late: string[] = [];
  const deadlines = createDeadlines<string>(30, clock.monotonicMs, (item) => late.push(item));
  deadlines.add("a");
  deadlines.add("in time");
  clock.pass(15);
  deadlines.add("b");
  deadlines.remove("in time");
  deadlines.remove("never in");
  clock.pass(20);
  await expectEnded(late, ["a"]);
  clock.pass(20);
  await expectEnded(late, ["a", "b"]);
  deadlines.add("c");
  clock.pass(30);
  await expectEnded(late, ["a", "b", "c"]);
});

test("the callback may add and remove other things", async () => {
  const clock = createClock();
  const late: string[] = [];
  const deadlines = createDeadlines<string>(10, clock.monotonicMs, (item) => {
    late.push(item);
    if (item === "a") {
      deadlines.remove("b");
      deadlines.add("c");
    }
  });
  deadlines.add("a");
  deadlines.add("b");
  clock.pass(10);
  await expectEnded(late, ["a"]);
  clock.pass(10);
  await expectEnded(late, ["a", "c"]);
});

test("no report comes too early, and an empty list does not keep the process alive", () => {
  const countTimers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  let nowMs = 0;
  // The test runner may have timers of its own.
  const others = countTimers();
  const deadlines = createDeadlines<string>(60_000, () => nowMs, assert.fail);
  deadlines.add("a");
  assert.equal(countTimers(), others + 1);
  nowMs = 59_999;
  deadlines.remove("a");
  assert.equal(countTimers(), others);
});
