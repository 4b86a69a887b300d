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
  crowdedFrom: 4,
  hungMs: 1_000,
  hungLanesFrom: 3,
  hungStartsPerSecond: 0.05,
};
const monotonicMs = () => performance.now();

test("quick attempts are limited per lane and for all lanes together", () => {
  const wire = createInFlightLimiter(monotonicMs, () => {}, LIMITS);
  const [one, two, three] = [lane(5), lane(5), lane(1)];
  const ends = [one, one, two].map(wire.begin);
  assert.deepEqual([one, two, three].map(wire.mayBegin), [false, true, true]);
  ends.push(wire.begin(three));
  assert.ok(wire.isFull(true));
  assert.ok(!wire.mayBegin(three), "at its cap");
  for (const end of ends) end();
  assert.deepEqual([wire.isFull(true), wire.inFlight(), one.inFlight, one.quickCount], [false, 0, 0, 0]);
});

test("slow attempts free their slots until there are too many, and then only lanes without slow attempts start more", async () => {
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
  assert.deepEqual([wire.isFull(false), wire.isFull(true)], [true, false], "the last slots are for proven lanes");
  ends.push(...[lane(1), lane(1), lane(1)].map(wire.begin));
  assert.ok(wire.isFull(true), "the limit for all attempts");
  for (const end of ends.slice(1)) end();
  assert.deepEqual([wire.inFlight(), one.inFlight, one.quickCount, healthy.quickCount], [0, 0, 0, 0]);
});

test("new and slow lanes share separate slots, and free them sooner", async () => {
  const wire = createInFlightLimiter(monotonicMs, () => {}, LIMITS);
  const [dead, fresh, healthy] = [lane(9, false), lane(9, false), lane(9)];
  const ends = [dead, dead].map(wire.begin);
  assert.ok(wire.isFull(false) && !wire.isFull(true));
  assert.deepEqual([fresh, healthy].map(wire.mayBegin), [false, true]);
  await sleep(30);
  assert.ok(wire.mayBegin(fresh));
  for (const end of ends) end();
});

test("a lane is proven after a quick attempt and unproven after a slow one", () => {
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
  assert.equal(fresh.isProven, true, "quick enough, although it no longer held a slot");
  const second = wire.begin(fresh);
  nowMs += 40;
  second();
  assert.equal(fresh.isProven, false);
});

test("an unproven lane has one attempt at a time when there are many slow attempts, whatever its cap", async () => {
  const wire = createInFlightLimiter(monotonicMs, () => {}, { ...LIMITS, unprovenMax: 9, attemptsMax: 20 });
  const dead = [lane(9, false), lane(9, false), lane(9, false)];
  const ends = [...dead, dead[0]!].map(wire.begin);
  assert.deepEqual(dead.map(wire.mayBegin), [false, false, false]);
  assert.ok(wire.mayBegin(lane(9, false)) && wire.mayBegin(lane(9)));
  for (const end of ends) end();
  assert.ok(dead.every(wire.mayBegin));
});

test("while many lanes hang, each has one attempt at a time and rests so that together they start few per second", () => {
  let nowMs = 0;
  const wire = createInFlightLimiter(
    () => nowMs,
    () => {},
    { ...LIMITS, unprovenMax: 9, attemptsMax: 20, crowdedFrom: 20 },
  );
  const [one, two, three] = [lane(9, false), lane(9, false), lane(9, false)];
  const hang = (some: typeof three, tookMs: number) => {
    const end = wire.begin(some);
    nowMs += tookMs;
    end();
  };
  hang(one, 30_000);
  hang(two, 30_000);
  assert.ok(wire.mayBegin(one) && wire.mayBegin(two), "two hanging lanes are below the limit");
  hang(three, 30_000);
  assert.deepEqual(
    [one, two, three].map(wire.mayBegin),
    [true, true, false],
    "3 lanes, one start per 20 s: a rest of 60 s, less the 30 s of the attempt",
  );
  const end = wire.begin(one);
  assert.ok(!wire.mayBegin(one), "one at a time");
  assert.ok(wire.mayBegin(lane(9, false)), "a lane that does not hang need not rest");
  nowMs += 30_000;
  assert.ok(wire.mayBegin(three));
  end();
  assert.ok(!wire.mayBegin(one), "it hung again");
  hang(three, 10);
  assert.ok(wire.mayBegin(one), "the third lane answered, and two are below the limit");
});
