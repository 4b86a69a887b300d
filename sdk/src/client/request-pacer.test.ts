import assert from "node:assert/strict";
import { test } from "node:test";
import { createRequestPacer } from "./request-pacer.ts";

/** A pace on a clock that only sleeping moves. */
function createTestPacer(inFlightMax: number, perSecond: number) {
  let now = 0;
  const sleep = async (ms: number) => {
    now += ms;
  };
  return { pace: createRequestPacer({ inFlightMax, perSecond, nowMs: () => now, sleep }), at: () => now };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("no more than the limit are under way, and each that ends lets the next one begin, in order", async () => {
  const { pace } = createTestPacer(2, 100);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const all = [0, 1, 2, 3].map((n) =>
    pace.run(undefined, () => {
      begun.push(n);
      return new Promise<void>((resolve) => {
        ends[n] = resolve;
      });
    }),
  );
  await turn();
  assert.deepEqual(begun, [0, 1]);
  ends[1]!();
  await turn();
  assert.deepEqual(begun, [0, 1, 2]);
  ends[0]!();
  ends[2]!();
  await turn();
  ends[3]!();
  await Promise.all(all);
});

test("no second holds more starts than allowed", async () => {
  const { pace, at } = createTestPacer(5, 10);
  const startedMs: number[] = [];
  for (let n = 0; n < 35; n++) await pace.run(undefined, async () => void startedMs.push(at()));
  assert.deepEqual(new Set(startedMs.slice(0, 10)), new Set([0]));
  for (let n = 10; n < 35; n++) assert.ok(startedMs[n]! - startedMs[n - 10]! >= 1000, `${n}`);
  assert.equal(startedMs.at(-1), 3000);
});

test("those who wait for the same second begin one after the other", async () => {
  let now = 0;
  let asleep: { until: number; wake(): void }[] = [];
  const sleep = (ms: number) => new Promise<void>((wake) => asleep.push({ until: now + ms, wake }));
  const pace = createRequestPacer({ inFlightMax: 3, perSecond: 1, nowMs: () => now, sleep });
  const startedMs: number[] = [];
  const all = [1, 2, 3].map(() => pace.run(undefined, async () => void startedMs.push(now)));
  for (; now <= 2000; now += 500) {
    for (const { wake } of asleep.filter(({ until }) => until <= now)) wake();
    asleep = asleep.filter(({ until }) => until > now);
    await turn();
  }
  await Promise.all(all);
  assert.deepEqual(startedMs, [0, 1000, 2000]);
});

test("work that fails makes room too", async () => {
  const { pace } = createTestPacer(1, 100);
  await assert.rejects(
    pace.run(undefined, () => Promise.reject(new Error("no"))),
    /no/,
  );
  assert.equal(await pace.run(undefined, async () => "yes"), "yes");
});

test("who waits and is aborted leaves at once, and takes nobody's turn", async () => {
  const { pace } = createTestPacer(1, 100);
  let end = () => {};
  const first = pace.run(undefined, () => new Promise<void>((resolve) => (end = resolve)));
  const leaving = new AbortController();
  const second = pace.run(leaving.signal, async () => assert.fail("it was aborted"));
  const third = pace.run(undefined, async () => "third");
  leaving.abort(new Error("gone"));
  await assert.rejects(second, /gone/);
  end();
  await first;
  assert.equal(await third, "third");
});

test("who is aborted while its work is under way takes no turn of those who wait", async () => {
  const { pace } = createTestPacer(1, 100);
  const ends: (() => void)[] = [];
  const work = () => new Promise<void>((resolve) => ends.push(resolve));
  const leaving = new AbortController();
  const first = pace.run(undefined, work);
  const second = pace.run(leaving.signal, work);
  const third = pace.run(undefined, work);
  await turn();
  ends[0]!();
  await turn();
  leaving.abort(new Error("gone"));
  ends[1]!();
  await turn();
  assert.equal(ends.length, 3, "the third has begun");
  ends[2]!();
  await Promise.all([first, second, third]);
});
