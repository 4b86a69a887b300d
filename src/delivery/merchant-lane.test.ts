import assert from "node:assert/strict";
import { test } from "node:test";
import type { Merchant } from "../domain/merchant.ts";
import type { DueDelivery } from "../tables/deliveries.ts";
import {
  beginRead,
  createLane,
  dropWithdrawn,
  endRead,
  excludedEventIds,
  isFailing,
  isReadDue,
  type Lane,
  noteDue,
  probeFrom,
  resetReadFloor,
  takeNext,
} from "./merchant-lane.ts";

const NOW_MS = Date.UTC(2026, 2, 2, 10);
const SECOND = 1_000;
const lane = () => createLane({ webhookCap: 5, webhookRate: null } as Merchant);
const row = (dueMs: number) => ({ eventId: String(dueMs), dueMs }) as DueDelivery;

/** Service and monotonic time run alike. Returns the time from which the read looked, in ms from NOW. */
function read(of: ReturnType<typeof lane>, atMs: number, due: readonly number[] = []) {
  const from = beginRead(of, atMs, new Date(NOW_MS + atMs), 1);
  const rows = due.map((ms) => row(NOW_MS + ms));
  endRead(of, rows, atMs);
  return from.getTime() - (from.getTime() === 0 ? 0 : NOW_MS);
}

test("the first read scans everything, and the next one starts at the oldest unsent row", () => {
  const one = lane();
  assert.equal(read(one, 0, [-9_000_000, -100]), 0);
  assert.equal(read(one, 10), -9_000_000);
  // Started and recorded, so no longer read ahead or busy.
  one.busy.set(takeNext(one, 20)!.eventId, NOW_MS - 9_000_000);
  assert.equal(read(one, 30), -9_000_000);
  one.busy.clear();
  assert.equal(read(one, 40), -9_000_000);
  takeNext(one, 50);
  assert.equal(read(one, 60), 40 - 5 * SECOND, "as of the previous read");
});

test("a read starts at least five seconds in the past, because rows are committed after their due time", () => {
  const one = lane();
  read(one, 0);
  assert.equal(read(one, 10), -5 * SECOND);
  assert.equal(read(one, 1_000), 10 - 5 * SECOND);
});

test("everything is scanned again after half a minute, and when another process may have sent meanwhile", () => {
  const one = lane();
  read(one, 0);
  assert.notEqual(read(one, 30 * SECOND), 0);
  assert.equal(read(one, 30 * SECOND + 1), 0);
  assert.notEqual(read(one, 31 * SECOND), 0);
  resetReadFloor(one);
  assert.equal(probeFrom(one, 32 * SECOND).getTime(), 0);
  assert.notEqual(probeFrom(one, 32 * SECOND).getTime(), 0);
});

test("an earlier due time noted during a read is covered by the next read", () => {
  const one = lane();
  read(one, 0);
  beginRead(one, 10, new Date(NOW_MS + 10), 1);
  noteDue(one, NOW_MS - 60 * SECOND);
  endRead(one, [row(NOW_MS)], 10);
  assert.equal(read(one, 20), -60 * SECOND);
});

test("stale rows are covered by the next read, even when they are dropped during a read", () => {
  const one = lane();
  read(one, 0, [-90 * SECOND]);
  beginRead(one, 1_500, new Date(NOW_MS + 1_500), 1);
  assert.equal(takeNext(one, 1_501), undefined);
  endRead(one, [], 1_500);
  assert.equal(read(one, 1_600), -90 * SECOND);
});

test("the five seconds are scaled with a fast clock", () => {
  const one = lane();
  beginRead(one, 0, new Date(NOW_MS), 1_000);
  endRead(one, [], 0);
  assert.equal(probeFrom(one, 1).getTime(), NOW_MS - 5_000 * SECOND);
});

test("a withdrawn event is not sent, whether it was read before or is being read", () => {
  const one = lane();
  read(one, 0, [-300, -200]);
  dropWithdrawn(one, [String(NOW_MS - 300)]);
  beginRead(one, 10, new Date(NOW_MS + 10), 1);
  dropWithdrawn(one, [String(NOW_MS - 100)]);
  endRead(one, [row(NOW_MS - 100), row(NOW_MS - 50)], 10);
  const begun = [takeNext(one, 20), takeNext(one, 20), takeNext(one, 20)].map((each) => each && each.dueMs - NOW_MS);
  assert.deepEqual(begun, [-200, -50, undefined]);
});

