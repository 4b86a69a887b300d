import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { startLoop } from "./loop.ts";

const log = pino({ level: "silent" });

/** Resolves when it has been called `count` times. */
function counter(count: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  return { reached: promise, calls: () => calls, call: () => (++calls === count ? resolve() : undefined) };
}

test("a loop that is woken does not wait out its pause, and stops after the round under way", async () => {
  const rounds = counter(2);
  const loop = startLoop("test", log, async () => {
    rounds.call();
    return 3_600_000;
  });
  loop.wake();
  await rounds.reached;
  await loop.stop();
  const calls = rounds.calls();
  loop.wake();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(rounds.calls(), calls);
});

test("a loop that fails logs it and comes again", async () => {
  const lines: string[] = [];
  const rounds = counter(2);
  const loop = startLoop("test", pino({}, { write: (line: string) => lines.push(line) }), async () => {
    rounds.call();
    if (rounds.calls() === 1) throw new Error("no luck");
    return 3_600_000;
  });
  await rounds.reached;
  await loop.stop();
  assert.equal(JSON.parse(lines[0]!).msg, "test.failed");
});

test("a wake during a round begins the next one at once", async () => {
  const rounds = counter(2);
  const loop = startLoop("test", log, async () => {
    rounds.call();
    if (rounds.calls() === 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      loop.wake();
    }
    return 3_600_000;
  });
  await Promise.race([rounds.reached, new Promise((resolve) => setTimeout(resolve, 2_000).unref())]);
  await loop.stop();
  assert.equal(rounds.calls(), 2);
});
