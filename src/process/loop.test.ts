import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { startLoop } from "./loop.ts";

const log = pino({ level: "silent" });

/** Resolves after `count` calls. */
function createCountedRuns(count: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  return { reached: promise, calls: () => calls, call: () => (++calls === count ? resolve() : undefined) };
}

test("a woken loop skips its pause, and a stopped one ends after the current run", async () => {
  const rounds = createCountedRuns(2);
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

test("a failing loop retries, logs at growing intervals, and logs its recovery", async () => {
  const lines: { msg: string; failures: number; errorMessage?: string }[] = [];
  const rounds = createCountedRuns(6);
  const loop = startLoop("test", pino({}, { write: (line: string) => lines.push(JSON.parse(line)) }), async () => {
    rounds.call();
    queueMicrotask(() => loop.wake());
    if (rounds.calls() < 6) throw new Error("no luck");
    return 3_600_000;
  });
  await rounds.reached;
  await loop.stop();
  const failed = (failures: number) => ({ msg: "test.failed", failures, errorMessage: "no luck" });
  assert.partialDeepStrictEqual(lines, [failed(1), failed(2), failed(4), { msg: "test.recovered", failures: 5 }]);
  assert.equal(lines.length, 4);
});

test("a loop that fails for long retries every two seconds", async () => {
  const atMs: number[] = [];
  const loop = startLoop("test", log, async () => {
    atMs.push(performance.now());
    throw new Error("no luck");
  });
  while (atMs.length < 6) await new Promise((resolve) => setTimeout(resolve, 20));
  await loop.stop();
  const pauses = atMs.slice(1).map((at, n) => at - atMs[n]!);
  assert.ok(pauses[0]! < 400 && pauses[4]! > 1_900 && pauses[4]! < 2_500, `${pauses}`);
});

test("a wake during a run starts the next run at once", async () => {
  const rounds = createCountedRuns(2);
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
