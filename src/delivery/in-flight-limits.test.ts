import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Merchant } from "../domain/merchant.ts";
import { createInFlightLimiter } from "./in-flight-limits.ts";
import { createLane } from "./merchant-lane.ts";

const lane = (webhookCap: number, isProven = true) => ({ ...createLane({ webhookCap } as Merchant), isProven });
const LIMITS = {
  quickMax: 4,
  laneQuickMax: 2,
  unprovenMax: 2,
  quickMs: 40,
  unprovenMs: 20,
  attemptsMax: 10,
  crowd: 4,
  hungMs: 1_000,
  hungMany: 3,
  hungPerSecond: 0.05,
};
const monotonicMs = () => performance.now();

test("a lane holds its share of the quick attempts, all lanes together hold no more than there are", () => {
  const wire = createInFlightLimiter(monotonicMs, () => {}, LIMITS);
  const [one, two, three] = [lane(5), lane(5), lane(1)];
  const ends = [one, one, two].map(wire.begin);
  assert.deepEqual([one, two, three].map(wire.mayBegin), [false, true, true]);
  ends.push(wire.begin(three));
  assert.ok(wire.isFull(true));
  assert.ok(!wire.mayBegin(three), "its cap");
  for (const end of ends) end();
  assert.deepEqual([wire.isFull(true), wire.inFlight(), one.inFlight, one.quick], [false, 0, 0, 0]);
});

test("slow attempts make room, until they are a crowd: then only lanes without slow ones begin more", async () => {
  const slow: unknown[] = [];
  const wire = createInFlightLimiter(monotonicMs, (lane) => slow.push(lane), LIMITS);
  const [one, two, healthy] = [lane(50), lane(50), lane(50)];
  const ends = [one, one, two, two].map(wire.begin);
  assert.ok(wire.isFull(true));
  await sleep(80);
  assert.deepEqual(slow, [one, one, two, two]);
  assert.ok(!wire.isFull(true));
  assert.deepEqual([one, two, healthy].map(wire.mayBegin), [false, false, true]);
  ends[0]!();
  one.isProven = true;
  assert.ok(wire.mayBegin(one));
  ends.push(...[one, one, healthy, healthy].map(wire.begin));
  await sleep(80);
  assert.deepEqual([wire.isFull(false), wire.isFull(true)], [true, false], "the last ones are for proven lanes");
  ends.push(...[lane(1), lane(1), lane(1)].map(wire.begin));
  assert.ok(wire.isFull(true), "the bound of all attempts together");
  for (const end of ends.slice(1)) end();
  assert.deepEqual([wire.inFlight(), one.inFlight, one.quick, healthy.quick], [0, 0, 0, 0]);
});

test("lanes that are new or were slow share slots of their own, and leave them sooner", async () => {
  const wire = createInFlightLimiter(monotonicMs, () => {}, LIMITS);
  const [dead, fresh, healthy] = [lane(9, false), lane(9, false), lane(9)];
  const ends = [dead, dead].map(wire.begin);
  assert.ok(wire.isFull(false) && !wire.isFull(true));
  assert.deepEqual([fresh, healthy].map(wire.mayBegin), [false, true]);
  await sleep(30);
  assert.ok(wire.mayBegin(fresh));
  for (const end of ends) end();
});

test("a lane is proven by an attempt that ended quickly, and no longer by one that did not", () => {
  let nowMs = 0;
  const wire = createInFlightLimiter(
    () => nowMs,
    () => {},
    LIMITS,
  );
  const fresh = lane(9, false);
  const first = wire.begin(fresh);
  nowMs += 30;
  first();
  assert.equal(fresh.isProven, true, "quick enough, though it had left the slots");
  const second = wire.begin(fresh);
  nowMs += 40;
  second();
  assert.equal(fresh.isProven, false);
});

test("in a crowd a lane that is not proven has one attempt at a time, whatever its cap", async () => {
  const wire = createInFlightLimiter(monotonicMs, () => {}, { ...LIMITS, unprovenMax: 9, attemptsMax: 20 });
  const dead = [lane(9, false), lane(9, false), lane(9, false)];
  const ends = [...dead, dead[0]!].map(wire.begin);
  assert.deepEqual(dead.map(wire.mayBegin), [false, false, false]);
  assert.ok(wire.mayBegin(lane(9, false)) && wire.mayBegin(lane(9)));
  for (const end of ends) end();
  assert.ok(dead.every(wire.mayBegin));
});

test("while many lanes hang, each has one attempt at a time, and they rest so that together they begin few a second", () => {
  let nowMs = 0;
  const wire = createInFlightLimiter(
    () => nowMs,
    () => {},
    { ...LIMITS, unprovenMax: 9, attemptsMax: 20, crowd: 20 },
  );
  const [one, two, three] = [lane(9, false), lane(9, false), lane(9, false)];
  const hang = (some: typeof three, tookMs: number) => {
    const end = wire.begin(some);
    nowMs += tookMs;
    end();
  };
  hang(one, 30_000);
  hang(two, 30_000);
  assert.ok(wire.mayBegin(one) && wire.mayBegin(two), "two are not many");
  hang(three, 30_000);
  assert.deepEqual(
    [one, two, three].map(wire.mayBegin),
    [true, true, false],
    "3 lanes, one each 20 s: 60 s, less 30 s that it hung",
  );
  const end = wire.begin(one);
  assert.ok(!wire.mayBegin(one), "one at a time");
  assert.ok(wire.mayBegin(lane(9, false)), "who does not hang need not rest");
  nowMs += 30_000;
  assert.ok(wire.mayBegin(three));
  end();
  assert.ok(!wire.mayBegin(one), "it hung again");
  hang(three, 10);
  assert.ok(wire.mayBegin(one), "three has answered, and two are not many");
});
