import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Merchant } from "../domain/merchant.ts";
import { realPorts } from "./deliverer.fixture.ts";
import { spendToken } from "./delivery-rate.ts";
import { createLaneTimers } from "./lane-timers.ts";
import { createLane, type Lane } from "./merchant-lane.ts";

function setUpLane(merchant: Partial<Merchant> = {}) {
  const lane = createLane({ webhookCap: 5, webhookRate: null, ...merchant } as Merchant);
  const back: Lane[] = [];
  const timers = createLaneTimers(realPorts, (each) => back.push(each));
  const wakeAt = (delayMs: number, dueMs: number) => {
    lane.nextDueMs = dueMs;
    timers.wakeAt(lane, delayMs);
  };
  return { lane, back, timers, wakeAt };
}

test("a lane is advanced once when its time has come, however often the timer is set for that time", async () => {
  const { lane, back, wakeAt } = setUpLane();
  wakeAt(30, 1_000);
  const first = lane.timer;
  wakeAt(30, 1_000);
  assert.equal(lane.timer, first);
  assert.deepEqual(back, []);
  await sleep(80);
  assert.deepEqual([back, lane.timer], [[lane], null]);
});

test("a new due time replaces the earlier one", async () => {
  const { lane, back, wakeAt } = setUpLane();
  wakeAt(200, 2_000);
  wakeAt(20, 1_000);
  assert.equal(lane.timerDueMs, 1_000);
  await sleep(300);
  assert.equal(back.length, 1);
  wakeAt(20, 3_000);
  await sleep(60);
  assert.equal(back.length, 2);
});

test("a due time more than five seconds away is left to the sweep and cancels an earlier timer", async () => {
  const { lane, back, wakeAt, timers } = setUpLane();
  wakeAt(5_001, 1_000);
  assert.equal(lane.timer, null);
  wakeAt(5_000, 1_000);
  assert.notEqual(lane.timer, null);
  wakeAt(20, 500);
  wakeAt(6_000, 9_000);
  assert.equal(lane.timer, null);
  await sleep(60);
  assert.deepEqual(back, []);
  timers.clear([lane]);
});

test("a lane is advanced once when its used-up rate allows an attempt again", async () => {
  const { lane, back, timers } = setUpLane({ webhookRate: 20 });
  while (!timers.waitsForRate(lane)) spendToken(lane.merchant, lane.rateBucket);
  const timer = lane.rateTimer;
  assert.ok(timer !== null && timers.waitsForRate(lane) && lane.rateTimer === timer);
  await sleep(200);
  assert.deepEqual([back, lane.rateTimer], [[lane], null]);
  const free = setUpLane();
  for (let n = 0; n < 1_000; n++) spendToken(free.lane.merchant, free.lane.rateBucket);
  assert.equal(free.timers.waitsForRate(free.lane), false);
});

test("a stop clears all timers of lanes", async () => {
  const { lane, back, timers, wakeAt } = setUpLane({ webhookRate: 20 });
  while (!timers.waitsForRate(lane)) spendToken(lane.merchant, lane.rateBucket);
  wakeAt(20, 1_000);
  timers.clear([lane]);
  await sleep(200);
  assert.deepEqual(back, []);
});
