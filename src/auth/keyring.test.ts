import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { type TestDatabase, testDatabase } from "../../test/database.ts";
import { MERCHANT_DEFAULTS } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { apiKeysOfMerchant, revokeApiKey } from "../store/api-keys.ts";
import type { Database } from "../store/database.ts";
import { insertMerchant } from "../store/merchants.ts";
import { isApiKeyText, newApiKeyText } from "./api-key-text.ts";
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
  database = await testDatabase();
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

/** The database, and how many statements it was asked for. */
function counted() {
  const statements: string[] = [];
  const db: Database = {
    ...database.db,
    run: (statement, values) => {
      statements.push(statement.name);
      return database.db.run(statement, values);
    },
  };
  return { db, statements };
}
const newKey = (expiresAt?: Date) =>
  createApiKey(database.db, { merchantId: MERCHANT, permissions: ["ingest:invoices"], expiresAt }, ports);

test("a key is dln_live_ and 30 base62 characters and a checksum that tells typos", () => {
  for (let count = 0; count < 200; count++) {
    const text = newApiKeyText(randomBytes);
    assert.match(text, /^dln_live_[0-9A-Za-z]{36}$/);
    assert.equal(isApiKeyText(text), true);
    const at = 9 + (count % 36);
    const typo = text.slice(0, at) + (text[at] === "x" ? "y" : "x") + text.slice(at + 1);
    assert.equal(isApiKeyText(typo), false);
  }
  for (const text of ["", "dln_live_", `${newApiKeyText(randomBytes)} `, `sk_live_${"x".repeat(36)}`])
    assert.equal(isApiKeyText(text), false);
});

test("random bytes that would favour some letters are thrown away", () => {
  const blocks = [Buffer.alloc(30, 255), Buffer.alloc(30, 0)];
  assert.match(
    newApiKeyText(() => blocks.shift() ?? Buffer.alloc(30)),
    /^dln_live_0{30}/,
  );
});

test("a key is found with its merchant, and only its hash, prefix and last four are stored", async () => {
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

test("what has no right checksum never reaches the database", async () => {
  const { db, statements } = counted();
  const keyring = createKeyring(db, ports);
  assert.equal(await keyring.find(`dln_live_${"a".repeat(36)}`), null);
  assert.deepEqual(statements, []);
  assert.equal(await keyring.find(newApiKeyText(randomBytes)), null);
  assert.deepEqual(statements, ["find_api_key"]);
});

test("requests are served from memory, and one statement reads all keys again", async () => {
  const { db, statements } = counted();
  const keyring = createKeyring(db, ports);
  const keys = [(await newKey()).apiKey, (await newKey()).apiKey];
  for (let count = 0; count < 50; count++) for (const key of keys) assert.ok(await keyring.find(key));
  assert.equal(statements.length, 4);
  monotonicMs += 1000;
  for (let count = 0; count < 50; count++) for (const key of keys) assert.ok(await keyring.find(key));
  assert.deepEqual(statements.slice(4), ["api_keys_by_ids"]);
});

test("a revocation holds in every replica within a second, however often the key is used", async () => {
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

test("a key that nobody used for long is not trusted from memory", async () => {
  const { keyId, apiKey } = await newKey();
  const keyring = createKeyring(database.db, ports);
  assert.ok(await keyring.find(apiKey));
  await revokeApiKey(database.db, MERCHANT, keyId, ports.now());
  monotonicMs += 3_600_000;
  assert.equal(await keyring.find(apiKey), null);
});

test("a key that nobody used for half a minute is forgotten, though no other one is used", async () => {
  const { apiKey } = await newKey();
  const { db, statements } = counted();
  const keyring = createKeyring(db, ports);
  await keyring.find(apiKey);
  await keyring.flush();
  monotonicMs += 31_000;
  statements.length = 0;
  await keyring.flush();
  assert.deepEqual(statements, []);
  assert.ok(await keyring.find(apiKey));
  assert.equal(statements[0], "find_api_key");
});

test("while the database is away a key is trusted for less than a second, then the error is the caller's", async () => {
  const { apiKey } = await newKey();
  let away = false;
  const db: Database = {
    ...database.db,
    run: (statement, values) => (away ? Promise.reject(new Error("away")) : database.db.run(statement, values)),
  };
  const keyring = createKeyring(db, ports);
  assert.ok(await keyring.find(apiKey));
  away = true;
  monotonicMs += 899;
  assert.ok(await keyring.find(apiKey));
  monotonicMs += 1;
  await assert.rejects(keyring.find(apiKey), /away/);
  away = false;
  assert.ok(await keyring.find(apiKey));
});

test("a key expires by service time, at once", async () => {
  const { apiKey } = await newKey(new Date(serviceMs + 1000));
  const keyring = createKeyring(database.db, ports);
  assert.ok(await keyring.find(apiKey));
  serviceMs += 1000;
  assert.equal(await keyring.find(apiKey), null);
});

test("last use is written in one statement, and never goes back", async () => {
  const { db, statements } = counted();
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
