import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { testMerchant } from "../../api/api.fixture.ts";
import { createApiKey } from "../../auth/api-keys.ts";
import { createKeyring } from "../../auth/keyring.ts";
import { HOUR_MS } from "../../domain/durations.ts";
import { PERMISSIONS } from "../../domain/permission.ts";
import { apiKeysOfMerchant, touchApiKeys } from "../../tables/api-keys.ts";
import { createTestConsole, hiddenFieldValue, type TestConsole } from "../console.fixture.ts";

let at: TestConsole;
let developer: Awaited<ReturnType<TestConsole["as"]>>;
before(async () => {
  at = await createTestConsole();
  developer = await at.as("developer");
});
after(() => at.close());

const keyIn = (page: string) => /dln_live_[0-9A-Za-z]{36}/.exec(page)?.[0];
const keys = () => apiKeysOfMerchant(at.db, at.merchant.id);
const newForm = async () => ({ id: hiddenFieldValue((await developer.get("/org/api_keys/new")).body, "id") });
const list = (apiKey: string) =>
  at.http.inject({ url: "/v1/recovery_actions", headers: { authorization: `Bearer ${apiKey}` } });

async function makeKey(fields: Record<string, string | string[]> = {}) {
  const created = await developer.post("/org/api_keys", {
    ...(await newForm()),
    permission: [...PERMISSIONS],
    ...fields,
  });
  assert.equal(created.statusCode, 200, created.body);
  const apiKey = keyIn(created.body)!;
  const key = (await keys()).find(({ lastFour }) => lastFour === apiKey.slice(-4))!;
  return { apiKey, key };
}

test("a new key is shown exactly once with a working curl command, and a resent form creates no second key", async () => {
  const form = { ...(await newForm()), permission: "read:recovery_actions", note: "reports", expires: "30" };
  const created = await developer.post("/org/api_keys", form);
  const apiKey = keyIn(created.body)!;
  assert.equal(created.headers["cache-control"], "no-store");
  assert.ok(created.body.includes(`curl -H &quot;Authorization: Bearer ${apiKey}&quot;`));
  assert.equal((await list(apiKey)).statusCode, 200);
  const reload = await developer.post("/org/api_keys", form);
  assert.equal(reload.statusCode, 409);
  assert.equal(keyIn(reload.body), undefined);
  const all = await keys();
  assert.equal(all.length, 1);
  assert.deepEqual(
    [all[0]!.note, all[0]!.createdBy, all[0]!.expiresAt],
    ["reports", developer.person.email, new Date(at.clock.serviceMs + 30 * 24 * HOUR_MS)],
  );
  for (const path of ["/org/api_keys", `/org/api_keys/${all[0]!.id}`]) {
    const page = (await developer.get(path)).body;
    assert.equal(keyIn(page), undefined);
    assert.ok(page.includes(`dln_live_…${apiKey.slice(-4)}`));
  }
  assert.ok(!JSON.stringify(await at.audited()).includes(apiKey));
});

test("a key has only its permissions: 403 for other operations and 401 for an invalid key", async () => {
  const { apiKey } = await makeKey({ permission: "ingest:invoices" });
  const forbidden = await list(apiKey);
  assert.equal(forbidden.statusCode, 403);
  const garbage = await list(`${apiKey.slice(0, -1)}~`);
  assert.equal(garbage.statusCode, 401);
  for (const reply of [forbidden, garbage]) assert.deepEqual(Object.keys(reply.json()), ["code", "message", "details"]);
});

test("a revoked key is refused within a second in every process, and stays revoked", async () => {
  const { apiKey, key } = await makeKey();
  const replica = createKeyring(at.db, at.api.ports);
  assert.equal((await list(apiKey)).statusCode, 200);
  assert.ok(await replica.find(apiKey));
  const path = `/org/api_keys/${key.id}/revoke`;
  assert.equal((await developer.post(path, { confirm: "nope" })).statusCode, 400);
  assert.equal((await developer.post(path, { confirm: key.lastFour })).statusCode, 303);
  at.clock.monotonicMs += 999;
  assert.equal((await list(apiKey)).statusCode, 401);
  assert.equal(await replica.find(apiKey), null);
  assert.equal((await developer.post(path, { confirm: key.lastFour })).statusCode, 409);
  assert.equal(
    (await developer.post(`/org/api_keys/${key.id}/rotate`, { ...(await newForm()), overlap: "1h" })).statusCode,
    409,
  );
  const [entry] = await at.audited();
  assert.deepEqual([entry?.operation, entry?.actor], ["key.revoked", developer.person.email]);
});

