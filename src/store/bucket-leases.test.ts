import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type TestDatabase, testDatabase } from "../../test/database.ts";
import { BUCKETS } from "../domain/merchant.ts";
import { releaseLeases, renewLeases, takeLeases } from "./bucket-leases.ts";

let database: TestDatabase;
before(async () => {
  database = await testDatabase();
});
after(() => database.drop());

const [FORMER, NEW, THIRD] = [1, 2, 3].map((n) => `0198a000-0000-7000-8000-00000000000${n}`) as [
  string,
  string,
  string,
];

test("a release by the former owner leaves the lease of the new owner as it is", async () => {
  const connection = await database.db.connect();
  const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds));
  const former = await takeLeases(connection, FORMER, at(0), at(10), BUCKETS);
  const buckets = former.map(({ bucket }) => bucket);
  assert.equal(buckets.length, BUCKETS);
  const owned = await takeLeases(connection, NEW, at(10), at(20), BUCKETS);
  assert.deepEqual(
    owned.map(({ bucket }) => bucket).sort((a, b) => a - b),
    buckets.sort((a, b) => a - b),
  );

  await releaseLeases(connection, FORMER, buckets);
  assert.deepEqual(await takeLeases(connection, THIRD, at(11), at(21), BUCKETS), []);
  assert.equal((await renewLeases(connection, NEW, at(30))).length, BUCKETS);

  await releaseLeases(connection, NEW, buckets.slice(1));
  assert.equal((await takeLeases(connection, THIRD, at(11), at(21), BUCKETS)).length, BUCKETS - 1);
  await connection.close();
});
