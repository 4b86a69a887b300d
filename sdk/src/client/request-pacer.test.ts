import assert from "node:assert/strict";
import { test } from "node:test";
import { createRequestPacer } from "./request-pacer.ts";

function createTestPacer(inFlightMax: number, perSecond: number) {
  let now = 0;
  const sleep = async (ms: number) => {
    now += ms;
  };
  return { pace: createRequestPacer({ inFlightMax, perSecond, nowMs: () => now, sleep }), at: () => now };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("no more than the limit are in flight, and the next one starts in order when one ends", async () => {
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

test("no second has more starts than allowed", async () => {
  const { pace, at } = createTestPacer(5, 10);
  const startedMs: number[] = [];
  for (let n = 0; n < 35; n++) await pace.run(undefined, async () => void startedMs.push(at()));
  assert.deepEqual(new Set(startedMs.slice(0, 10)), new Set([0]));
  for (let n = 10; n < 35; n++) assert.ok(startedMs[n]! - startedMs[n - 10]! >= 1000, `${n}`);
  assert.equal(startedMs.at(-1), 3000);
});

test("requests that wait for the same second start one after the other", async () => {
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

test("work that fails frees its slot", async () => {
  const { pace } = createTestPacer(1, 100);
  await assert.rejects(
    pace.run(undefined, () => Promise.reject(new Error("no"))),
    /no/,
  );
  assert.equal(await pace.run(undefined, async () => "yes"), "yes");
});

test("an aborted request stops waiting at once, and takes no slot", async () => {
  const { pace } = createTestPacer(1, 100);
  let end = () => {};
  const first = pace.run(undefined, () => new Promise<void>((resolve) => (end = resolve)));
  const controller = new AbortController();
  const second = pace.run(controller.signal, async () => assert.fail("it was aborted"));
  const third = pace.run(undefined, async () => "third");
  controller.abort(new Error("gone"));
  await assert.rejects(second, /gone/);
  end();
  await first;
  assert.equal(await third, "third");
});

test("a request that is aborted during its work takes no slot of waiting ones", async () => {
  const { pace } = createTestPacer(1, 100);
  const ends: (() => void)[] = [];
  const work = () => new Promise<void>((resolve) => ends.push(resolve));
  const controller = new AbortController();
  const first = pace.run(undefined, work);
  const second = pace.run(controller.signal, work);
  const third = pace.run(undefined, work);
  await turn();
  ends[0]!();
  await turn();
  controller.abort(new Error("gone"));
  ends[1]!();
  await turn();
  assert.equal(ends.length, 3, "the third has begun");
  ends[2]!();
  await Promise.all([first, second, third]);
});
