import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { makeDeliverer, makeEvents, makeMerchant, realPorts } from "../delivery/deliverer.fixture.ts";
import { createSender } from "../delivery/https/https-sender.ts";
import { startReceiver } from "../delivery/https/receiver.fixture.ts";
import { type Connection, type Database, openDatabase, prepared } from "../postgres/database.ts";
import { type NotificationHandlers, startNotifications } from "./notifications.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const MERCHANT_A = "01990000-0000-7000-8000-00000000000a";
const MERCHANT_B = "01990000-0000-7000-8000-00000000000b";
const eventIdOf = (n: number) => `01990000-0000-7000-8000-${String(n).padStart(12, "0")}`;

/** Simulates a process: its own pool, and the messages it received. */
function startTestProcess(
  roles: readonly (keyof NotificationHandlers)[],
  db: Database = openDatabase(database.address, 2, () => {}),
) {
  const events: (string | undefined)[] = [];
  const withdrawn: [string, readonly string[]][] = [];
  let cases = 0;
  const all: NotificationHandlers = {
    events: (merchantId) => events.push(merchantId),
    withdrawn: (merchantId, eventIds) => withdrawn.push([merchantId, eventIds]),
    cases: () => cases++,
  };
  const heard = Object.fromEntries(roles.map((role) => [role, all[role]])) as NotificationHandlers;
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const hints = startNotifications({ db, log, heard });
  cleanups.push(async () => {
    await hints.stop();
    if (db.close !== database.db.close) await db.close();
  });
  return { ...hints, heardEvents: events, heardWithdrawn: withdrawn, heardCases: () => cases, lines };
}

async function waitUntil(condition: () => boolean | Promise<boolean>, limitMs = 5_000) {
  const endMs = performance.now() + limitMs;
  while (!(await condition())) {
    assert.ok(performance.now() < endMs, "it did not happen in time");
    await sleep(2);
  }
}

/** Sends until it is received, so that both processes know of each other. */
async function notifyUntilHeard(send: () => void, heard: () => boolean) {
  await waitUntil(async () => {
    send();
    await sleep(20);
    return heard();
  });
}

test("each process hears only the messages that it handles", async () => {
  const decider = startTestProcess(["cases"]);
  const sender = startTestProcess(["events", "withdrawn"]);
  await notifyUntilHeard(
    () => decider.events(MERCHANT_A),
    () => sender.heardEvents.length > 0,
  );
  await notifyUntilHeard(sender.cases, () => decider.heardCases() > 0);
  decider.withdrawn(MERCHANT_B, [eventIdOf(1), eventIdOf(2)]);
  await waitUntil(() => sender.heardWithdrawn.length === 1);
  assert.deepEqual(sender.heardWithdrawn, [[MERCHANT_B, [eventIdOf(1), eventIdOf(2)]]]);
  assert.deepEqual([decider.heardEvents, decider.heardWithdrawn, sender.heardCases()], [[], [], 0]);
});

test("a process without listeners sends no message", async () => {
  const alone = startTestProcess(["events", "withdrawn", "cases"]);
  const pure = startTestProcess([]);
  await sleep(200);
  for (let i = 0; i < 100; i++) {
    alone.events(MERCHANT_A);
    alone.withdrawn(MERCHANT_A, [eventIdOf(i)]);
    alone.cases();
  }
  await sleep(50);
  assert.equal(alone.sent(), 0);
  assert.equal(pure.sent(), 0);
});

test("a new listener is known at once, and a stopped one is forgotten", async () => {
  const first = startTestProcess(["cases"]);
  await sleep(150);
  const later = startTestProcess(["events", "withdrawn"]);
  await notifyUntilHeard(
    () => first.events(MERCHANT_A),
    () => later.heardEvents.length > 0,
  );
  await later.stop();
  await waitUntil(async () => {
    const before = first.sent();
    first.events(MERCHANT_A);
    await sleep(30);
    return first.sent() === before;
  }, 8_000);
});

test("simultaneous messages are sent in one statement, in payloads that fit", async () => {
  const decider = startTestProcess(["cases"]);
  const sender = startTestProcess(["events", "withdrawn"]);
  await notifyUntilHeard(
    () => decider.events(MERCHANT_A),
    () => sender.heardEvents.length > 0,
  );
  await sleep(30);
  sender.heardEvents.length = 0;
  const before = decider.sent();
  for (let i = 0; i < 1_000; i++) decider.events(eventIdOf(i % 400));
  decider.withdrawn(
    MERCHANT_B,
    Array.from({ length: 400 }, (_, i) => eventIdOf(i)),
  );
  await waitUntil(() => sender.heardWithdrawn.length === 3);
  assert.equal(new Set(sender.heardEvents).size, 400);
  assert.equal(sender.heardEvents.length, 400);
  assert.equal(sender.heardWithdrawn.flatMap(([, ids]) => ids).length, 400);
  assert.equal(decider.sent() - before, 6);
});

