import assert from "node:assert/strict";
import { test } from "node:test";
import type { Arrival } from "./receiver.ts";
import type { StoredAttempt } from "./stored-rows.ts";
import { pairAttempts } from "./verify-events.ts";

const attempt = (number: number, startedAt: number, endedAt: number, status: number | null): StoredAttempt => ({
  ...{ eventId: "evt_1", round: 1, number, startedAt, endedAt, status, ends: null },
});
const arrival = (process: number, at: number, endAt: number, status: number | null): Arrival => ({
  ...{ eventId: "evt_1", merchant: 0, process, at, endAt, status, retryAfterMs: 0, cut: false },
});
const REAL_TIME = { toReal: (service: number) => service, isExcused: ({ process }: Arrival) => process === 9 };

test("each of two attempts within a millisecond gets its own request, though a busy sender ends the first one late", () => {
  const logged = [attempt(1, 100, 120, 500), attempt(2, 120.1, 121, 500)];
  const seen = [arrival(1, 105, 108, 500), arrival(1, 120, 120, 500)];
  const { pairs, open } = pairAttempts(logged, seen, REAL_TIME);
  assert.deepEqual(
    logged.map((each) => pairs.get(each)),
    seen,
  );
  assert.equal(open.size, 0);
});

test("an attempt gets the request that must be logged, not that of a former owner that woke up at the same time", () => {
  const logged = [attempt(1, 100, 120, 200)];
  const [former, present] = [arrival(9, 101, 110, 200), arrival(1, 102, 119, 200)];
  const { pairs, open } = pairAttempts(logged, [former, present], REAL_TIME);
  assert.equal(pairs.get(logged[0]!), present);
  assert.deepEqual([...open], [former]);
});

test("an attempt logged with another answer than its request got is paired with it, and one that no request fits has none", () => {
  const logged = [attempt(1, 100, 120, 500), attempt(2, 900, 901, 500)];
  const seen = [arrival(1, 105, 108, 200)];
  const { pairs } = pairAttempts(logged, seen, REAL_TIME);
  assert.equal(pairs.get(logged[0]!), seen[0]);
  assert.equal(pairs.has(logged[1]!), false);
});
