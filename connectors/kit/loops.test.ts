import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { forEachAtOnce, startLoops } from "./loops.ts";

test("a loop that did something runs again at once, and one that failed goes on", async () => {
  const runs: string[] = [];
  const errors: string[] = [];
  const done = Promise.withResolvers<void>();
  const loops = startLoops(
    [
      {
        name: "work",
        everyMs: 1,
        async run() {
          runs.push("work");
          if (runs.length === 2) throw new Error("away");
          if (runs.length === 4) done.resolve();
          return runs.length === 1 ? 5 : 0;
        },
      },
    ],
    {
      sleep: (ms, signal) => sleep(ms, undefined, { signal }),
      onError: (name, error) => errors.push(`${name}: ${error}`),
    },
  );
  await done.promise;
  await loops.stop();
  assert.deepEqual(errors, ["work: Error: away"]);
  const { length } = runs;
  await sleep(5);
  assert.equal(runs.length, length, "it has stopped");
});

test("at most so many items are worked on at once, and all of them are", async () => {
  let [atOnce, most] = [0, 0];
  const seen: number[] = [];
  await forEachAtOnce([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    most = Math.max(most, ++atOnce);
    await sleep(1);
    seen.push(item);
    atOnce--;
  });
  assert.deepEqual([most, seen.length], [3, 7]);
});
