import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import type { Database } from "../postgres/database.ts";
import { createRateLimit, type RateLimit } from "./rate-limit.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const MERCHANT = "0198a000-0000-7000-8000-000000000001";
let ms = 1_000_000_000_000;
const ports = { realNow: () => new Date(ms), monotonicMs: () => ms };
let keys = 0;
const newKey = (perSecond = 100, burst = 100) => ({
  merchantId: MERCHANT,
  keyId: `0198a000-0000-7000-8000-${String(++keys).padStart(12, "0")}`,
  perSecond,
  burst,
});
const countPassed = async (limits: readonly RateLimit[], key: ReturnType<typeof newKey>, count: number) => {
  const replies = await Promise.all(Array.from({ length: count }, (_, i) => limits[i % limits.length]!.take(key)));
  return replies.filter(({ allowed }) => allowed).length;
};
const replicas = (count: number) => Array.from({ length: count }, () => createRateLimit(database.db, ports));

test("a burst passes, then exactly the refill rate, for any number of processes", async () => {
  for (const count of [1, 2, 3]) {
    const limits = replicas(count);
    const key = newKey();
    // Tokens that one process prefetched are missing in the others.
    const first = await countPassed(limits, key, 450);
    assert.ok(first <= 100 && first >= 100 - 5 * (count - 1), `${first} of 100 in ${count}`);
    let total = first;
    for (let step = 0; step < 100; step++) {
      ms += 100;
      total += await countPassed(limits, key, 20 * count);
    }
    assert.ok(total <= 1_100 && total >= 1_090, `${total} of 1100 in ${count}`);
    ms += 3_600_000;
    for (const limit of limits) await limit.settle();
    assert.ok((await countPassed(limits, key, 450)) <= 100, "a bucket holds no more than its burst");
  }
});

test("a process returns prefetched tokens that it does not need", async () => {
  const [one, two] = replicas(2) as [RateLimit, RateLimit];
  const key = newKey(1, 100);
  assert.equal(await countPassed([one], key, 50), 50);
  ms += 1;
  await one.settle();
  await one.settle();
  assert.equal(await countPassed([two], key, 70), 50);
  assert.equal(await countPassed([one], key, 20), 0, "returned tokens are gone here");
  await two.close();
});

test("few requests wait for the database, and one statement serves all keys", async () => {
  let statements = 0;
  const db: Database = {
    ...database.db,
    run: (statement, values) => {
      statements++;
      return database.db.run(statement, values);
    },
  };
  const limit = createRateLimit(db, ports);
  const busy = Array.from({ length: 20 }, () => newKey(1_000, 1_000));
  for (let step = 0; step < 100; step++) {
    ms += 10;
    await Promise.all(busy.flatMap((key) => [limit.take(key), limit.take(key), limit.take(key)]));
  }
  assert.ok(statements <= 60, `${statements} statements for 6,000 requests`);
});

test("each key has its own bucket, and its limit can change while it is in use", async () => {
  const [limit] = replicas(1) as [RateLimit];
  const a = newKey(1, 1);
  assert.equal((await limit.take(a)).allowed, true);
  assert.equal((await limit.take(a)).allowed, false);
  assert.equal((await limit.take(newKey(1, 1))).allowed, true);
  const c = newKey(10, 10);
  assert.equal((await limit.take(c)).allowed, true);
  const changed = await limit.take({ ...c, perSecond: 1, burst: 2 });
  assert.equal(changed.headers.ratelimit, '"default";r=1;t=1', "the nine remaining tokens exceed the new burst");
});

test("a refusal reports in whole seconds when a request will pass", async () => {
  const [limit] = replicas(1) as [RateLimit];
  const key = newKey(1, 1);
  await limit.take(key);
  ms += 100;
  const { headers } = await limit.take(key);
  assert.equal(headers["retry-after"], "1");
  assert.equal(headers.ratelimit, '"default";r=0;t=1');
  ms += 900;
  assert.equal((await limit.take(key)).allowed, true);
});

test("a clock that is set back by hours delays requests by a second at most", async () => {
  const [limit] = replicas(1) as [RateLimit];
  const key = newKey(10, 10);
  assert.equal(await countPassed([limit], key, 20), 10);
  const behind = createRateLimit(database.db, { ...ports, realNow: () => new Date(ms - 7_200_000) });
  assert.equal(await countPassed([behind], key, 20), 0);
  const later = createRateLimit(database.db, { ...ports, realNow: () => new Date(ms - 7_199_000) });
  assert.equal(await countPassed([later], key, 20), 10);
});

test("a request fails, and none is admitted, while the database is unavailable", async () => {
  let isUnavailable = true;
  const db: Database = {
    ...database.db,
    run: (statement, values) =>
      isUnavailable ? Promise.reject(new Error("unavailable")) : database.db.run(statement, values),
  };
  const limit = createRateLimit(db, ports);
  const key = newKey();
  await assert.rejects(limit.take(key), /unavailable/);
  isUnavailable = false;
  assert.equal((await limit.take(key)).allowed, true);
});