const TERMINATE_LISTENERS = prepared(
  "test_cut",
  "select pg_terminate_backend(pid, 1000) from pg_stat_activity where datname = current_database() and application_name like 'dunlin hints%'",
);

test("lost connections are reopened with at most one log line", async () => {
  const decider = startTestProcess(["cases"]);
  const sender = startTestProcess(["events", "withdrawn"]);
  const heard = () => sender.heardEvents.length;
  await notifyUntilHeard(
    () => decider.events(MERCHANT_A),
    () => heard() > 0,
  );
  await database.db.run(TERMINATE_LISTENERS);
  const before = heard();
  await notifyUntilHeard(
    () => decider.events(MERCHANT_A),
    () => heard() > before,
  );
  assert.ok(decider.lines.length <= 1 && sender.lines.length <= 1);
});

test("an unreachable database delays no caller and is logged once", async () => {
  let refused = 0;
  const down: Database = {
    ...database.db,
    connect: async (): Promise<Connection> => {
      refused++;
      throw Object.assign(new Error("gone"), { code: "ECONNREFUSED" });
    },
  };
  const cut = startTestProcess(["cases"], down);
  cut.events(MERCHANT_A);
  cut.cases();
  await waitUntil(() => refused >= 2);
  assert.deepEqual([cut.sent(), cut.lines], [0, ["hints.failed"]]);
});

test("malformed messages on a channel are ignored", async () => {
  const sender = startTestProcess(["events", "withdrawn"]);
  const strange = prepared(
    "test_strange",
    "select pg_notify('dunlin_withdrawn', ''), pg_notify('dunlin_withdrawn', 'x'), pg_notify('dunlin_events', '{\"a\":')",
  );
  // Messages are lost until it listens, and when that is nobody knows.
  await waitUntil(async () => {
    await database.db.run(strange);
    return sender.heardEvents.length > 0;
  });
  assert.deepEqual(sender.heardWithdrawn, []);
});

test("an event committed by one process is delivered within 20 ms by another", async (t) => {
  const arrived = new Map<string, number>();
  const receiver = await startReceiver(({ body }, reply) => {
    arrived.set(JSON.parse(body).id, performance.now());
    reply.writeHead(200).end();
  });
  cleanups.push(receiver.close);
  const merchants = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      makeMerchant(database.db, { webhookUrl: `${receiver.origin}/${i}`, bucket: i }),
    ),
  );
  const own = openDatabase(database.address, 5, () => {});
  const { send, close } = createSender({
    allow: receiver.allow,
    extraCa: receiver.ca,
    monotonicMs: realPorts.monotonicMs,
  });
  const deliverer = makeDeliverer({ db: own, ports: realPorts, send });
  deliverer.start();
  const hearing = startNotifications({
    db: own,
    log: pino({ level: "silent" }),
    heard: { events: deliverer.wake, withdrawn: deliverer.dropWithdrawn },
  });
  cleanups.push(async () => {
    await hearing.stop();
    await deliverer.stop(1_000);
    close();
    await own.close();
  });
  const deciding = startTestProcess(["cases"]);
  await waitUntil(() => deliverer.sendsFor(merchants[0]!.id));
  await sleep(300);
  const tookMs: number[] = [];
  for (let i = 0; i < 200; i++) {
    const merchant = merchants[i % merchants.length]!;
    const [event] = await makeEvents(database.db, merchant, 1, new Date());
    const committedMs = performance.now();
    deciding.events(merchant.id);
    await waitUntil(() => arrived.has(event!.id));
    tookMs.push(arrived.get(event!.id)! - committedMs);
  }
  const sorted = tookMs.slice(20).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * sorted.length)]!;
  t.diagnostic(
    `commit to receiver, another process sends: p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms`,
  );
  assert.ok(at(0.5) < 20, `p50 ${at(0.5)} ms`);
});

test("a slow first connection is opened once, and a stop leaves none open", async () => {
  let connects = 0;
  const slow: Database = {
    ...database.db,
    async connect(answerMs) {
      connects++;
      await sleep(1_500);
      return database.db.connect(answerMs);
    },
  };
  const one = startTestProcess(["events"], slow);
  await sleep(2_600);
  await one.stop();
  assert.equal(connects, 1);
});
