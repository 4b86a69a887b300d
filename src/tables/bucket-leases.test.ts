import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { BUCKET_COUNT } from "../domain/merchant.ts";
import { acquireLeases, releaseLeases, renewLeases } from "./bucket-leases.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const [FORMER, NEW, THIRD] = [1, 2, 3].map((n) => `0198a000-0000-7000-8000-00000000000${n}`) as [
  string,
  string,
  string,
];

test("a release by the former owner does not change the lease of the new owner", async () => {
  const connection = await database.db.connect();
  const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds));
  const former = await acquireLeases(connection, FORMER, at(0), at(10), BUCKET_COUNT);
  const buckets = former.map(({ bucket }) => bucket);
  assert.equal(buckets.length, BUCKET_COUNT);
  const owned = await acquireLeases(connection, NEW, at(10), at(20), BUCKET_COUNT);
  assert.deepEqual(
    owned.map(({ bucket }) => bucket).sort((a, b) => a - b),
    buckets.sort((a, b) => a - b),
  );

  await releaseLeases(connection, FORMER, buckets);
  assert.deepEqual(await acquireLeases(connection, THIRD, at(11), at(21), BUCKET_COUNT), []);
  assert.equal((await renewLeases(connection, NEW, at(30))).length, BUCKET_COUNT);

  await releaseLeases(connection, NEW, buckets.slice(1));
  assert.equal((await acquireLeases(connection, THIRD, at(11), at(21), BUCKET_COUNT)).length, BUCKET_COUNT - 1);
  await connection.close();
});
