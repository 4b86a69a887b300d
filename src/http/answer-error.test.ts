import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { INVOICE, testApi, testClock, testKey, testMerchant, testPorts } from "../api/api.fixture.ts";
import type { Database } from "../postgres/database.ts";

const VISA = "4111111111111111";
const BATCH = { invoices: [INVOICE] };
const clock = testClock();
let database: TestDatabase;
let key: string;

before(async () => {
  database = await createTestDatabase();
  const ports = testPorts(clock);
  key = (await testKey(database.db, ports, await testMerchant(database.db, ports))).apiKey;
});
after(() => database.drop());

const bearer = () => ({ authorization: `Bearer ${key}` });
const json = () => ({ ...bearer(), "content-type": "application/json" });

async function failing(error: Error & { code?: string }) {
  const broken = await testApi(database.db, clock, {
    ingest: {
      subscriptions: async () => ({ stored: 0, older: 0 }),
      invoices: async () => {
        throw error;
      },
      transactions: async () => ({ stored: 0, older: 0 }),
    },
  });
  const reply = await broken.http.inject({
    method: "POST",
    url: "/ingest/v1/invoices",
    headers: json(),
    payload: JSON.stringify(BATCH),
  });
  await broken.close();
  return { reply, log: broken.lines.join("") };
}
const databaseError = (code: string) =>
  Object.assign(new Error(`value "${VISA}"`), { code, detail: `Key (id)=(${VISA})` });

test("a request gets a 503 with Retry-After while the database is unavailable", async () => {
  for (const code of ["ECONNREFUSED", "57P01", "53300", "08006", "40001"]) {
    const { reply } = await failing(databaseError(code));
    assert.equal(reply.statusCode, 503, code);
    assert.equal(reply.headers["retry-after"], "1");
    assert.equal(reply.json().code, 503);
  }
});

test("a request with a key gets a 503, not a 401, while the database is unavailable", async () => {
  const unavailableDb = { ...database.db, run: async () => Promise.reject(databaseError("ECONNREFUSED")) } as Database;
  const unavailableApi = await testApi(unavailableDb, clock);
  const reply = await unavailableApi.http.inject({ url: "/v1/recovery_actions", headers: bearer() });
  assert.equal(reply.statusCode, 503);
  await unavailableApi.close();
});

test("data that the database rejects gets a 400 and a log line without the data", async () => {
  for (const code of ["22021", "23505", "54000"]) {
    const { reply, log } = await failing(databaseError(code));
    assert.equal(reply.statusCode, 400);
    assert.match(log, /request\.unstorable/);
    assert.equal((log + reply.body).includes(VISA), false);
  }
});

test("a bug gets a 500 that repeats no values, and an error in the log", async () => {
  const { reply, log } = await failing(new TypeError(`no ${VISA}`));
  assert.deepEqual(reply.json(), {
    code: 500,
    message: "internal error: for details, search the log for the id in X-Request-Id",
    details: [],
  });
  assert.match(log, /"errorName":"TypeError"/);
  assert.equal((log + reply.body).includes(VISA), false);
});
