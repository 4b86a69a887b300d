import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { uuidV7 } from "../process/clock.ts";
import { findRequest, logRequests, maintainRequestLogPartitions, UNAUTHENTICATED_MERCHANT_ID } from "./request-log.ts";

const LONG_AGO = new Date("2000-01-01");
const day = (text: string) => new Date(`${text}T00:00:00Z`);
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

async function requestAt(at: Date): Promise<string> {
  const id = uuidV7(at, 0, Buffer.alloc(8, 1));
  const unknown = { callerRequestId: null, keyId: null, records: null, stored: null, older: null, error: null };
  const request = {
    ...unknown,
    merchantId: UNAUTHENTICATED_MERCHANT_ID,
    id,
    at,
    method: "GET",
    route: "/",
    status: 200,
    durationUs: 1,
  };
  await logRequests(database.db, [request]);
  await logRequests(database.db, [request]);
  return id;
}
const isThere = async (id: string) => (await findRequest(database.db, id)) !== null;

test("this day and the next have partitions, and a day is dropped when all of it is older than the retention of the log", async () => {
  const { made } = await maintainRequestLogPartitions(database.db, day("2026-12-31"), LONG_AGO);
  assert.deepEqual(made, ["request_log_2026_12_31", "request_log_2027_01_01"]);
  const [last, first] = [await requestAt(new Date("2026-12-31T23:59:59.999Z")), await requestAt(day("2027-01-01"))];
  assert.deepEqual(await maintainRequestLogPartitions(database.db, day("2026-12-31"), LONG_AGO), {
    made: [],
    dropped: [],
  });
  const early = await maintainRequestLogPartitions(
    database.db,
    day("2027-01-01"),
    new Date("2026-12-31T23:59:59.999Z"),
  );
  assert.deepEqual(early, { made: ["request_log_2027_01_02"], dropped: [] });
  assert.deepEqual([await isThere(last), await isThere(first)], [true, true]);
  const { dropped } = await maintainRequestLogPartitions(database.db, day("2027-01-01"), day("2027-01-01"));
  assert.deepEqual(dropped, ["request_log_2026_12_31"]);
  assert.deepEqual([await isThere(last), await isThere(first)], [false, true]);
});

test("requests of a day without a partition are found, and kept as long as others", async () => {
  const [old, recent] = [await requestAt(day("2031-03-01")), await requestAt(day("2031-03-10"))];
  await maintainRequestLogPartitions(database.db, day("2031-03-10"), day("2031-03-02"));
  assert.deepEqual([await isThere(old), await isThere(recent)], [false, true]);
});

test("several processes can maintain the log at the same time", async () => {
  const all = await Promise.all(
    Array.from({ length: 4 }, () => maintainRequestLogPartitions(database.db, day("2035-05-05"), day("2031-01-01"))),
  );
  assert.deepEqual(all.flatMap(({ made }) => made).sort(), ["request_log_2035_05_05", "request_log_2035_05_06"]);
});
