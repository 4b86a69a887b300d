import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { INVOICE, testApi, testClock, testKey, testMerchant } from "../api/api.fixture.ts";

const BODY = JSON.stringify({ invoices: [INVOICE] });
const LOG_WAIT_MS = 5_000;

let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
let port: number;
let key: string;
let notifyIngestStarted: () => void;
let stored: Promise<{ stored: number; older: number }>;

before(async () => {
  database = await createTestDatabase();
  const storeNothing = async () => ({ stored: 0, older: 0 });
  const invoices = () => {
    notifyIngestStarted();
    return stored;
  };
  const ingest = { subscriptions: storeNothing, transactions: storeNothing, invoices };
  api = await testApi(database.db, testClock(), { ingest });
  ({ port } = await api.listen({ host: "127.0.0.1", port: 0 }));
  const merchant = await testMerchant(database.db, api.ports);
  key = (await testKey(database.db, api.ports, merchant)).apiKey;
});
after(async () => {
  await api.close();
  await database.drop();
});

async function push(bytes: number) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.resume();
  await once(socket, "connect");
  socket.write(`POST /ingest/v1/invoices HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r
Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY.slice(0, bytes)}`);
  return socket;
}

type Line = Record<string, unknown>;
const finishedLines = () =>
  api.lines.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === "request.finished");

async function waitForLogLine(): Promise<Line> {
  for (let waitedMs = 0; finishedLines().length === 0 && waitedMs < LOG_WAIT_MS; waitedMs += 10) await sleep(10);
  await sleep(50);
  const [line, ...others] = finishedLines();
  assert.deepEqual(others, []);
  api.lines.length = 0;
  return line!;
}

test("an ingest is logged with its changes when the client disconnects during the commit", async () => {
  let commit = (_done: { stored: number; older: number }) => {};
  stored = new Promise((resolve) => {
    commit = resolve;
  });
  const began = new Promise<void>((resolve) => {
    notifyIngestStarted = resolve;
  });
  const socket = await push(BODY.length);
  await began;
  socket.resetAndDestroy();
  await sleep(50);
  assert.deepEqual(finishedLines(), []);
  commit({ stored: 1, older: 0 });
  const { status, records, stored: changed, said } = await waitForLogLine();
  assert.deepEqual([status, records, changed, said], [200, 1, 1, "the client disconnected before the response"]);
});

test("a request is logged when the client disconnects while sending the body", async () => {
  const socket = await push(20);
  await sleep(50);
  socket.resetAndDestroy();
  const { status, records } = await waitForLogLine();
  assert.deepEqual([status, records], [400, undefined]);
});

test("an answered request has one log line without an error message", async () => {
  notifyIngestStarted = () => {};
  stored = Promise.resolve({ stored: 1, older: 0 });
  const socket = await push(BODY.length);
  await once(socket, "data");
  const { status, stored: changed, said } = await waitForLogLine();
  assert.deepEqual([status, changed, said], [200, 1, undefined]);
  socket.destroy();
});
