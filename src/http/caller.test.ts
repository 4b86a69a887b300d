import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { type TestClock, testApi, testClock, testKey, testMerchant } from "../api/api.fixture.ts";
import { revokeApiKey } from "../tables/api-keys.ts";

let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
let clock: TestClock;
before(async () => {
  database = await createTestDatabase();
  clock = testClock();
  api = await testApi(database.db, clock);
});
after(async () => {
  await api.close();
  await database.drop();
});

const list = (apiKey: string, address = "203.0.113.20") => {
  const headers = { authorization: `Bearer ${apiKey}`, "x-forwarded-for": address };
  return api.http.inject({ url: "/v1/recovery_actions", headers });
};
const statuses = async (count: number, apiKey: string, address?: string) => {
  const found: number[] = [];
  for (let n = 0; n < count; n++) found.push((await list(apiKey, address)).statusCode);
  return found;
};

test("forbidden requests count toward the rate limit", async () => {
  const merchant = await testMerchant(database.db, api.ports, { ratePerSecond: 1, rateBurst: 3 });
  const { apiKey } = await testKey(database.db, api.ports, merchant, ["ingest:invoices"]);
  assert.deepEqual(await statuses(5, apiKey), [403, 403, 403, 429, 429]);
});

test("a revoked key is throttled like an unknown one after thirty invalid requests", async () => {
  const merchant = await testMerchant(database.db, api.ports);
  const { apiKey, keyId } = await testKey(database.db, api.ports, merchant);
  assert.equal((await list(apiKey, "203.0.113.21")).statusCode, 200);
  await revokeApiKey(database.db, merchant.id, keyId, api.ports.now());
  clock.monotonicMs += 2_000;
  const found = await statuses(33, apiKey, "203.0.113.21");
  assert.deepEqual(found, [...Array(30).fill(401), 429, 429, 429]);
  const { apiKey: validKey } = await testKey(database.db, api.ports, merchant);
  assert.equal((await list(validKey, "203.0.113.22")).statusCode, 200);
  assert.equal((await list(validKey, "203.0.113.21")).statusCode, 200);
});