test("both keys work during a rotation, and the old one fails at the stated time", async () => {
  for (const [overlap, ms] of [
    ["1h", HOUR_MS],
    ["24h", 24 * HOUR_MS],
    ["7d", 7 * 24 * HOUR_MS],
    ["now", 0],
  ] as const) {
    const { apiKey, key } = await makeKey({ note: `rotated ${overlap}` });
    const form = { ...(await newForm()), overlap };
    const rotated = await developer.post(`/org/api_keys/${key.id}/rotate`, form);
    const next = keyIn(rotated.body)!;
    assert.notEqual(next, apiKey);
    assert.equal(keyIn((await developer.post(`/org/api_keys/${key.id}/rotate`, form)).body), undefined);
    at.clock.monotonicMs += 1_000;
    if (ms > 0) {
      const stated = /still works until <time datetime="([^"]+)"/.exec(rotated.body)![1]!;
      assert.equal(new Date(stated).getTime(), at.clock.serviceMs + ms);
      at.clock.serviceMs += ms - 1;
      assert.equal((await list(apiKey)).statusCode, 200, overlap);
      at.clock.serviceMs += 1;
    }
    assert.equal((await list(apiKey)).statusCode, 401, overlap);
    assert.equal((await list(next)).statusCode, 200, overlap);
    const created = (await keys()).find(({ replaces }) => replaces === key.id)!;
    assert.deepEqual([created.note, created.permissions], [key.note, key.permissions]);
  }
});

test("a rotation never extends the life of a key", async () => {
  const { apiKey, key } = await makeKey({ expires: "30" });
  at.clock.serviceMs += 29 * 24 * HOUR_MS;
  await developer.post(`/org/api_keys/${key.id}/rotate`, { ...(await newForm()), overlap: "7d" });
  at.clock.serviceMs += 24 * HOUR_MS;
  assert.equal((await list(apiKey)).statusCode, 401);
});

test("a new key keeps the lifetime of the old one, and a key has one successor", async () => {
  const { key } = await makeKey({ expires: "30" });
  at.clock.serviceMs += 29 * 24 * HOUR_MS;
  const rotate = async (id: string) =>
    developer.post(`/org/api_keys/${id}/rotate`, { ...(await newForm()), overlap: "1h" });
  const rotated = await rotate(key.id);
  const next = (await keys()).find(({ replaces }) => replaces === key.id)!;
  assert.equal(next.expiresAt?.getTime(), at.clock.serviceMs + 30 * 24 * HOUR_MS);
  assert.equal(next.lastFour, keyIn(rotated.body)!.slice(-4));
  const again = await rotate(key.id);
  assert.equal(again.statusCode, 409);
  assert.match(again.body, new RegExp(`Rotate its successor, …${next.lastFour}`));
  assert.doesNotMatch((await developer.get(`/org/api_keys/${key.id}`)).body, /Make the next key/);
  // The successor was lost and revoked, so another one may be created.
  await developer.post(`/org/api_keys/${next.id}/revoke`, { confirm: next.lastFour });
  assert.equal((await rotate(key.id)).statusCode, 200);
});

test("a rotated key is highlighted while a program still uses it", async () => {
  const { apiKey, key } = await makeKey();
  await developer.post(`/org/api_keys/${key.id}/rotate`, { ...(await newForm()), overlap: "24h" });
  const warning = new RegExp(`href="/org/api_keys/${key.id}">…\\w{4}</a> expires`);
  assert.doesNotMatch((await developer.get("/org/api_keys")).body, warning);
  at.clock.serviceMs += HOUR_MS;
  await touchApiKeys(at.db, [[key.id, at.ports.now()]]);
  const page = (await developer.get("/org/api_keys")).body;
  assert.match(page, warning);
  assert.match(page, /but a program still uses it/);
  assert.equal((await list(apiKey)).statusCode, 200);
});

