import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { type Database, openDatabase, prepared } from "../postgres/database.ts";
import { withdrawEvents } from "../tables/events.ts";
import { makeDeliverer, makeEvents, makeMerchant, realPorts } from "./deliverer.fixture.ts";
import type { Deliverer, DelivererOptions } from "./deliverer.ts";
import { REPLY_LIMITS, type Reply } from "./https/exchange.ts";
import { createSender, type Send } from "./https/https-sender.ts";
import { type Receiver, startReceiver } from "./https/receiver.fixture.ts";

// The loop in real time. This is slower than a manual clock, so these tests cover only what the loop adds.
let database: TestDatabase;
let db: Database;
before(async () => {
  database = await createTestDatabase();
  db = database.db;
});
after(() => database.drop());

const EMPTY = prepared("test_empty", "delete from deliveries");
const COUNT = prepared(
  "test_count",
  "select count(*)::int as count from deliveries where merchant_id = any($1::uuid[])",
);
const LOG = prepared(
  "test_log",
  "select merchant_id, event_id, number, success, started_at, ended_at from delivery_attempts where event_id = any($1::uuid[]) order by event_id, round, number",
);
const cleanups: (() => unknown)[] = [];
beforeEach(() => db.run(EMPTY));
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function startTestDeliverer(send: Send, over: Partial<DelivererOptions> = {}): Deliverer {
  const timings = { sweepMs: 200, refreshMs: 50, leaseTickMs: 100 };
  const deliverer = makeDeliverer({ db, ports: realPorts, send, timings, ...over });
  deliverer.start();
  cleanups.push(() => deliverer.stop(500));
  return deliverer;
}

async function waitUntil(condition: () => boolean | Promise<boolean>, limitMs = 20_000) {
  const endMs = performance.now() + limitMs;
  while (!(await condition())) {
    assert.ok(performance.now() < endMs, "not done in time");
    await sleep(5);
  }
}

const countWaiting = async (...merchantIds: string[]) =>
  (await db.run<{ count: number }>(COUNT, [merchantIds])).rows[0]!.count;
const reply = (status: number): Reply => ({ outcome: "response", status, retryAfter: null, text: null });

async function startEndpoint(onRequest: Parameters<typeof startReceiver>[0]): Promise<Receiver & { send: Send }> {
  const receiver = await startReceiver(onRequest);
  const sender = createSender({
    allow: receiver.allow,
    extraCa: receiver.ca,
    monotonicMs: () => performance.now(),
    limits: { ...REPLY_LIMITS, replyMs: 2_000 },
  });
  cleanups.push(
    () => receiver.close(),
    () => sender.close(),
  );
  return { ...receiver, send: sender.send };
}

test("each event of a backlog is sent once over HTTPS, within each merchant's cap", async () => {
  const onWire = new Map<string, number>();
  const most = new Map<string, number>();
  const seenPaths: string[] = [];
  const receiver = await startEndpoint(({ path, body }, response) => {
    seenPaths.push(JSON.parse(body).id);
    onWire.set(path, (onWire.get(path) ?? 0) + 1);
    most.set(path, Math.max(most.get(path) ?? 0, onWire.get(path)!));
    setTimeout(() => {
      onWire.set(path, onWire.get(path)! - 1);
      response.writeHead(200).end();
    }, 2);
  });
  const merchants = await Promise.all(
    ["/a", "/b", "/c"].map((path, index) =>
      makeMerchant(db, { webhookUrl: receiver.origin + path, webhookCap: index + 2, bucket: index }),
    ),
  );
  const events = (await Promise.all(merchants.map((merchant) => makeEvents(db, merchant, 150, new Date())))).flat();
  startTestDeliverer(receiver.send);
  await waitUntil(async () => (await countWaiting(...merchants.map(({ id }) => id))) === 0);
  assert.deepEqual(seenPaths.sort(), events.map(({ id }) => id).sort());
  assert.deepEqual(Object.fromEntries(most), { "/a": 2, "/b": 3, "/c": 4 });
});

test("a hanging merchant does not delay another one, even at the same address", async () => {
  const receiver = await startEndpoint(({ path }, response) => {
    if (path !== "/hangs") response.writeHead(200).end();
  });
  const hangingMerchant = await makeMerchant(db, { webhookUrl: `${receiver.origin}/hangs`, webhookCap: 50 });
  const healthy = await makeMerchant(db, { webhookUrl: `${receiver.origin}/fine` });
  await makeEvents(db, hangingMerchant, 200, new Date());
  const deliverer = startTestDeliverer(receiver.send);
  await sleep(300);
  const lateness: number[] = [];
  for (let i = 0; i < 10; i++) {
    await makeEvents(db, healthy, 1, new Date());
    const startedMs = performance.now();
    deliverer.wake(healthy.id);
    await waitUntil(async () => (await countWaiting(healthy.id)) === 0);
    lateness.push(performance.now() - startedMs);
  }
  // Far less than the 2 s of a hanging request, but enough for a busy machine.
  assert.ok(Math.max(...lateness) < 1_500, `took ${lateness.map(Math.round)} ms`);
  assert.equal(await countWaiting(hangingMerchant.id), 200);
});

