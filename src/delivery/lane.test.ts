import assert from "node:assert/strict";
import { test } from "node:test";
import type { Merchant } from "../domain/merchant.ts";
import type { DueDelivery } from "../store/deliveries.ts";
import { beginRead, dropWithdrawn, endRead, forgetFloor, newLane, noteDue, probeFrom, takeNext } from "./lane.ts";

const NOW_MS = Date.UTC(2026, 2, 2, 10);
const SECOND = 1_000;
const lane = () => newLane({ webhookCap: 5 } as Merchant);
const row = (dueMs: number) => ({ eventId: String(dueMs), dueMs }) as DueDelivery;

/** The service clock runs as the monotonic one does; returns from when on the read looked, in ms from NOW. */
function read(of: ReturnType<typeof lane>, atMs: number, due: readonly number[] = []) {
  const from = beginRead(of, atMs, new Date(NOW_MS + atMs), 1);
  const rows = due.map((ms) => row(NOW_MS + ms));
  endRead(of, rows, atMs);
  return from.getTime() - (from.getTime() === 0 ? 0 : NOW_MS);
}

test("the first read looks at everything, the next from the oldest row that is still to be sent", () => {
  const one = lane();
  assert.equal(read(one, 0, [-9_000_000, -100]), 0);
  assert.equal(read(one, 10), -9_000_000);
  // Begun, and so neither ahead nor busy any more once it is recorded.
  one.busy.set(takeNext(one, 20)!.eventId, NOW_MS - 9_000_000);
  assert.equal(read(one, 30), -9_000_000);
  one.busy.clear();
  assert.equal(read(one, 40), -9_000_000);
  takeNext(one, 50);
  assert.equal(read(one, 60), 40 - 5 * SECOND, "as known at the read before");
});

test("a read never starts later than five seconds ago, because a commit comes after its moment", () => {
  const one = lane();
  read(one, 0);
  assert.equal(read(one, 10), -5 * SECOND);
  assert.equal(read(one, 1_000), 10 - 5 * SECOND);
});

test("everything is looked at again after half a minute, and when somebody else may have sent meanwhile", () => {
  const one = lane();
  read(one, 0);
  assert.notEqual(read(one, 30 * SECOND), 0);
  assert.equal(read(one, 30 * SECOND + 1), 0);
  assert.notEqual(read(one, 31 * SECOND), 0);
  forgetFloor(one);
  assert.equal(probeFrom(one, 32 * SECOND).getTime(), 0);
  assert.notEqual(probeFrom(one, 32 * SECOND).getTime(), 0);
});

test("what is noted as due earlier, also during a read, is within the next one", () => {
  const one = lane();
  read(one, 0);
  beginRead(one, 10, new Date(NOW_MS + 10), 1);
  noteDue(one, NOW_MS - 60 * SECOND);
  endRead(one, [row(NOW_MS)], 10);
  assert.equal(read(one, 20), -60 * SECOND);
});

test("rows that were read and grew stale are within the next read, also when they are dropped during one", () => {
  const one = lane();
  read(one, 0, [-90 * SECOND]);
  beginRead(one, 1_500, new Date(NOW_MS + 1_500), 1);
  assert.equal(takeNext(one, 1_501), undefined);
  endRead(one, [], 1_500);
  assert.equal(read(one, 1_600), -90 * SECOND);
});

test("with a fast clock the five seconds are as much longer", () => {
  const one = lane();
  beginRead(one, 0, new Date(NOW_MS), 1_000);
  endRead(one, [], 0);
  assert.equal(probeFrom(one, 1).getTime(), NOW_MS - 5_000 * SECOND);
});

test("an event that is withdrawn is not begun, whether it was read before or is being read", () => {
  const one = lane();
  read(one, 0, [-300, -200]);
  dropWithdrawn(one, [String(NOW_MS - 300)]);
  beginRead(one, 10, new Date(NOW_MS + 10), 1);
  dropWithdrawn(one, [String(NOW_MS - 100)]);
  endRead(one, [row(NOW_MS - 100), row(NOW_MS - 50)], 10);
  const begun = [takeNext(one, 20), takeNext(one, 20), takeNext(one, 20)].map((each) => each && each.dueMs - NOW_MS);
  assert.deepEqual(begun, [-200, -50, undefined]);
});
