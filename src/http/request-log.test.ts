import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { INVOICE, testApi, testClock, testKey, testMerchant, testPorts, uuidv7 } from "../api/api.fixture.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Database } from "../postgres/database.ts";
import { findRequest, listRequests, UNAUTHENTICATED_MERCHANT_ID } from "../tables/request-log.ts";
import { createRequestLog, malformedLogEntryOf } from "./request-log.ts";

const VISA = "4111111111111111";
const clock = testClock();
let database: TestDatabase;
let merchant: Merchant;
let keyId: string;
let key: string;

before(async () => {
  database = await createTestDatabase();
  const ports = testPorts(clock);
  merchant = await testMerchant(database.db, ports);
  ({ apiKey: key, keyId } = await testKey(database.db, ports, merchant));
});
after(() => database.drop());

const json = () => ({ authorization: `Bearer ${key}`, "content-type": "application/json" });
const push = (body: string, headers: Record<string, string> = {}) =>
  ({ method: "POST", url: "/ingest/v1/invoices", headers: { ...json(), ...headers }, payload: body }) as const;

async function logged(requests: readonly object[], merchantId = merchant.id) {
  const api = await testApi(database.db, clock);
  const replies = [];
  for (const request of requests) replies.push(await api.http.inject(request));
  await api.close();
  const ids = replies.map((reply) => String(reply.headers["x-request-id"]).slice(4));
  const rows = await Promise.all(ids.map((id) => findRequest(database.db, id)));
  return { replies, rows, all: await listRequests(database.db, merchantId, { limit: 1000 }) };
}

test("each request is stored in a row that its requestId finds", async () => {
  const { replies, rows } = await logged([
    push(JSON.stringify({ invoices: [INVOICE, { ...INVOICE, id: "in_2" }] }), { "x-request-id": "mine-1" }),
    push(JSON.stringify({ invoices: [{ ...INVOICE, amount: -1 }] })),
    { url: "/v1/recovery_actions?invoiceId=in_1", headers: json() },
  ]);
  const at = new Date(clock.serviceMs);
  const mine = { merchantId: merchant.id, keyId, at, durationUs: 0, error: null };
  const ids = replies.map(({ headers }) => ({ id: String(headers["x-request-id"]).slice(4) }));
  const route = "/ingest/v1/invoices";
  assert.deepEqual(rows, [
    {
      ...mine,
      ...ids[0],
      callerRequestId: "mine-1",
      method: "POST",
      route,
      status: 200,
      records: 2,
      stored: 2,
      older: 0,
    },
    {
      ...mine,
      ...ids[1],
      callerRequestId: null,
      method: "POST",
      route,
      status: 400,
      records: null,
      stored: null,
      older: null,
      error: replies[1]!.json().message,
    },
    {
      ...mine,
      ...ids[2],
      callerRequestId: null,
      method: "GET",
      route: "/v1/recovery_actions",
      status: 200,
      records: 0,
      stored: null,
      older: null,
    },
  ]);
});

test("the caller's request id returns in X-Caller-Request-Id, and X-Request-Id and requestId hold Dunlin's", async () => {
  const { replies } = await logged([
    push(JSON.stringify({ invoices: [INVOICE] }), { "x-request-id": "mine-2" }),
    push("{", { "x-request-id": "mine-3" }),
    push("{", { "x-request-id": "not an id" }),
  ]);
  assert.deepEqual(
    replies.map(({ headers }) => headers["x-caller-request-id"]),
    ["mine-2", "mine-3", undefined],
  );
  for (const { headers } of replies) assert.match(String(headers["x-request-id"]), /^req_[0-9a-f-]{36}$/);
  assert.equal(replies[0]!.json().requestId, replies[0]!.headers["x-request-id"]);
});

test("requests without a valid key, to unknown paths or with malformed paths belong to no merchant", async () => {
  const { rows } = await logged([{ url: "/v1/recovery_actions" }, { url: `/${VISA}?key=${key}` }, { url: "/%" }]);
  assert.deepEqual(
    rows.map((row) => [row!.merchantId, row!.route, row!.status, row!.keyId]),
    [
      [UNAUTHENTICATED_MERCHANT_ID, "/v1/recovery_actions", 401, null],
      [UNAUTHENTICATED_MERCHANT_ID, "unknown", 404, null],
      [UNAUTHENTICATED_MERCHANT_ID, "unknown", 400, null],
    ],
  );
});

test("the log holds no body, path, key or card number", async () => {
  const { rows } = await logged([
    push(JSON.stringify({ invoices: [{ ...INVOICE, note: VISA }] }), { "x-request-id": VISA }),
    push(`{"secret-canary": "${VISA}"`),
    { url: `/v1/recovery_actions?${VISA}=canary`, headers: json() },
    { url: `/canary/${VISA}`, headers: json() },
  ]);
  const text = JSON.stringify(rows);
  for (const secret of [VISA, "canary", key, "in_1"]) assert.equal(text.includes(secret), false, secret);
});