test("a key that expires within 7 days is highlighted", async () => {
  const { key } = await makeKey({ expires: "30" });
  const warning = new RegExp(`<a href="/org/api_keys/${key.id}">…\\w{4}</a> expires`);
  at.clock.serviceMs += 22 * 24 * HOUR_MS;
  assert.doesNotMatch((await developer.get("/org/api_keys")).body, warning);
  at.clock.serviceMs += 24 * HOUR_MS;
  assert.match((await developer.get("/org/api_keys")).body, warning);
});

test("an expiry date means the start of that day in the creator's zone", async () => {
  await developer.post("/account", { zone: "America/New_York", theme: "system" });
  const { key } = await makeKey({ expires: "date", date: "2027-07-04" });
  assert.equal(key.expiresAt?.toISOString(), "2027-07-04T04:00:00.000Z");
  for (const date of ["", "2020-01-01", "2027-13-01", "soon"]) {
    const reply = await developer.post("/org/api_keys", {
      ...(await newForm()),
      permission: "ingest:invoices",
      expires: "date",
      date,
    });
    assert.equal(reply.statusCode, 400, date);
  }
  const form = { ...(await newForm()), permission: "ingest:invoices", expires: "date", date: "9999-12-31" };
  const { body } = await developer.post("/org/api_keys", form);
  assert.match(body, /The date must be in the future, up to 2199. For a key without an expiry, choose “Never”\./);
});

test("a date with another expiry selected is refused with a hint", async () => {
  const before = (await keys()).length;
  for (const expires of ["never", "30"]) {
    const form = { ...(await newForm()), permission: "ingest:invoices", expires, date: "2027-07-04" };
    const reply = await developer.post("/org/api_keys", form);
    assert.equal(reply.statusCode, 400, expires);
    assert.match(reply.body, /There is a date, but another expiry is selected[\s\S]*value="2027-07-04"/);
  }
  assert.equal((await keys()).length, before);
});

test("a form without a permission or with an unknown one creates no key", async () => {
  const before = (await keys()).length;
  for (const permission of [[], ["manage:keys"]])
    assert.equal((await developer.post("/org/api_keys", { ...(await newForm()), permission })).statusCode, 400);
  assert.equal((await keys()).length, before);
});

test("a viewer can neither see nor change keys, even with a forged form", async () => {
  const { key } = await makeKey();
  const viewer = await at.as("viewer");
  for (const path of ["/org/api_keys", "/org/api_keys/new", `/org/api_keys/${key.id}`])
    assert.equal((await viewer.get(path)).statusCode, 403, path);
  const before = await keys();
  assert.equal(
    (await viewer.post("/org/api_keys", { ...(await newForm()), permission: "ingest:invoices" })).statusCode,
    403,
  );
  assert.equal((await viewer.post(`/org/api_keys/${key.id}/revoke`, { confirm: key.lastFour })).statusCode, 403);
  assert.equal(
    (await viewer.post(`/org/api_keys/${key.id}/rotate`, { ...(await newForm()), overlap: "now" })).statusCode,
    403,
  );
  assert.deepEqual(await keys(), before);
});

test("keys of another merchant are not accessible", async () => {
  const other = await testMerchant(at.db, at.ports, { name: "Other" });
  const { keyId, apiKey } = await createApiKey(at.db, { merchantId: other.id, permissions: PERMISSIONS }, at.ports);
  assert.equal((await developer.get(`/org/api_keys/${keyId}`)).statusCode, 404);
  assert.equal((await developer.post(`/org/api_keys/${keyId}/revoke`, { confirm: apiKey.slice(-4) })).statusCode, 404);
  assert.equal((await list(apiKey)).statusCode, 200);
});
