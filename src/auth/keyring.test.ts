import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { MERCHANT_DEFAULTS } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { apiKeysOfMerchant, revokeApiKey } from "../tables/api-keys.ts";
import { findMerchant, insertMerchant, updateMerchant } from "../tables/merchants.ts";
import { newApiKeyText } from "./api-key-text.ts";
import { createApiKey } from "./api-keys.ts";
import { createKeyring } from "./keyring.ts";

let database: TestDatabase;
let serviceMs = Date.UTC(2026, 0, 15);
let monotonicMs = 0;
let ids = 0;
const MERCHANT = "00000000-0000-7000-8000-000000000001";
const ports: Ports = {
  now: () => new Date(serviceMs),
  realNow: () => new Date(serviceMs),
  monotonicMs: () => monotonicMs,
  clockRate: 1,
  randomBytes,
  newId: () => `00000000-0000-7000-9000-${String(++ids).padStart(12, "0")}`,
};

before(async () => {
  database = await createTestDatabase();
  await insertMerchant(database.db, {
    ...MERCHANT_DEFAULTS,
    id: MERCHANT,
    name: "M",
    bucket: 0,
    leadMs: 0,
    createdAt: ports.now(),
  });
});
after(() => database.drop());

/** Counts statements. `hold` delays the result of the statement that reads all keys. */
function createCountingDatabase() {
  const statements: string[] = [];
  let held: { hasRead: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> } | undefined;
  const db: Database = {
    ...database.db,
    run: async (statement, values) => {
      statements.push(statement.name);
      const result = await database.db.run<never>(statement, values);
      if (held && statement.name === "api_keys_by_ids") {
        held.hasRead.resolve();
        await held.released.promise;
      }
      return result;
    },
  };
  const hold = () => {
    const [hasRead, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    held = { hasRead, released };
    return { hasRead: hasRead.promise, release: released.resolve };
  };
  return { db, statements, hold };
}
const newKey = (expiresAt?: Date) =>
  createApiKey(database.db, { merchantId: MERCHANT, permissions: ["ingest:invoices"], expiresAt }, ports);

test("a key is found with its merchant, and only its hash, prefix and last four characters are stored", async () => {
  const { keyId, apiKey } = await newKey();
  const caller = await createKeyring(database.db, ports).find(apiKey);
  assert.equal(caller?.key.id, keyId);
  assert.equal(caller?.merchant.id, MERCHANT);
  assert.deepEqual(caller?.key.permissions, ["ingest:invoices"]);
  const { rows } = await database.db.run<{ dump: string }>(
    { name: "test_dump_keys", text: "select api_keys::text as dump from api_keys where id = $1" },
    [keyId],
  );
  assert.equal(rows[0]!.dump.includes(apiKey.slice(9, 39)), false);
  assert.equal(caller?.key.lastFour, apiKey.slice(-4));
});

test("a text without a valid checksum causes no database query", async () => {
  const { db, statements } = createCountingDatabase();
  const keyring = createKeyring(db, ports);
  assert.equal(await keyring.find(`dln_live_${"a".repeat(36)}`), null);
  assert.deepEqual(statements, []);
  assert.equal(await keyring.find(newApiKeyText(randomBytes)), null);
  assert.deepEqual(statements, ["find_api_key"]);
});

test("requests are served from memory, and one statement refreshes all keys", async () => {
  const { db, statements } = createCountingDatabase();
  const keyring = createKeyring(db, ports);
  const keys = [(await newKey()).apiKey, (await newKey()).apiKey];
  for (let count = 0; count < 50; count++) for (const key of keys) assert.ok(await keyring.find(key));
  assert.equal(statements.length, 4);
  monotonicMs += 900;
  for (let count = 0; count < 50; count++) for (const key of keys) assert.ok(await keyring.find(key));
  assert.deepEqual(statements.slice(4), ["api_keys_by_ids"]);
});

test("a revocation takes effect in every process within a second, even while the key is in use", async () => {
  const { keyId, apiKey } = await newKey();
  const replicas = [createKeyring(database.db, ports), createKeyring(database.db, ports)];
  for (const replica of replicas) assert.ok(await replica.find(apiKey));
  assert.equal(await revokeApiKey(database.db, MERCHANT, keyId, ports.now()), true);
  assert.equal(await revokeApiKey(database.db, MERCHANT, keyId, ports.now()), false);
  for (let step = 0; step < 9; step++) {
    monotonicMs += 100;
    for (const replica of replicas) await replica.find(apiKey);
  }
  monotonicMs += 99;
  for (const replica of replicas) assert.equal(await replica.find(apiKey), null);
});

test("the age of a slow read counts from its start", async () => {
  const { keyId, apiKey } = await newKey();
  const { db, hold } = createCountingDatabase();
  const keyring = createKeyring(db, ports);
  await keyring.find(apiKey);
  monotonicMs += 450;
  const held = hold();
  assert.ok(await keyring.find(apiKey), "without waiting for the refresh that it starts");
  await held.hasRead;
  await revokeApiKey(database.db, MERCHANT, keyId, ports.now());
  monotonicMs += 900;
  const late = keyring.find(apiKey);
  held.release();
  assert.equal(await late, null);
});

test("a key that is loaded during a refresh stays in memory", async () => {
  const { db, hold, statements } = createCountingDatabase();
  const keyring = createKeyring(db, ports);
  const [one, two] = [await newKey(), await newKey()];
  await keyring.find(one.apiKey);
  monotonicMs += 900;
  const held = hold();
  const waiting = keyring.find(one.apiKey);
  await held.hasRead;
  assert.ok(await keyring.find(two.apiKey));
  held.release();
  assert.ok(await waiting);
  statements.length = 0;
  assert.ok(await keyring.find(two.apiKey));
  assert.deepEqual(statements, []);
});

test("a key that was deleted from the database is refused within a second", async () => {
  const [lost, other] = [await newKey(), await newKey()];
  const keyring = createKeyring(database.db, ports);
  for (const { apiKey } of [lost, other]) assert.ok(await keyring.find(apiKey));
  await database.db.run({ name: "lose_key", text: "delete from api_keys where id = $1" }, [lost.keyId]);
  monotonicMs += 900;
  assert.equal(await keyring.find(lost.apiKey), null);
  assert.ok(await keyring.find(other.apiKey));
});

test("keys in use are refreshed early, so that no request waits", async () => {
  const { apiKey } = await newKey();
  const { db, statements } = createCountingDatabase();
  const keyring = createKeyring(db, ports);
  await keyring.find(apiKey);
  statements.length = 0;
  monotonicMs += 449;
  await keyring.find(apiKey);
  assert.deepEqual(statements, []);
  monotonicMs += 1;
  await keyring.find(apiKey);
  assert.deepEqual(statements, ["api_keys_by_ids"]);
});

test("settings of a merchant take effect after 5 seconds, and are read once for all its keys", async () => {
  const { db, statements } = createCountingDatabase();
  const keyring = createKeyring(db, ports);
  const keys = [(await newKey()).apiKey, (await newKey()).apiKey];
  const rates = async () => {
    const callers = [];
    for (const key of keys) callers.push(await keyring.find(key));
    return callers.map((caller) => caller?.merchant.ratePerSecond);
  };
  const [former] = await rates();
  const merchant = (await findMerchant(database.db, MERCHANT))!;
  await updateMerchant(database.db, { ...merchant, ratePerSecond: 7 }, ports.now());
  monotonicMs += 4_100;
  assert.deepEqual(await rates(), [former, former]);
  statements.length = 0;
  monotonicMs += 900;
  assert.deepEqual(await rates(), [7, 7]);
  monotonicMs += 900;
  assert.deepEqual(await rates(), [7, 7]);
  assert.deepEqual(statements, ["api_keys_by_ids", "find_merchant", "api_keys_by_ids"]);
});

test("hasFound stays true for a key that was found once", async () => {
  const { keyId, apiKey } = await newKey();
  const keyring = createKeyring(database.db, ports);
  assert.equal(keyring.hasFound(apiKey), false);
  await keyring.find(apiKey);
  await revokeApiKey(database.db, MERCHANT, keyId, ports.now());
  monotonicMs += 60_000;
  await keyring.flush();
  assert.equal(keyring.hasFound(apiKey), true);
  assert.equal(keyring.hasFound(newApiKeyText(randomBytes)), false);
});

test("a key that was idle for long is not trusted from memory", async () => {
  const { keyId, apiKey } = await newKey();
  const keyring = createKeyring(database.db, ports);
  assert.ok(await keyring.find(apiKey));
  await revokeApiKey(database.db, MERCHANT, keyId, ports.now());
  monotonicMs += 3_600_000;
  assert.equal(await keyring.find(apiKey), null);
});

test("a key that was idle for half a minute is dropped, even if no other key is in use", async () => {
  const { apiKey } = await newKey();
  const { db, statements } = createCountingDatabase();
  const keyring = createKeyring(db, ports);
  await keyring.find(apiKey);
  await keyring.flush();
  monotonicMs += 30_000;
  statements.length = 0;
  await keyring.flush();
  assert.ok(await keyring.find(apiKey));
  assert.equal(statements[0], "api_keys_by_ids");
  await keyring.flush();
  monotonicMs += 30_001;
  statements.length = 0;
  await keyring.flush();
  assert.deepEqual(statements, []);
  assert.ok(await keyring.find(apiKey));
  assert.equal(statements[0], "find_api_key");
});

test("a key is trusted for less than a second while the database is unavailable", async () => {
  const { apiKey } = await newKey();
  let isUnavailable = false;
  const db: Database = {
    ...database.db,
    run: (statement, values) =>
      isUnavailable ? Promise.reject(new Error("unavailable")) : database.db.run(statement, values),
  };
  const keyring = createKeyring(db, ports);
  assert.ok(await keyring.find(apiKey));
  isUnavailable = true;
  monotonicMs += 899;
  assert.ok(await keyring.find(apiKey));
  monotonicMs += 1;
  await assert.rejects(keyring.find(apiKey), /unavailable/);
  isUnavailable = false;
  assert.ok(await keyring.find(apiKey));
});

test("a key expires at once by service time", async () => {
  const { apiKey } = await newKey(new Date(serviceMs + 1000));
  const keyring = createKeyring(database.db, ports);
  assert.ok(await keyring.find(apiKey));
  serviceMs += 1000;
  assert.equal(await keyring.find(apiKey), null);
});

test("last uses are written in the order of key ids, so that processes lock rows in the same order", async () => {
  const written: unknown[] = [];
  const db: Database = {
    ...database.db,
    run: (statement, values) => {
      if (statement.name === "touch_api_keys") written.push(values![0]);
      return database.db.run(statement, values);
    },
  };
  const keyring = createKeyring(db, ports);
  const keys = [await newKey(), await newKey(), await newKey()];
  for (const index of [1, 2, 0]) await keyring.find(keys[index]!.apiKey);
  await keyring.flush();
  assert.deepEqual(written, [keys.map(({ keyId }) => keyId)]);
});

test("last uses are written in one statement, and never decrease", async () => {
  const { db, statements } = createCountingDatabase();
  const keyring = createKeyring(db, ports);
  const one = await newKey();
  const two = await newKey();
  await keyring.find(one.apiKey);
  serviceMs += 5;
  await keyring.find(two.apiKey);
  await keyring.find(one.apiKey);
  statements.length = 0;
  await keyring.flush();
  await keyring.flush();
  assert.deepEqual(statements, ["touch_api_keys"]);
  const lastUsed = async () =>
    new Map((await apiKeysOfMerchant(database.db, MERCHANT)).map(({ id, lastUsedAt }) => [id, lastUsedAt?.getTime()]));
  assert.equal((await lastUsed()).get(one.keyId), serviceMs);
  assert.equal((await lastUsed()).get(two.keyId), serviceMs);
  const behind = createKeyring(database.db, { ...ports, now: () => new Date(serviceMs - 60_000) });
  await behind.find(one.apiKey);
  await behind.flush();
  assert.equal((await lastUsed()).get(one.keyId), serviceMs);
});
