import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import pino from "pino";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { HOUR_MS } from "../domain/durations.ts";
import { changeMerchant } from "../merchants/merchant-settings.ts";
import { type Database, prepared } from "../postgres/database.ts";
import type { EndedAttempt } from "../tables/delivery-attempts.ts";
import { clearEndpointFailing, markEndpointFailing, pauseFailingEndpoint } from "../tables/endpoint-states.ts";
import { findMerchant } from "../tables/merchants.ts";
import { createManualClock, makeDeliverer, makeEvents, makeMerchant, SECRET_KEYS } from "./deliverer.fixture.ts";
import type { Deliverer } from "./deliverer.ts";
import { createEndpointHealth } from "./endpoint-health.ts";
import type { Reply } from "./https/exchange.ts";
import { createLane } from "./merchant-lane.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const EMPTY = prepared("test_empty", "truncate deliveries, merchants cascade");
const COUNT = prepared("test_count", "select count(*)::int as count from deliveries where merchant_id = $1");
const TAKE_OVER_LEASE = prepared("test_take_over", "update bucket_leases set epoch = epoch + 1, owner = $1");
const EPOCH = prepared("test_epoch", "select epoch from bucket_leases where bucket = $1");
const deliverers: Deliverer[] = [];
beforeEach(() => database.db.run(EMPTY));
afterEach(async () => {
  for (const deliverer of deliverers.splice(0)) await deliverer.stop();
});

const OK: Reply = { outcome: "response", status: 200, retryAfter: null, text: null };
const DOWN: Reply = { outcome: "response", status: 500, retryAfter: null, text: null };