test("bytes that could not be parsed as a request are logged", async () => {
  const { db } = database;
  const log = createRequestLog(
    db,
    db,
    testPorts(clock),
    silent(),
    () => {},
    () => {},
  );
  const id = uuidv7(clock.serviceMs);
  log.add(malformedLogEntryOf(`req_${id}`, 431, "the headers are too large", new Date(clock.serviceMs)));
  await log.flush();
  const row = await findRequest(db, id);
  assert.deepEqual([row?.method, row?.status, row?.error], [null, 431, "the headers are too large"]);
});

const silent = () => ({ info() {}, warn() {}, error() {} }) as never;
const logEntry = () => ({
  ...malformedLogEntryOf(`req_${uuidv7(clock.serviceMs)}`, 400, "wrong", new Date(clock.serviceMs)),
  merchantId: merchant.id,
});

test("rows stay queued while the database is unavailable, and rows beyond the limit are dropped and counted", async () => {
  let isUnavailable = true;
  const db = {
    ...database.db,
    run: (...call: Parameters<Database["run"]>) =>
      isUnavailable ? Promise.reject(Object.assign(new Error(), { code: "ECONNREFUSED" })) : database.db.run(...call),
  } as Database;
  let dropped = 0;
  const log = createRequestLog(
    db,
    db,
    testPorts(clock),
    silent(),
    (count) => {
      dropped += count;
    },
    () => {},
  );
  const [first, ...others] = Array.from({ length: 50_010 }, logEntry);
  log.add(first!);
  await log.flush();
  for (const each of others) log.add(each);
  await log.flush();
  assert.equal(dropped, 10);
  isUnavailable = false;
  await log.flush();
  assert.ok(await findRequest(database.db, first!.id));
  assert.ok(await findRequest(database.db, others[49_998]!.id));
  assert.equal(await findRequest(database.db, others[49_999]!.id), null);
});

test("a batch that the database rejects is dropped and counted, and does not block later rows", async () => {
  let dropped = 0;
  const log = createRequestLog(
    database.db,
    database.db,
    testPorts(clock),
    silent(),
    (count) => {
      dropped += count;
    },
    () => {},
  );
  log.add({ ...logEntry(), status: 70_000 });
  await log.flush();
  assert.equal(dropped, 1);
  const good = logEntry();
  log.add(good);
  await log.flush();
  assert.ok(await findRequest(database.db, good.id));
});

test("a list holds one merchant's requests of the requested statuses, newest first", async () => {
  const other = await testMerchant(database.db, testPorts(clock));
  const { all } = await logged([{ url: "/healthz" }], other.id);
  assert.deepEqual(all, []);
  const log = createRequestLog(
    database.db,
    database.db,
    testPorts(clock),
    silent(),
    () => {},
    () => {},
  );
  const rows = [200, 400, 429, 500].map((status) => {
    clock.serviceMs++;
    return { ...logEntry(), merchantId: other.id, status };
  });
  for (const row of rows) log.add(row);
  await log.flush();
  const statuses = async (from: number, to: number, limit = 10) =>
    (await listRequests(database.db, other.id, { from, to, limit })).map(({ status }) => status);
  assert.deepEqual(await statuses(0, 999), [500, 429, 400, 200]);
  assert.deepEqual(await statuses(400, 499), [429, 400]);
  assert.deepEqual(await statuses(500, 599), [500]);
  assert.deepEqual(await statuses(0, 999, 2), [500, 429]);
});

test("some rows of a flood of unauthenticated requests are stored, and the others are counted", async () => {
  const { db } = database;
  let counted = 0;
  const log = createRequestLog(
    db,
    db,
    testPorts(clock),
    silent(),
    () => assert.fail(),
    () => counted++,
  );
  const ports = testPorts(clock);
  const request = (merchantId: string) => ({
    ...{
      merchantId,
      id: ports.newId(),
      at: ports.now(),
      callerRequestId: null,
      keyId: null,
      method: "GET",
      route: "flood",
    },
    ...{ status: 401, durationUs: 1, records: null, stored: null, older: null, error: null },
  });
  for (let n = 0; n < 1_000; n++) log.add(request(UNAUTHENTICATED_MERCHANT_ID));
  assert.equal(counted, 800);
  for (let n = 0; n < 5; n++) log.add(request(merchant.id));
  clock.monotonicMs += 10_000;
  for (let n = 0; n < 5; n++) log.add(request(UNAUTHENTICATED_MERCHANT_ID));
  assert.equal(counted, 803, "two more in ten seconds");
  await log.flush();
  const rows = async (merchantId: string) =>
    (await listRequests(db, merchantId, { limit: 2_000 })).filter(({ route }) => route === "flood").length;
  assert.deepEqual([await rows(UNAUTHENTICATED_MERCHANT_ID), await rows(merchant.id)], [202, 5]);
});
