import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { prepared } from "../postgres/database.ts";
import { uuidV7 } from "../process/clock.ts";
import { maintainDeliveryLogPartitions } from "./delivery-log.ts";

const LONG_AGO = new Date("2000-01-01");
const day = (text: string) => new Date(`${text}T00:00:00Z`);

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const PARTITIONS = prepared(
  "test_partitions",
  "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'delivery_attempts'::regclass order by 1",
);
const partitions = async () =>
  (await database.db.run<{ name: string }>(PARTITIONS)).rows.map(({ name }) => name.replace("delivery_attempts_", ""));

const LOGGED = prepared(
  "test_logged",
  `insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, ends)
   values ($1, $2, 1, 1, $3, $3, 1, 'delivered') returning replace(tableoid::regclass::text, 'delivery_attempts_', '') as "in"`,
);
const attemptAt = async (at: Date) =>
  (await database.db.run<{ in: string }>(LOGGED, [randomUUID(), uuidV7(at, 0, Buffer.alloc(8, 1)), at])).rows[0]!.in;

const FORGET = prepared("test_forget", "delete from delivery_attempts");
beforeEach(async () => {
  await database.db.run(FORGET);
});

test("this month and the next have partitions, each with the attempts of events created in it", async () => {
  const { made } = await maintainDeliveryLogPartitions(database.db, day("2026-12-31"), LONG_AGO);
  assert.deepEqual(made, ["delivery_attempts_2026_12", "delivery_attempts_2027_01"]);
  assert.deepEqual(await partitions(), ["2026_12", "2027_01", "default"]);
  const places = ["2026-11-30T23:59:59.999Z", "2026-12-01", "2026-12-31T23:59:59.999Z", "2027-01-01", "2027-02-01"];
  assert.deepEqual(await Promise.all(places.map((at) => attemptAt(new Date(at)))), [
    "default",
    "2026_12",
    "2026_12",
    "2027_01",
    "default",
  ]);
  const again = await maintainDeliveryLogPartitions(database.db, day("2026-12-31"), LONG_AGO);
  assert.deepEqual(again, { made: [], dropped: [] });
});

test("a month is dropped exactly when its last event is older than the retention of the log", async () => {
  await maintainDeliveryLogPartitions(database.db, day("2026-12-31"), LONG_AGO);
  const kept = await maintainDeliveryLogPartitions(
    database.db,
    day("2027-01-15"),
    new Date("2026-12-31T23:59:59.999Z"),
  );
  assert.deepEqual(kept, { made: ["delivery_attempts_2027_02"], dropped: [] });
  const dropped = await maintainDeliveryLogPartitions(database.db, day("2027-01-15"), day("2027-01-01"));
  assert.deepEqual(dropped, { made: [], dropped: ["delivery_attempts_2026_12"] });
  assert.deepEqual(await partitions(), ["2027_01", "2027_02", "default"]);
});

test("several processes can maintain the log at the same time", async () => {
  const all = await Promise.all(
    Array.from({ length: 4 }, () => maintainDeliveryLogPartitions(database.db, day("2031-05-05"), day("2031-01-01"))),
  );
  assert.deepEqual(all.flatMap(({ made }) => made).sort(), ["delivery_attempts_2031_05", "delivery_attempts_2031_06"]);
  assert.deepEqual(await partitions(), ["2031_05", "2031_06", "default"]);
});

test("a month stays in the default partition when its attempts are there already", async () => {
  assert.equal(await attemptAt(day("2032-03-10")), "default");
  const { made } = await maintainDeliveryLogPartitions(database.db, day("2032-03-11"), LONG_AGO);
  assert.deepEqual(made, ["delivery_attempts_2032_04"]);
  assert.equal(await attemptAt(day("2032-03-12")), "default");
});

test("attempts in the default partition are deleted by their age, so that a replay of an old event is logged as long as any other", async () => {
  const OLD_EVENT = prepared(
    "test_replayed",
    `insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, ends)
     values ($1, $2, 2, 1, $3, $3, 1, 'delivered')`,
  );
  const eventId = uuidV7(day("2020-01-01"), 0, Buffer.alloc(8, 1));
  for (const at of [day("2033-01-01"), day("2033-03-01")])
    await database.db.run(OLD_EVENT, [randomUUID(), eventId, at]);
  const left = prepared("test_left", "select ended_at from delivery_attempts_default");
  await maintainDeliveryLogPartitions(database.db, day("2033-03-01"), day("2033-02-01"));
  assert.deepEqual((await database.db.run(left)).rows, [{ ended_at: day("2033-03-01") }]);
});