/** A merchant with an event every six hours. `answer` returns the endpoint's replies. */
async function setUpDeliverer(answer: () => Reply) {
  const clock = createManualClock();
  const merchant = await makeMerchant(database.db);
  const lines: { msg: string; merchantId?: string }[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const sent: string[] = [];
  const stateWrites: string[] = [];
  const db: Database = {
    ...database.db,
    run(statement, values) {
      if (/endpoint/.test(statement.name)) stateWrites.push(statement.name);
      return database.db.run(statement, values);
    },
  };
  const open = () => {
    const deliverer = makeDeliverer({
      db,
      ports: clock.ports,
      log,
      send: async ({ body }) => {
        sent.push(JSON.parse(body).id);
        return answer();
      },
    });
    deliverers.push(deliverer);
    return deliverer;
  };
  return {
    ...clock,
    merchant,
    sent,
    stateWrites,
    open,
    countLines: (name: string) => lines.filter(({ msg }) => msg === name).length,
    now: async () => (await findMerchant(database.db, merchant.id))!,
    waiting: async () => (await database.db.run<{ count: number }>(COUNT, [merchant.id])).rows[0]!.count,
    /** Creates one event per six hours and delivers its short retries. */
    async live(deliverer: Deliverer, hours: number) {
      const madeRequests: string[] = [];
      for (let hour = 0; hour < hours; hour += 6) {
        const [event] = await makeEvents(database.db, merchant, 1, clock.ports.now());
        madeRequests.push(event!.id);
        for (const waitMs of [0, 100, 5_000, 15_000, 900_000, 1_800_000, 3_600_000]) {
          clock.wait(waitMs);
          await deliverer.deliverDue();
        }
        clock.wait(6 * HOUR_MS - 6_320_100);
      }
      return madeRequests;
    },
  };
}

test("an endpoint that fails every attempt is marked, warned about after a day and paused after three, across restarts and owners", async () => {
  const { open, live, countLines, now, waiting, ports, sent } = await setUpDeliverer(() => DOWN);
  const startedAt = ports.now();
  const first = open();
  await live(first, 12);
  assert.deepEqual((await now()).webhookFailingSince, startedAt);
  assert.deepEqual([countLines("endpoint.failing"), countLines("endpoint.paused")], [0, 0]);
  await live(first, 24);
  assert.deepEqual([countLines("endpoint.failing"), countLines("endpoint.paused")], [1, 0]);
  await first.stop();
  const second = open();
  await live(second, 36);
  assert.deepEqual(
    [countLines("endpoint.paused"), (await now()).webhookPaused],
    [0, false],
    "72 hours are not over yet",
  );
  await live(second, 6);
  const paused = await now();
  assert.deepEqual([paused.webhookPaused, paused.webhookPausedBy, countLines("endpoint.paused")], [true, "dunlin", 1]);
  assert.deepEqual(paused.webhookFailingSince, startedAt);

  const before = sent.length;
  await live(second, 48);
  assert.equal(sent.length, before, "nothing is sent while the endpoint is paused");
  assert.ok((await waiting()) >= 8, "no event is dropped");
  await second.stop();
  assert.equal(await open().deliverDue(), 0, "another process sends nothing either");
});

test("events that waited for a paused endpoint are sent oldest first, within the cap, when a person resumes it", async () => {
  let reply = DOWN;
  const { open, live, now, waiting, merchant, sent, ports } = await setUpDeliverer(() => reply);
  const deliverer = open();
  await live(deliverer, 78);
  assert.equal((await now()).webhookPaused, true);
  const madeRequests = await live(deliverer, 48);
  const from = sent.length;
  reply = OK;
  await changeMerchant(database.db, merchant.id, { webhookPaused: false }, SECRET_KEYS, ports);
  const { webhookPaused, webhookPausedAt, webhookPausedBy, webhookFailingSince } = await now();
  assert.deepEqual([webhookPaused, webhookPausedAt, webhookPausedBy, webhookFailingSince], [false, null, null, null]);
  assert.ok((await deliverer.deliverDue()) >= 8);
  assert.equal(await waiting(), 0);
  assert.deepEqual(
    sent.slice(from).filter((id) => madeRequests.includes(id)),
    madeRequests,
  );
});

test("one success restarts the count of failures", async () => {
  let reply = DOWN;
  const { open, live, now, countLines, ports } = await setUpDeliverer(() => reply);
  const deliverer = open();
  await live(deliverer, 66);
  assert.notEqual((await now()).webhookFailingSince, null);
  reply = OK;
  await live(deliverer, 6);
  assert.equal((await now()).webhookFailingSince, null);
  reply = DOWN;
  const againAt = ports.now();
  await live(deliverer, 66);
  assert.deepEqual((await now()).webhookFailingSince, againAt);
  assert.equal(countLines("endpoint.paused"), 0);
});

test("the first success clears a failure mark of another process", async () => {
  let reply = DOWN;
  const { open, live, now } = await setUpDeliverer(() => reply);
  const first = open();
  await live(first, 12);
  await first.stop();
  assert.notEqual((await now()).webhookFailingSince, null);
  reply = OK;
  await live(open(), 6);
  assert.equal((await now()).webhookFailingSince, null);
});

test("an endpoint that fails every other attempt causes no write", async () => {
  let count = 0;
  const { open, live, stateWrites, now } = await setUpDeliverer(() => (++count % 2 === 0 ? OK : DOWN));
  await live(open(), 120);
  assert.deepEqual(stateWrites, []);
  assert.equal((await now()).webhookPaused, false);
});

test("an endpoint that fails for days causes one write when it starts failing and one when it is paused", async () => {
  const { open, live, stateWrites } = await setUpDeliverer(() => DOWN);
  await live(open(), 90);
  assert.deepEqual(stateWrites, ["mark_endpoint_failing", "pause_failing_endpoint"]);
});

test("a single failure after days without events does not pause the endpoint, because the short retries must fail too", async () => {
  let reply = DOWN;
  const { open, live, now, merchant, wait, ports } = await setUpDeliverer(() => reply);
  const deliverer = open();
  await live(deliverer, 6);
  wait(96 * HOUR_MS);
  await makeEvents(database.db, merchant, 1, ports.now());
  await deliverer.deliverDue();
  reply = OK;
  wait(100);
  await deliverer.deliverDue();
  assert.deepEqual([(await now()).webhookPaused, (await now()).webhookFailingSince], [false, null]);
});

test("an attempt of a former lease owner changes nothing", async () => {
  const { merchant, now, ports } = await setUpDeliverer(() => DOWN);
  const { db } = database;
  await db.run(TAKE_OVER_LEASE, ["01990000-0000-7000-8000-000000000001"]);
  const epoch = (await db.run<{ epoch: number }>(EPOCH, [merchant.bucket])).rows[0]!.epoch;
  await markEndpointFailing(db, merchant.id, epoch - 1, ports.now());
  assert.equal((await now()).webhookFailingSince, null);
  await markEndpointFailing(db, merchant.id, epoch, ports.now());
  await clearEndpointFailing(db, merchant.id, epoch - 1);
  assert.equal(await pauseFailingEndpoint(db, merchant.id, epoch - 1, ports.now(), ports.now()), false);
  const { webhookPaused, webhookFailingSince } = await now();
  assert.deepEqual([webhookPaused, webhookFailingSince], [false, ports.now()]);
  assert.equal(await pauseFailingEndpoint(db, merchant.id, epoch, ports.now(), ports.now()), true);
  await db.run(TAKE_OVER_LEASE, [null]);
});

/** A lane, its health tracker and the log. */
async function createTestHealth(over: Partial<Database> = {}) {
  const { ports, wait } = createManualClock();
  const merchant = await makeMerchant(database.db);
  const lines: { msg: string; merchantId?: string; failingSince?: string; errorMessage?: string }[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const { db } = database;
  await db.run(TAKE_OVER_LEASE, ["01990000-0000-7000-8000-000000000001"]);
  const epoch = (await db.run<{ epoch: number }>(EPOCH, [merchant.bucket])).rows[0]!.epoch;
  const health = createEndpointHealth({ db: { ...db, ...over }, ports, log });
  const lane = createLane(merchant);
  const failed = (number = 5) => health.recordFailure(lane, { endedAt: ports.now(), epoch, number } as EndedAttempt);
  const written = () => new Promise((resolve) => setTimeout(resolve, 50));
  return { lane, lines, health, failed, written, wait, ports, epoch, merchant };
}

test("a paused endpoint is noted in the lane at once, and the log has the start of its failures", async () => {
  const { lane, lines, failed, written, wait, ports, merchant } = await createTestHealth();
  const since = ports.now();
  failed();
  wait(60_000);
  failed();
  await written();
  assert.deepEqual([lane.merchant.webhookFailingSince, lane.failing.since], [since, null]);
  wait(24 * HOUR_MS);
  failed();
  failed();
  assert.deepEqual(
    lines.map(({ msg, merchantId, failingSince }) => [msg, merchantId, failingSince]),
    [["endpoint.failing", merchant.id, since.toISOString()]],
  );
  wait(48 * HOUR_MS);
  failed(3);
  await written();
  assert.equal(lane.merchant.webhookPaused, false, "the short retries are not over");
  failed(4);
  await written();
  assert.partialDeepStrictEqual(lane.merchant, {
    webhookPaused: true,
    webhookPausedAt: ports.now(),
    webhookPausedBy: "dunlin",
  });
  assert.partialDeepStrictEqual(lines.at(-1), { msg: "endpoint.paused", failingSince: since.toISOString() });
});

test("a success clears the mark in the lane too, and writes nothing when there were no failures", async () => {
  let writes = 0;
  const { lane, health, failed, written, wait, epoch } = await createTestHealth({
    run: (statement, values) => {
      writes++;
      return database.db.run(statement, values);
    },
  });
  await health.recordSuccess(lane, epoch);
  assert.equal(writes, 0);
  failed();
  wait(60_000);
  failed();
  // The mark is still being written.
  await health.recordSuccess(lane, epoch);
  assert.deepEqual(
    [lane.merchant.webhookFailingSince, lane.failing, writes],
    [null, { since: null, warned: false }, 2],
  );
  await written();
  await health.recordSuccess(lane, epoch);
  assert.equal(writes, 2);
});

test("a mark that cannot be written is logged as a warning and written at the next failure", async () => {
  let isDown = true;
  const { lane, lines, failed, written, wait, merchant } = await createTestHealth({
    run: (statement, values) => (isDown ? Promise.reject(new Error("away")) : database.db.run(statement, values)),
  });
  failed();
  wait(60_000);
  failed();
  await written();
  assert.partialDeepStrictEqual(lines, [
    { msg: "endpoint.state-failed", merchantId: merchant.id, errorMessage: "away" },
  ]);
  assert.equal(lane.merchant.webhookFailingSince, null);
  isDown = false;
  failed();
  await written();
  assert.notEqual(lane.merchant.webhookFailingSince, null);
});
