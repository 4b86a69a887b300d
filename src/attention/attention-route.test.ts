import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { testApi, testClock, testKey, testMerchant } from "../api/api.fixture.ts";
import { HOUR_MS } from "../domain/durations.ts";
import { PERMISSIONS } from "../domain/permission.ts";
import { createAttentionStore } from "./attention.fixture.ts";

let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
before(async () => {
  database = await createTestDatabase();
  api = await testApi(database.db, testClock());
});
after(async () => {
  await api.close();
  await database.drop();
});

test("GET /v1/attention lists what needs attention, for a key with the permission", async () => {
  const merchant = await testMerchant(database.db, api.ports);
  const now = api.ports.now();
  const store = createAttentionStore(database.db, merchant.id, now);
  await store.giveUpEvent(await store.openCase({ amount: 900 }), new Date(now.getTime() - 3 * HOUR_MS));
  const get = async (permissions: (typeof PERMISSIONS)[number][]) => {
    const { apiKey } = await testKey(database.db, api.ports, merchant, permissions);
    return api.http.inject({ url: "/v1/attention", headers: { authorization: `Bearer ${apiKey}` } });
  };
  const reply = await get(["read:attention"]);
  assert.equal(reply.statusCode, 200);
  assert.deepEqual(reply.json(), {
    items: [
      {
        kind: "instructions_given_up",
        severity: "broken",
        count: 1,
        money: [{ currency: "EUR", amount: "900" }],
        since: "2026-01-14T21:00:00.000Z",
        title: "Dunlin gave up 1 event",
        detail: "Every attempt to deliver it failed. It was given up 3 hours ago. Send it again.",
        href: "/deliveries?state=exhausted",
      },
    ],
  });
  assert.equal((await get(PERMISSIONS.filter((each) => each !== "read:attention"))).statusCode, 403);
});
