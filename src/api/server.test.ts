import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import type { Merchant } from "../domain/merchant.ts";
import { INVOICE, testApi, testClock, testKey, testMerchant } from "./api.fixture.ts";

const VISA = "4111111111111111";
const BATCH = { invoices: [INVOICE] };
const clock = testClock();
let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
let merchant: Merchant;
let key: string;

before(async () => {
  database = await createTestDatabase();
  api = await testApi(database.db, clock);
  merchant = await testMerchant(database.db, api.ports);
  key = (await testKey(database.db, api.ports, merchant)).apiKey;
});
after(async () => {
  await api.close();
  await database.drop();
});

const bearer = (apiKey = key) => ({ authorization: `Bearer ${apiKey}` });
const jsonHeaders = (apiKey = key) => ({ ...bearer(apiKey), "content-type": "application/json" });
const post = (path: string, body: unknown, headers: Record<string, string> = jsonHeaders()) =>
  api.http.inject({
    method: "POST",
    url: path,
    headers,
    payload: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
  });
const ingest = (body: unknown, headers?: Record<string, string>) => post("/ingest/v1/invoices", body, headers);

test("a batch is passed to ingest with its merchant, and the reply holds the requestId", async () => {
  const reply = await ingest(BATCH);
  assert.equal(reply.statusCode, 200);
  const { requestId } = reply.json();
  assert.match(requestId, /^req_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(reply.headers["x-request-id"], requestId);
  assert.deepEqual(api.ingested.at(-1), {
    kind: "invoices",
    merchantId: merchant.id,
    records: [
      {
        id: "in_1",
        state: "PAID",
        customerId: "c",
        amount: 1,
        currency: "EUR",
        createdAt: new Date("2026-01-01T00:00:00Z"),
      },
    ],
  });
});

test("subscriptions and transactions have their own operations", async () => {
  const subscriptions = [{ ...INVOICE, state: "SUBSCRIPTION_STATE_ACTIVE" }];
  assert.equal((await post("/ingest/v1/subscriptions", { subscriptions })).statusCode, 200);
  const transactions = [{ ...INVOICE, state: "TRANSACTION_STATE_PAID", invoiceId: "in_1" }];
  assert.equal((await post("/ingest/v1/transactions", { transactions })).statusCode, 200);
  assert.deepEqual(
    api.ingested.slice(-2).map(({ kind }) => kind),
    ["subscriptions", "transactions"],
  );
});

test("an ingest error has the status, a message that names the field, and no details", async () => {
  const reply = await ingest({ invoices: [INVOICE, { ...INVOICE, amount: "5" }] });
  assert.equal(reply.statusCode, 400);
  assert.deepEqual(reply.json(), {
    code: 400,
    message: "invoices[1].amount must be an integer from 0 to 9007199254740991, written with digits only",
    details: [],
  });
  assert.match(String(reply.headers["x-request-id"]), /^req_/);
});

test("a request without a valid key gets a 401 before anything else is checked", async () => {
  const wrong = [
    {},
    { authorization: "Basic dTpw" },
    { authorization: "Bearer" },
    { authorization: "Bearer x" },
    bearer(key.slice(0, -1) + (key.endsWith("0") ? "1" : "0")),
    bearer(`${key}a`),
  ];
  for (const headers of wrong) {
    const reply = await ingest("{ not json", headers as Record<string, string>);
    assert.equal(reply.statusCode, 401);
    assert.equal(reply.json().code, 401);
    assert.deepEqual(reply.json().details, []);
    assert.match(String(reply.headers["www-authenticate"]), /^Bearer/);
  }
});

test("a request whose key lacks the permission gets a 403", async () => {
  const { apiKey } = await testKey(database.db, api.ports, merchant, ["ingest:invoices"]);
  assert.equal((await ingest(BATCH, jsonHeaders(apiKey))).statusCode, 200);
  const replies = [
    await post("/ingest/v1/subscriptions", "garbage", jsonHeaders(apiKey)),
    await post("/ingest/v1/transactions", "garbage", jsonHeaders(apiKey)),
    await api.http.inject({ url: "/v1/recovery_actions?garbage=1", headers: bearer(apiKey) }),
  ];
  for (const reply of replies) {
    assert.equal(reply.statusCode, 403);
    assert.match(
      reply.json().message,
      /^the API key lacks the permission (ingest:(subscriptions|transactions)|read:recovery_actions)$/,
    );
  }
});

test("a request above the rate limit gets a 429 that says when to retry", async () => {
  const slow = await testMerchant(database.db, api.ports, { ratePerSecond: 2, rateBurst: 3 });
  const { apiKey } = await testKey(database.db, api.ports, slow);
  const first = await ingest(BATCH, jsonHeaders(apiKey));
  assert.equal(first.headers["ratelimit-policy"], '"default";q=3;w=2');
  assert.equal(first.headers.ratelimit, '"default";r=2;t=1');
  await ingest(BATCH, jsonHeaders(apiKey));
  await ingest(BATCH, jsonHeaders(apiKey));
  const refused = await ingest("{ not json", jsonHeaders(apiKey));
  assert.equal(refused.statusCode, 429);
  assert.equal(refused.headers["retry-after"], "1");
  assert.equal(refused.headers.ratelimit, '"default";r=0;t=2');
  assert.deepEqual(refused.json(), { code: 429, message: "rate limit of 2 requests per second exceeded", details: [] });
  clock.monotonicMs += 500;
  clock.realMs += 500;
  assert.equal((await ingest(BATCH, jsonHeaders(apiKey))).statusCode, 200);
  assert.equal((await ingest(BATCH, jsonHeaders(apiKey))).statusCode, 429);
  assert.equal((await ingest(BATCH)).statusCode, 200, "other merchants are not affected");
});

test("an address that sends many invalid keys is throttled, and keys that were valid before still work from it", async () => {
  const freshApi = await testApi(database.db, clock);
  const from = async (address: string, key: string) => {
    const headers = { ...bearer(key), "x-forwarded-for": address };
    const reply = await freshApi.http.inject({ url: "/v1/recovery_actions", headers });
    return [reply.statusCode, reply.headers["retry-after"]];
  };
  const [usedBefore, other] = [
    await testKey(database.db, freshApi.ports, merchant),
    await testKey(database.db, freshApi.ports, merchant),
  ];
  assert.deepEqual(await from("203.0.113.9", usedBefore.apiKey), [200, undefined]);
  for (let count = 0; count < 30; count++)
    assert.deepEqual(await from("203.0.113.9", `dln_live_${count}`), [401, undefined]);
  assert.deepEqual(await from("203.0.113.9", "dln_live_30"), [429, "2"]);
  assert.deepEqual(
    await from("203.0.113.9", other.apiKey),
    [429, "2"],
    "a valid key gets the same answer as an invalid one",
  );
  assert.deepEqual(await from("203.0.113.9", usedBefore.apiKey), [200, undefined]);
  assert.deepEqual(await from("203.0.113.10", other.apiKey), [200, undefined]);
  clock.monotonicMs += 2_000;
  assert.deepEqual(await from("203.0.113.9", "dln_live_30"), [401, undefined]);
  await freshApi.close();
});

test("an unsupported content type or encoding gets a 415 before the body is read", async () => {
  for (const type of [
    "text/plain",
    "application/json; charset=utf-16",
    "application/json+x",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
  ]) {
    const reply = await ingest("{", { ...bearer(), "content-type": type });
    assert.equal(reply.statusCode, 415, type);
    assert.equal(reply.json().code, 415);
  }
  assert.equal((await ingest("", bearer())).statusCode, 415);
  assert.equal((await ingest("x", { ...jsonHeaders(), "content-encoding": "gzip" })).statusCode, 415);
  for (const type of ["application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"'])
    assert.equal((await ingest(BATCH, { ...bearer(), "content-type": type })).statusCode, 200);
});

test("a body over 2 MiB gets a 413", async () => {
  const reply = await ingest(" ".repeat(2 * 1024 * 1024 + 1));
  assert.equal(reply.statusCode, 413);
  assert.deepEqual(reply.json(), { code: 413, message: "the body must not be larger than 2097152 bytes", details: [] });
});

test("an unknown path gets a 404, and an unsupported method gets a 405 that names the supported ones", async () => {
  for (const url of [
    "/",
    "/v1",
    "/v1/recovery_actions/",
    "/ingest/v1/invoices/1",
    "/ingest/v2/invoices",
    "/V1/recovery_actions",
    "/%00",
  ]) {
    const reply = await api.http.inject({ url });
    assert.equal(reply.statusCode, 404, url);
    assert.equal(reply.json().code, 404);
  }
  for (const method of ["GET", "PUT", "PATCH", "DELETE", "TRACE", "HEAD", "PROPFIND"] as const) {
    const reply = await api.http.inject({ method: method as "GET", url: "/ingest/v1/invoices" });
    assert.equal(reply.statusCode, 405, method);
    assert.equal(reply.headers.allow, "POST, OPTIONS");
  }
  const list = await api.http.inject({
    method: "POST",
    url: "/v1/recovery_actions?x=1",
    payload: "x",
    headers: { "content-type": "text/plain" },
  });
  assert.equal(list.statusCode, 405);
  assert.equal(list.headers.allow, "GET, HEAD, OPTIONS");
  const options = await api.http.inject({ method: "OPTIONS", url: "/v1/recovery_actions" });
  assert.equal(options.statusCode, 204);
  assert.equal(options.headers.allow, "GET, HEAD, OPTIONS");
});

test("HEAD of the list is answered like GET, without the body", async () => {
  const reply = await api.http.inject({ method: "HEAD", url: "/v1/recovery_actions", headers: bearer() });
  assert.equal(reply.statusCode, 200);
  assert.equal(reply.body, "");
  assert.equal((await api.http.inject({ method: "HEAD", url: "/v1/recovery_actions" })).statusCode, 401);
});

test("a path that cannot be decoded gets a 400", async () => {
  for (const url of ["/%", "/%zz", "/v1/%ff"]) {
    const reply = await api.http.inject({ url });
    assert.equal(reply.statusCode, 400, url);
    assert.deepEqual(reply.json(), { code: 400, message: "the path is malformed", details: [] });
    assert.match(String(reply.headers["x-request-id"]), /^req_/);
  }
});

test("health, readiness and address ranges are served without a key", async () => {
  const begin = api.lines.length;
  assert.deepEqual((await api.http.inject("/healthz")).json(), { status: "ok" });
  const levels = api.lines.slice(begin).map((line) => JSON.parse(line).level);
  assert.deepEqual(levels, [20], "health checks are logged at debug level");
  assert.deepEqual((await api.http.inject("/readyz")).json(), { status: "ready" });
  assert.deepEqual((await api.http.inject("/network.json")).json(), { egressRanges: ["203.0.113.0/24"] });
});

test("a request that reached the proxy over http gets a 400, even with a valid key", async () => {
  const reply = await ingest(BATCH, { ...jsonHeaders(), "x-forwarded-proto": "http" });
  assert.equal(reply.statusCode, 400);
  assert.match(reply.json().message, /^this service accepts HTTPS only/);
  assert.equal((await ingest(BATCH, { ...jsonHeaders(), "x-forwarded-proto": "https" })).statusCode, 200);
});

test("a service that is not ready answers with the reason and Retry-After", async () => {
  const unreadyApi = await testApi(database.db, clock, {
    ready: async () => ({ ok: false, problems: ["the database is out of reach"] }),
  });
  const reply = await unreadyApi.http.inject("/readyz");
  assert.equal(reply.statusCode, 503);
  assert.equal(reply.headers["retry-after"], "1");
  assert.deepEqual(reply.json(), { code: 503, message: "not ready: the database is out of reach", details: [] });
  await unreadyApi.close();
});

test("each request leaves one log line, without keys or bodies", async () => {
  api.lines.length = 0;
  const replies = [
    await ingest(BATCH),
    await ingest({ invoices: [{ ...INVOICE, note: VISA }] }),
    await ingest(`{"secret": "canary-${VISA}`),
  ];
  const log = api.lines.join("");
  for (const secret of [key, VISA, "canary", "authorization", "in_1"])
    assert.equal(log.includes(secret), false, secret);
  for (const reply of replies) assert.equal(reply.body.includes(VISA), false);
  const finished = api.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "request.finished");
  assert.equal(finished.length, 3);
  assert.equal(finished[0].requestId, replies[0]!.json().requestId);
  assert.equal(finished[0].merchantId, merchant.id);
  assert.equal(finished[0].route, "/ingest/v1/invoices");
  assert.equal(finished[1].status, 400);
});

test("a currency that is not in ISO 4217 is accepted and logged", async () => {
  api.lines.length = 0;
  await ingest({ invoices: [INVOICE, { ...INVOICE, id: "in_2", currency: "ZZQ" }] });
  const lines = api.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "currency.unknown");
  assert.deepEqual(
    lines.map(({ records, currencies, merchantId }) => ({ records, currencies, merchantId })),
    [{ records: 1, currencies: ["ZZQ"], merchantId: merchant.id }],
  );
});
