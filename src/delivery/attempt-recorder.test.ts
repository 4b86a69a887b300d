import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import type { Event } from "../domain/event.ts";
import type { Merchant } from "../domain/merchant.ts";
import { prepared } from "../postgres/database.ts";
import { type EndedAttempt, listAttemptsOfEvent } from "../tables/delivery-attempts.ts";
import { createAttemptRecorder } from "./attempt-recorder.ts";
import { makeEvents, makeMerchant, realPorts, START } from "./deliverer.fixture.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A recorder, and the events that it recorded. */
function makeRecorder(isDistributed = false) {
  const recorded = new Set<string>();
  const recorder = createAttemptRecorder({
    db: { ...database.db, isDistributed },
    ports: realPorts,
    log: pino({ level: "silent" }),
    sleep,
    onRecorded: (batch, unrecorded) => {
      for (const attempt of batch) if (!unrecorded.includes(attempt)) recorded.add(attempt.eventId);
    },
  });
  cleanups.push(recorder.abandon);
  return { recorder, recorded };
}

const delivered = (merchant: Merchant, event: Event): EndedAttempt => ({
  merchantId: merchant.id,
  eventId: event.id,
  caseId: event.caseId,
  bucket: merchant.bucket,
  epoch: 0,
  round: 1,
  number: 1,
  dueAt: null,
  startedAt: START,
  endedAt: START,
  durationMs: 1,
  success: true,
  ends: "delivered",
  status: 200,
  error: null,
  response: null,
  headId: null,
  lookUpMs: null,
  connectMs: null,
  tlsMs: null,
  firstByteMs: null,
});

test("rows that the database rejects are postponed and do not delay the other rows", async () => {
  const merchant = await makeMerchant(database.db);
  const events = await makeEvents(database.db, merchant, 300, START);
  const { recorder, recorded } = makeRecorder();
  const isBad = (index: number) => index % 100 === 50;
  const startedMs = performance.now();
  for (const [index, event] of events.entries())
    recorder.add({ ...delivered(merchant, event), ...(isBad(index) ? { durationMs: -1 } : {}) });
  while (recorded.size < 297 && performance.now() - startedMs < 10_000) await sleep(5);
  assert.equal(recorded.size, 297);
  assert.ok(performance.now() - startedMs < 3_000, `took ${performance.now() - startedMs} ms`);
  await recorder.waitUntilIdle();
  assert.deepEqual([recorder.pending(), recorder.postponed()], [3, 3]);
  const [late] = await makeEvents(database.db, merchant, 1, START);
  const lateMs = performance.now();
  recorder.add(delivered(merchant, late!));
  while (!recorded.has(late!.id) && performance.now() - lateMs < 10_000) await sleep(5);
  assert.ok(performance.now() - lateMs < 500, "postponed rows do not delay a later batch");
});

test("a rejected row is retried and is recorded when the reason is gone", async () => {
  const merchant = await makeMerchant(database.db);
  const [event] = await makeEvents(database.db, merchant, 1, START);
  const { recorder, recorded } = makeRecorder();
  const attempt = { ...delivered(merchant, event!), durationMs: -1 };
  recorder.add(attempt);
  await sleep(20);
  await recorder.waitUntilIdle();
  assert.equal(recorder.postponed(), 1);
  attempt.durationMs = 1;
  const endMs = performance.now() + 5_000;
  while (recorder.pending() > 0 && performance.now() < endMs) await sleep(5);
  assert.ok(recorded.has(event!.id));
  assert.equal((await listAttemptsOfEvent(database.db, merchant.id, event!.id)).length, 1);
});

const LOCK_DELIVERIES = prepared("", "select event_id from deliveries where merchant_id = $1 for update");

test("on a cluster a merchant whose server does not answer delays no other merchant's attempts", async () => {
  const [away, near] = [await makeMerchant(database.db), await makeMerchant(database.db)];
  const [late] = await makeEvents(database.db, away, 1, START);
  const [first, second] = await makeEvents(database.db, near, 2, START);
  const { recorder, recorded } = makeRecorder(true);
  const untilRecorded = async (event: Event | undefined) => {
    const endMs = performance.now() + 10_000;
    while (!recorded.has(event!.id) && performance.now() < endMs) await sleep(5);
  };
  await database.db.transaction(async (tx) => {
    await tx.run(LOCK_DELIVERIES, [away.id]);
    recorder.add(delivered(away, late!));
    recorder.add(delivered(near, first!));
    await untilRecorded(first);
    recorder.add(delivered(near, second!));
    await untilRecorded(second);
    assert.deepEqual([...recorded], [first!.id, second!.id]);
    assert.equal(recorder.pending(), 1);
  });
  await recorder.waitUntilIdle();
  assert.deepEqual([...recorded].at(-1), late!.id);
  assert.equal(recorder.pending(), 0);
});

/** A recorder whose first `times` statements fail with `error`. */
function failing(times: number, error: Error) {
  let failuresLeft = times;
  const lines: { msg: string; attempts?: number; failures?: number; times?: number }[] = [];
  const pauses: number[] = [];
  const recorded: string[] = [];
  const recorder = createAttemptRecorder({
    db: {
      ...database.db,
      run: (statement, values) => (failuresLeft-- > 0 ? Promise.reject(error) : database.db.run(statement, values)),
      transaction: (work) => (failuresLeft-- > 0 ? Promise.reject(error) : database.db.transaction(work)),
    },
    ports: realPorts,
    log: pino({}, { write: (line: string) => lines.push(JSON.parse(line)) }),
    sleep: async (ms) => void pauses.push(ms),
    onRecorded: (batch) => recorded.push(...batch.map(({ eventId }) => eventId)),
  });
  cleanups.push(recorder.abandon);
  return { recorder, lines, pauses, recorded };
}
const coded = (code: string) => Object.assign(new Error("planned"), { code });

test("during an outage a batch is retried after longer and longer pauses, and each failure is logged with its count", async () => {
  const merchant = await makeMerchant(database.db);
  const events = await makeEvents(database.db, merchant, 2, START);
  const { recorder, lines, pauses, recorded } = failing(10, coded("57P01"));
  for (const event of events) recorder.add(delivered(merchant, event));
  await recorder.waitUntilIdle();
  assert.deepEqual(recorded.sort(), events.map(({ id }) => id).sort());
  assert.deepEqual(pauses, [100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000, 2_000, 2_000]);
  assert.deepEqual(
    lines.map(({ msg, attempts, failures }) => [msg, attempts, failures]),
    Array.from({ length: 10 }, (_, n) => ["attempts.record-failed", 2, n + 1]),
  );
  assert.deepEqual([recorder.pending(), recorder.postponed()], [0, 0]);
});

test("an abandoned recorder writes no pending or postponed attempt", async () => {
  const merchant = await makeMerchant(database.db);
  const [event] = await makeEvents(database.db, merchant, 1, START);
  const { recorder, lines, recorded } = failing(1, coded("23514"));
  recorder.add(delivered(merchant, event!));
  await recorder.waitUntilIdle();
  assert.equal(recorder.postponed(), 1);
  assert.deepEqual(
    lines.map(({ msg, times }) => [msg, times]),
    [["attempts.refused", 1]],
  );
  recorder.abandon();
  await sleep(250);
  assert.deepEqual([recorded, recorder.pending()], [[], 0]);
  recorder.add(delivered(merchant, event!));
  await recorder.waitUntilIdle();
  assert.deepEqual(recorded, []);
});
