import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import type { Merchant } from "../domain/merchant.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { updateMerchant } from "../tables/merchants.ts";
import { makeDeliverer, makeEvents, makeMerchant, realPorts } from "./deliverer.fixture.ts";
import type { DelivererOptions } from "./deliverer.ts";
import type { Reply } from "./https/exchange.ts";
import type { OutgoingRequest } from "./https/https-sender.ts";

// The loop in real time, with its default timings, and with merchants that never answer.
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const EMPTY = prepared("test_empty", "delete from deliveries");
const cleanups: (() => unknown)[] = [];
beforeEach(() => database.db.run(EMPTY));
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const OK: Reply = { outcome: "response", status: 200, retryAfter: null, text: null };
const DEAD = "https://dead.example/";

/** A deliverer. Requests to DEAD never end, and others end at once. */
function startTestDeliverer(over: Partial<DelivererOptions> = {}) {
  const begun: { request: OutgoingRequest; atMs: number }[] = [];
  const deliverer = makeDeliverer({
    db: database.db,
    ports: realPorts,
    send: (request) => {
      begun.push({ request, atMs: performance.now() });
      return request.origin === new URL(DEAD).origin ? new Promise(() => {}) : Promise.resolve(OK);
    },
    ...over,
  });
  deliverer.start();
  cleanups.push(() => deliverer.stop(0));
  const dead = () => begun.filter(({ request }) => request.origin === new URL(DEAD).origin).length;
  return { deliverer, begun, dead };
}

async function waitUntil(condition: () => boolean, limitMs: number) {
  const endMs = performance.now() + limitMs;
  while (!condition()) {
    assert.ok(performance.now() < endMs, `not done within ${limitMs} ms`);
    await sleep(5);
  }
}

/** Returns how long it takes until a new event of the merchant is sent. */
async function measureWaitMs(
  { deliverer, begun }: ReturnType<typeof startTestDeliverer>,
  merchant: Merchant,
  limitMs: number,
) {
  const [event] = await makeEvents(database.db, merchant, 1, new Date());
  const startedMs = performance.now();
  deliverer.wake(merchant.id);
  const isIt = ({ request }: { request: OutgoingRequest }) => request.body === event!.body;
  await waitUntil(() => begun.some(isIt), limitMs);
  return begun.find(isIt)!.atMs - startedMs;
}

test("a merchant whose deliveries cannot be read does not delay others, and is served once they can be read", async () => {
  const merchants = await Promise.all(Array.from({ length: 16 }, () => makeMerchant(database.db)));
  const sick = merchants[3]!;
  for (const merchant of merchants) await makeEvents(database.db, merchant, 3, new Date());
  let isSick = true;
  /** Time of the first failed read, which is nearly always one for several merchants. */
  let failedMs = Number.POSITIVE_INFINITY;
  const db: Database = {
    ...database.db,
    run: (statement, values) => {
      const asks = statement.name === "due_deliveries" ? (values![1] as string[]) : [];
      if (!isSick || !asks.includes(sick.id)) return database.db.run(statement, values);
      failedMs = Math.min(failedMs, performance.now());
      return Promise.reject(Object.assign(new Error("missing chunk number 0 for toast value"), { code: "XX001" }));
    },
  };
  const { begun } = startTestDeliverer({ db });
  await waitUntil(() => begun.length === 45, 5_000);
  // A failed read is repeated after a second, but the other merchants do not wait for it.
  const waitedMs = begun.at(-1)!.atMs - failedMs;
  assert.ok(waitedMs < 900, `the other merchants waited ${waitedMs} ms`);
  isSick = false;
  await waitUntil(() => begun.length === 48, 5_000);
});

test("a merchant with a large cap that never answers always leaves slots for the others", async () => {
  const dead = await makeMerchant(database.db, { webhookUrl: DEAD, webhookCap: 600 });
  const healthy = await makeMerchant(database.db);
  await makeEvents(database.db, dead, 700, new Date());
  const scene = startTestDeliverer();
  await waitUntil(() => scene.dead() >= 128, 5_000);
  assert.ok((await measureWaitMs(scene, healthy, 1_000)) < 700);
  await waitUntil(() => scene.dead() === 600, 10_000);
  assert.ok((await measureWaitMs(scene, healthy, 1_000)) < 700);
});

test("a hundred dead merchants delay a healthy one by at most a second at first, and later not at all", async () => {
  const dead = await Promise.all(Array.from({ length: 110 }, () => makeMerchant(database.db, { webhookUrl: DEAD })));
  const healthy = await makeMerchant(database.db);
  for (const merchant of dead) await makeEvents(database.db, merchant, 6, new Date());
  const scene = startTestDeliverer();
  await waitUntil(() => scene.dead() >= 512, 5_000);
  assert.ok((await measureWaitMs(scene, healthy, 2_000)) < 1_500);
  await waitUntil(() => scene.dead() === 550, 5_000);
  await sleep(1_000);
  assert.ok((await measureWaitMs(scene, healthy, 1_000)) < 700);
});