test("a lane is due for a read when something is due, a slot is free, no read runs, and the rows read ahead run low", () => {
  const wants = (over: Partial<Lane>, nowMs = NOW_MS) => isReadDue({ ...lane(), readSize: 8, ...over }, nowMs);
  assert.ok(wants({}));
  assert.ok(!wants({ isReading: true }));
  assert.ok(wants({ nextDueMs: NOW_MS }));
  assert.ok(!wants({ nextDueMs: NOW_MS + 1 }));
  assert.ok(wants({ inFlight: 4 }) && !wants({ inFlight: 5 }));
  const ahead = (count: number) => Array.from({ length: count }, (_, n) => ({ delivery: row(n), readMs: 0 }));
  assert.ok(wants({ prefetched: ahead(2) }) && !wants({ prefetched: ahead(3) }));
});

test("the read size grows to 256 rows with quick full reads and shrinks to the cap with slow ones", () => {
  const one = lane();
  const full = (atMs: number) => {
    beginRead(one, atMs, new Date(NOW_MS + atMs), 1);
    const size = one.readSize;
    endRead(
      one,
      Array.from({ length: size }, (_, n) => row(NOW_MS + n)),
      atMs,
    );
    one.prefetched = [];
    return size;
  };
  assert.deepEqual([full(0), full(249), full(498)], [5, 10, 20]);
  assert.deepEqual([full(748), full(1_248)], [20, 20], "a read every quarter to half second keeps the size");
  assert.deepEqual([full(1_749), full(2_250)], [10, 5]);
  assert.equal(full(9_000), 5);
  for (let atMs = 9_001; atMs < 9_010; atMs++) full(atMs);
  assert.equal(full(9_010), 256);
});

test("more rows are due only when a read was full", () => {
  const one = lane();
  beginRead(one, 0, new Date(NOW_MS), 1);
  assert.ok(one.isReading && one.nextDueMs === Number.POSITIVE_INFINITY);
  endRead(one, [1, 2, 3, 4].map(row), 0);
  assert.deepEqual(
    [one.isReading, one.nextDueMs, one.lastFullBatchMs],
    [false, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  beginRead(one, 10, new Date(NOW_MS), 1);
  endRead(one, [5, 6, 7, 8, 9].map(row), 10);
  assert.deepEqual([one.nextDueMs, one.lastFullBatchMs], [Number.NEGATIVE_INFINITY, 10]);
});

test("events in flight or read ahead are excluded from a read", () => {
  const one = lane();
  read(one, 0, [-2, -1]);
  one.busy.set("on the wire", NOW_MS);
  assert.deepEqual(excludedEventIds(one), ["on the wire", `${NOW_MS - 2}`, `${NOW_MS - 1}`]);
});

test("a row is read again when it was read more than a second ago", () => {
  const one = lane();
  read(one, 0, [-5]);
  assert.equal(takeNext(one, 1_000)!.dueMs, NOW_MS - 5);
  read(one, 2_000, [-5, -4]);
  one.nextDueMs = Number.POSITIVE_INFINITY;
  assert.equal(takeNext(one, 3_001), undefined);
  assert.deepEqual([one.prefetched, one.nextDueMs], [[], Number.NEGATIVE_INFINITY]);
});

test("an event withdrawn during one read can be returned by the next one", () => {
  const one = lane();
  beginRead(one, 0, new Date(NOW_MS), 1);
  dropWithdrawn(one, ["7"]);
  endRead(one, [row(7)], 0);
  assert.equal(takeNext(one, 1), undefined);
  beginRead(one, 10, new Date(NOW_MS), 1);
  endRead(one, [row(7)], 10);
  assert.equal(takeNext(one, 11)!.eventId, "7");
  dropWithdrawn(one, ["8"]);
  assert.equal(one.withdrawn.size, 0, "no read is running that could have returned it");
});

test("a lane is failing while it or the merchant's settings have a start of failures", () => {
  const failing = (since: Date | null, marked: Date | null) =>
    isFailing({ ...lane(), failing: { since, warned: false }, merchant: { webhookFailingSince: marked } as Merchant });
  const at = new Date(NOW_MS);
  assert.deepEqual([failing(null, null), failing(at, null), failing(null, at)], [false, true, true]);
});
