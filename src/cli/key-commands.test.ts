import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { testClock, testKey, testMerchant, testPorts } from "../api/api.fixture.ts";
import { apiKeysOfMerchant } from "../tables/api-keys.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { createTestContext } from "./context.fixture.ts";
import { keyRevoke } from "./key-commands.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const ports = testPorts(testClock());
const revoke = async (keyId: string, merchant: string) =>
  keyRevoke.run(createTestContext(database.db).context, { merchant }, [keyId]);
const stateOf = async (merchantId: string) => ({
  keys: await apiKeysOfMerchant(database.db, merchantId),
  audited: await listAuditEntries(database.db, merchantId, { noun: "key" }, 10),
});

test("`key revoke` changes nothing when the key belongs to another merchant", async () => {
  const [one, two] = [await testMerchant(database.db, ports), await testMerchant(database.db, ports)];
  await testKey(database.db, ports, one);
  await testKey(database.db, ports, two);
  const before = [await stateOf(one.id), await stateOf(two.id)];
  const id = before[1]!.keys[0]!.id;
  await assert.rejects(revoke(id, one.id), { message: new RegExp(`^The merchant has no active key ${id}`) });
  assert.deepEqual([await stateOf(one.id), await stateOf(two.id)], before);

  assert.equal(await revoke(id, two.id), 0);
  const { keys, audited } = await stateOf(two.id);
  assert.ok(keys[0]!.revokedAt);
  assert.equal(audited[0]!.operation, "key.revoked");
  assert.deepEqual(await stateOf(one.id), before[0]);
  await assert.rejects(revoke(id, two.id), /no active key/);
});
