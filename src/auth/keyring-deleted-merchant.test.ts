import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { createApiKey } from "./api-keys.ts";
import { createKeyring } from "./keyring.ts";

const { db, drop } = await createTestDatabase();
after(() => drop());

test("a deleted key is refused, and further calls with it refresh no other key", async () => {
  const clock = testClock();
  const ports = { ...testPorts(clock), monotonicMs: () => clock.serviceMs };
  const merchant = await testMerchant(db, ports);
  const { apiKey, keyId } = await createApiKey(
    db,
    { merchantId: merchant.id, permissions: ["ingest:invoices"] },
    ports,
  );
  let refreshes = 0;
  const counted: Database = {
    ...db,
    run: (statement, values) => {
      if (statement.name === "api_keys_by_ids") refreshes++;
      return db.run(statement, values);
    },
  };
  const keyring = createKeyring(counted, ports);
  assert.ok(await keyring.find(apiKey));
  await db.run(prepared("", "delete from api_keys where merchant_id = $1 and id = $2"), [merchant.id, keyId]);
  for (let calls = 0; calls < 3; calls++) {
    clock.serviceMs += 1_000;
    assert.equal(await keyring.find(apiKey), null);
  }
  assert.equal(refreshes, 1);
});