test("the second attempt starts 100 ms after the end of the first, never earlier and hardly later", async () => {
  const merchants = await Promise.all([1, 2].map(() => makeMerchant(db)));
  let requests = 0;
  startTestDeliverer(async () => reply(++requests <= 6 ? 500 : 200));
  const events = (await Promise.all(merchants.map((merchant) => makeEvents(db, merchant, 3, new Date())))).flat();
  await waitUntil(async () => (await countWaiting(...merchants.map(({ id }) => id))) === 0);
  const { rows } = await db.run<{ number: number; started_at: Date; ended_at: Date }>(LOG, [
    events.map(({ id }) => id),
  ]);
  assert.equal(rows.length, 12);
  for (let i = 0; i < rows.length; i += 2) {
    const gapMs = rows[i + 1]!.started_at.getTime() - rows[i]!.ended_at.getTime();
    assert.ok(gapMs >= 100 && gapMs < 1_000, `${gapMs} ms`);
  }
});

test("events, merchants and settings of other processes are noticed without a notification", async () => {
  const sent: string[] = [];
  startTestDeliverer(async ({ body }) => {
    sent.push(JSON.parse(body).id);
    return reply(200);
  });
  await sleep(100);
  const merchant = await makeMerchant(db);
  const [event] = await makeEvents(db, merchant, 1, new Date());
  await waitUntil(() => sent.includes(event!.id));
  const [later] = await makeEvents(db, merchant, 1, new Date());
  await waitUntil(() => sent.includes(later!.id));
});

test("an event that was read ahead is not sent after it is withdrawn", async () => {
  const merchant = await makeMerchant(db, { webhookCap: 1 });
  const events = await makeEvents(db, merchant, 30, new Date());
  const sent: string[] = [];
  const withdrawn = events.map(({ id }) => id);
  const deliverer: Deliverer = startTestDeliverer(async ({ body }) => {
    sent.push(JSON.parse(body).id);
    if (sent.length === 10) {
      const unsentIds = withdrawn.filter((id) => !sent.includes(id));
      await withdrawEvents(db, merchant.id, [], unsentIds, new Date());
      deliverer.dropWithdrawn(merchant.id, unsentIds);
    }
    return reply(200);
  });
  await waitUntil(async () => (await countWaiting(merchant.id)) === 0);
  await sleep(100);
  assert.equal(sent.length, 10);
});

test("two processes share the merchants, and when one stops the other sends all events", async () => {
  const merchants = await Promise.all(Array.from({ length: 8 }, (_, index) => makeMerchant(db, { bucket: index * 9 })));
  const byProcess: [Set<string>, Set<string>] = [new Set(), new Set()];
  const sent: string[] = [];
  const sender =
    (index: 0 | 1): Send =>
    async ({ body }) => {
      byProcess[index].add(body);
      sent.push(JSON.parse(body).id);
      return reply(200);
    };
  startTestDeliverer(sender(0));
  // A separate pool, as in a separate process.
  const doomed = openDatabase(database.address, 3, () => {});
  const dyingDeliverer = startTestDeliverer(sender(1), { db: doomed });
  await sleep(600);
  for (const merchant of merchants) await makeEvents(db, merchant, 5, new Date());
  await waitUntil(async () => (await countWaiting(...merchants.map(({ id }) => id))) === 0);
  assert.ok(byProcess[0].size > 0 && byProcess[1].size > 0, `${byProcess[0].size} and ${byProcess[1].size}`);
  assert.equal(new Set(sent).size, sent.length, "nothing was sent twice");
  await dyingDeliverer.stop(0);
  await doomed.close();
  for (const merchant of merchants) await makeEvents(db, merchant, 5, new Date());
  await waitUntil(async () => (await countWaiting(...merchants.map(({ id }) => id))) === 0);
  assert.equal(sent.length, 80);
});

test("stopping waits for attempts in flight, records them, and starts no new ones", async () => {
  const merchant = await makeMerchant(db, { webhookCap: 2 });
  await makeEvents(db, merchant, 10, new Date());
  let startedCount = 0;
  const deliverer = startTestDeliverer(async () => {
    startedCount++;
    await sleep(200);
    return reply(200);
  });
  await waitUntil(() => startedCount === 2);
  await deliverer.stop();
  assert.equal(startedCount, 2);
  assert.equal(await countWaiting(merchant.id), 8);
});

test("attempts that end during an outage of the database are recorded after it", async () => {
  const merchant = await makeMerchant(db, { webhookCap: 3 });
  await makeEvents(db, merchant, 3, new Date());
  let down = false;
  let refusedCount = 0;
  const flaky: Database = {
    ...db,
    run(statement, values) {
      if (!down || !statement.name.startsWith("record_")) return db.run(statement, values);
      refusedCount++;
      return Promise.reject(Object.assign(new Error("gone"), { code: "57P01" }));
    },
  };
  let sent = 0;
  startTestDeliverer(
    async () => {
      sent++;
      down = true;
      return reply(200);
    },
    { db: flaky },
  );
  await waitUntil(() => refusedCount >= 3);
  assert.equal(await countWaiting(merchant.id), 3);
  down = false;
  await waitUntil(async () => (await countWaiting(merchant.id)) === 0);
  assert.equal(sent, 3);
});