test("rows that were read before a pause are sent after it without a notification", async () => {
  const merchant = await makeMerchant(database.db, { webhookCap: 2 });
  const events = await makeEvents(database.db, merchant, 100, new Date());
  const held: (() => void)[] = [];
  let sent = 0;
  const deliverer = makeDeliverer({
    db: database.db,
    ports: realPorts,
    timings: { refreshMs: 50 },
    send: () => {
      // After some quick attempts, much of the rest has been read ahead.
      if (++sent !== 40 && sent !== 41) return Promise.resolve(OK);
      return new Promise((resolve) => held.push(() => resolve(OK)));
    },
  });
  deliverer.start();
  cleanups.push(() => deliverer.stop(0));
  await waitUntil(() => held.length === 2, 5_000);
  await updateMerchant(database.db, { ...merchant, webhookPaused: true }, new Date());
  await sleep(300);
  for (const end of held) end();
  await sleep(300);
  assert.equal(sent, 41);
  await updateMerchant(database.db, { ...merchant, webhookPaused: false }, new Date());
  await waitUntil(() => sent === events.length, 5_000);
});

test("a merchant with a rate never exceeds it, waits by timer, and delays no other merchant", async () => {
  const limited = await makeMerchant(database.db, {
    webhookUrl: "https://limited.example/",
    webhookRate: 20,
    webhookCap: 50,
  });
  const other = await makeMerchant(database.db);
  await makeEvents(database.db, limited, 200, new Date());
  let reads = 0;
  const db: Database = {
    ...database.db,
    run(statement, values) {
      if (statement.name.startsWith("due_deliveries") && values?.[0] === limited.id) reads++;
      return database.db.run(statement, values);
    },
  };
  const scene = startTestDeliverer({ db });
  const sent = () => scene.begun.filter(({ request }) => request.origin === "https://limited.example");
  await waitUntil(() => sent().length >= 20, 5_000);
  const fromMs = sent()[0]!.atMs;
  assert.ok((await measureWaitMs(scene, other, 1_000)) < 700);
  await waitUntil(() => sent().length >= 60, 5_000);
  // The first second's worth starts at once, and then one attempt every 50 ms.
  for (const [index, { atMs }] of sent().entries())
    assert.ok(atMs - fromMs >= (index - 20) * 50 - 5, `number ${index + 1} after ${atMs - fromMs} ms`);
  assert.ok(performance.now() - fromMs < 3_500, "it reaches its rate");
  assert.ok(reads < 45, `${reads} reads for 60 rows`);
});

const KILL_ALL = prepared(
  "test_kill_all",
  "select pg_terminate_backend(pid, 1000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
);

test("a process continues within two seconds when all its connections are cut", async () => {
  const merchant = await makeMerchant(database.db);
  const scene = startTestDeliverer();
  await measureWaitMs(scene, merchant, 5_000);
  await database.db.run(KILL_ALL);
  assert.ok((await measureWaitMs(scene, merchant, 5_000)) < 2_000);
});

test("an event that cannot be sent because the process is out of files is not an attempt, and is sent later", async () => {
  const merchant = await makeMerchant(database.db);
  const events = await makeEvents(database.db, merchant, 3, new Date());
  let isOut = true;
  const bodies: string[] = [];
  const { deliverer } = startTestDeliverer({
    send: (request) => {
      if (isOut) return Promise.resolve({ outcome: "failed", error: "open EMFILE", isLocalFailure: true });
      bodies.push(request.body);
      return Promise.resolve(OK);
    },
  });
  await waitUntil(() => deliverer.figures().unsent > 0, 5_000);
  await sleep(1_500);
  const { unsent } = deliverer.figures();
  assert.ok(unsent < 20, `${unsent} in two seconds`);
  isOut = false;
  await waitUntil(() => bodies.length === 3, 5_000);
  assert.deepEqual(bodies.sort(), events.map(({ body }) => body).sort());
  await deliverer.stop();
  const { rows } = await database.db.run<{ number: number; ok: boolean }>(ATTEMPTS, [merchant.id]);
  assert.deepEqual(rows, Array(3).fill({ number: 1, ok: true }), "each event was delivered by its first attempt");
});
const ATTEMPTS = prepared(
  "test_attempts_of_merchant",
  "select number, success as ok from delivery_attempts where merchant_id = $1",
);
