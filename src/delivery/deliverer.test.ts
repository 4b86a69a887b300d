import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import type { EventType } from "../domain/event.ts";
import { type Database, prepared, type Statement } from "../postgres/database.ts";
import { listAttemptsOfEvent } from "../tables/delivery-attempts.ts";
import { withdrawEvents } from "../tables/events.ts";
import { updateMerchant } from "../tables/merchants.ts";
import { createManualClock, makeDeliverer, makeEvents, makeMerchant, START } from "./deliverer.fixture.ts";
import type { Deliverer } from "./deliverer.ts";
import type { Reply } from "./https/exchange.ts";
import type { OutgoingRequest, Send } from "./https/https-sender.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

// Merchants of earlier tests stay in the database; only their deliveries are deleted.
const EMPTY = prepared("test_empty", "delete from deliveries");
const deliverers: Deliverer[] = [];
beforeEach(() => database.db.run(EMPTY));
afterEach(async () => {
  for (const deliverer of deliverers.splice(0)) await deliverer.stop();
});

const OK: Reply = { outcome: "response", status: 200, retryAfter: null, text: null };
const DOWN: Reply = { outcome: "failed", error: "the connection was refused" };
const recordedReply = (status: number, over: Partial<Reply> = {}) =>
  ({ outcome: "response", status, retryAfter: null, text: null, ...over }) as Reply;

const ROW = prepared("test_delivery", "select attempts, round, due_at as due from deliveries where event_id = $1");
const rowOf = async (eventId: string) =>
  (await database.db.run<{ attempts: number; round: number; due: Date }>(ROW, [eventId])).rows[0];
const READ_QUEUED = prepared("test_poked", "select unnest(case_ids) as id from case_pokes where merchant_id = $1");
const TAKE_OVER_LEASE = prepared(
  "test_take_over",
  "update bucket_leases set epoch = epoch + 1, owner = $1 where bucket = 0",
);

/** A deliverer with a manual clock. `answer` returns the receiver's replies. */
async function setUpDeliverer(answer: (request: OutgoingRequest) => Reply | Promise<Reply>) {
  const clock = createManualClock();
  const sent: OutgoingRequest[] = [];
  const send: Send = async (request) => {
    sent.push(request);
    return answer(request);
  };
  const deliverer = makeDeliverer({ db: database.db, ports: clock.ports, send });
  deliverers.push(deliverer);
  return { ...clock, sent, send, deliverer };
}

for (const [type, delays] of [
  ["recovery_action", [100, 5_000, 15_000, 900_000, 1_800_000]],
  ["pause_collection", [100, 5_000, 15_000, 900_000, 1_800_000, 3_600_000]],
  ["complete_dunning", [100, 5_000, 15_000, 900_000, 1_800_000, 3_600_000]],
] as [EventType, number[]][]) {
  test(`a ${type} that always fails is sent exactly ${delays.length + 1} times, with each delay counted from the end of the failure`, async () => {
    const tookMs = 30_000;
    const { deliverer, sent, wait, ports } = await setUpDeliverer(() => {
      wait(tookMs);
      return DOWN;
    });
    const merchant = await makeMerchant(database.db);
    const [event] = await makeEvents(database.db, merchant, 1, START, type);
    assert.equal(await deliverer.deliverDue(), 1);
    for (const delayMs of delays) {
      wait(delayMs - 1);
      assert.equal(await deliverer.deliverDue(), 0, "early");
      wait(1);
      assert.equal(await deliverer.deliverDue(), 1, `after ${delayMs}`);
    }
    wait(365 * 86_400_000);
    assert.equal(await deliverer.deliverDue(), 0);
    assert.equal(sent.length, delays.length + 1);
    assert.deepEqual(new Set(sent.map(({ body }) => body)), new Set([event!.body]));
    const log = await listAttemptsOfEvent(database.db, merchant.id, event!.id);
    assert.deepEqual(
      log.map(({ number, ends }) => [number, ends]),
      [...delays.map((_, index) => [index + 1, null]), [delays.length + 1, "exhausted"]],
    );
    assert.equal(log[0]?.durationMs, tookMs);
    assert.equal(log[0]?.error, "the connection was refused");
    assert.equal(await rowOf(event!.id), undefined);
    assert.ok(ports.now() > START);
  });
}

test("a success ends the event, logs it and queues its case", async () => {
  let endedCount = 0;
  const { ports } = createManualClock();
  const deliverer = makeDeliverer({ db: database.db, ports, send: async () => OK, onEnded: () => endedCount++ });
  deliverers.push(deliverer);
  const merchant = await makeMerchant(database.db);
  const [event] = await makeEvents(database.db, merchant, 1, START);
  assert.equal(await deliverer.deliverDue(), 1);
  const log = await listAttemptsOfEvent(database.db, merchant.id, event!.id);
  assert.deepEqual(
    log.map(({ number, success, ends, status }) => ({ number, success, ends, status })),
    [{ number: 1, success: true, ends: "delivered", status: 200 }],
  );
  assert.equal(await rowOf(event!.id), undefined);
  assert.deepEqual((await database.db.run(READ_QUEUED, [merchant.id])).rows, [{ id: event!.caseId }]);
  assert.equal(endedCount, 1);
  assert.equal(await deliverer.deliverDue(), 0);
});

test("every status except 2xx is a failure, and Retry-After moves the next attempt later", async () => {
  const replies = [
    recordedReply(302),
    recordedReply(429, { retryAfter: "60" }),
    recordedReply(503, { retryAfter: "1" }),
  ];
  const { deliverer, wait, ports } = await setUpDeliverer(() => replies.shift() ?? OK);
  const merchant = await makeMerchant(database.db);
  const [event] = await makeEvents(database.db, merchant, 1, START);
  const delays: number[] = [];
  for (let i = 0; i < 3; i++) {
    await deliverer.deliverDue();
    delays.push((await rowOf(event!.id))!.due.getTime() - ports.now().getTime());
    wait(delays.at(-1)!);
  }
  assert.deepEqual(delays, [100, 60_000, 15_000]);
});

test("an attempt that was sent but not recorded is repeated under the same number", async () => {
  const { deliverer, wait, ports } = await setUpDeliverer(() => DOWN);
  const merchant = await makeMerchant(database.db);
  const [event] = await makeEvents(database.db, merchant, 1, START);
  let arrived = () => {};
  const onWire = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const crashed = makeDeliverer({
    db: database.db,
    ports,
    send: () => {
      arrived();
      return new Promise(() => {});
    },
  });
  void crashed.deliverDue();
  await onWire;
  await crashed.stop(0);
  assert.equal(await deliverer.deliverDue(), 1);
  for (const delayMs of [100, 5_000, 15_000, 900_000, 1_800_000]) {
    wait(delayMs);
    await deliverer.deliverDue();
  }
  const log = await listAttemptsOfEvent(database.db, merchant.id, event!.id);
  assert.deepEqual(
    log.map(({ number }) => number),
    [1, 2, 3, 4, 5, 6],
  );
});

test("a round in which one merchant fails ends after all merchants have ended, so that the next round repeats nothing", async () => {
  const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>();
  let reads = 0;
  const db: Database = {
    ...database.db,
    async run<Row>(statement: Statement, values?: readonly unknown[]) {
      if (statement.name !== "due_deliveries" || ++reads > 2) return database.db.run<Row>(statement, values);
      if (reads === 1) throw Object.assign(new Error("the connection broke"), { code: "08006" });
      const rows = await database.db.run<Row>(statement, values);
      await isAnswered;
      return rows;
    },
  };
  const { sent, send, ports } = await setUpDeliverer(() => OK);
  for (let n = 0; n < 2; n++) await makeEvents(database.db, await makeMerchant(database.db), 1, START);
  const deliverer = makeDeliverer({ db, ports, send });
  deliverers.push(deliverer);
  const first = assert.rejects(deliverer.deliverDue(), /the connection broke/);
  const both = first.then(() => deliverer.deliverDue());
  setTimeout(answer, 50);
  await both;
  // Events that the first round would still send after its failure.
  await isAnswered;
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(new Set(sent.map(({ body }) => body)).size, 2);
  assert.equal(sent.length, 2);
});

test("a record written under a lost lease changes nothing", async () => {
  const merchant = await makeMerchant(database.db);
  const [event] = await makeEvents(database.db, merchant, 1, START);
  const { deliverer } = await setUpDeliverer(async () => {
    await database.db.run(TAKE_OVER_LEASE, ["00000000-0000-4000-8000-000000000001"]);
    return OK;
  });
  await deliverer.deliverDue();
  assert.deepEqual(await listAttemptsOfEvent(database.db, merchant.id, event!.id), []);
  assert.equal((await rowOf(event!.id))?.attempts, 0);
  await deliverer.stop();
  const { deliverer: next } = await setUpDeliverer(() => OK);
  assert.equal(await next.deliverDue(), 1, "the new owner sends it again");
  assert.equal((await listAttemptsOfEvent(database.db, merchant.id, event!.id)).length, 1);
});

test("an attempt in flight is logged, queues its case and is the last one when its event is withdrawn meanwhile", async () => {
  for (const [reply, ends] of [
    [OK, "delivered"],
    [DOWN, null],
  ] as const) {
    const merchant = await makeMerchant(database.db);
    const [event] = await makeEvents(database.db, merchant, 1, START);
    const { ports, wait } = createManualClock();
    let endedCount = 0;
    const send: Send = async () => {
      await withdrawEvents(database.db, merchant.id, [event!.caseId], [], START);
      return reply;
    };
    const deliverer = makeDeliverer({ db: database.db, ports, send, onEnded: () => endedCount++ });
    deliverers.push(deliverer);
    assert.equal(await deliverer.deliverDue(), 1);
    const log = await listAttemptsOfEvent(database.db, merchant.id, event!.id);
    assert.deepEqual(
      log.map(({ number, ends }) => [number, ends]),
      [[1, ends]],
    );
    assert.deepEqual((await database.db.run(READ_QUEUED, [merchant.id])).rows, [{ id: event!.caseId }]);
    assert.equal(endedCount, 1);
    wait(86_400_000);
    assert.equal(await deliverer.deliverDue(), 0);
    await deliverer.stop();
  }
});

test("events wait while there is no endpoint or it is paused, and are sent later", async () => {
  const { deliverer, sent, ports } = await setUpDeliverer(() => OK);
  const merchant = await makeMerchant(database.db, { webhookPaused: true });
  const unaimed = await makeMerchant(database.db, { webhookUrl: null });
  await makeEvents(database.db, merchant, 2, START);
  await makeEvents(database.db, unaimed, 1, START);
  assert.equal(await deliverer.deliverDue(), 0);
  await updateMerchant(database.db, { ...merchant, webhookPaused: false }, ports.now());
  await updateMerchant(database.db, { ...unaimed, webhookUrl: "https://new.example:8443/x/" }, ports.now());
  assert.equal(await deliverer.deliverDue(), 3);
  assert.deepEqual(sent.map(({ origin, path }) => origin + path).sort(), [
    "https://new.example:8443/x/",
    "https://shop.example/hooks",
    "https://shop.example/hooks",
  ]);
});

test("the sub-path goes between path and query, and the credential is sent", async () => {
  const { deliverer, sent } = await setUpDeliverer(() => OK);
  const merchant = await makeMerchant(database.db, {
    webhookSubPaths: true,
    webhookUrl: "https://shop.example/a/?k=v",
  });
  for (const type of ["recovery_action", "pause_collection", "complete_dunning"] as const)
    await makeEvents(database.db, merchant, 1, START, type);
  await deliverer.deliverDue();
  assert.deepEqual(sent.map(({ path }) => path).sort(), [
    "/a/complete_dunning?k=v",
    "/a/pause_collection?k=v",
    "/a/recovery_action?k=v",
  ]);
  assert.equal(sent[0]?.authorization, "Bearer webhook-token");
});

test("the log contains neither an echoed credential nor characters that PostgreSQL cannot store", async () => {
  const merchant = await makeMerchant(database.db);
  const [event] = await makeEvents(database.db, merchant, 1, START);
  const { deliverer } = await setUpDeliverer(({ authorization }) =>
    recordedReply(401, { text: `bad ${authorization}\u0000 \ud800` } as Partial<Reply>),
  );
  await deliverer.deliverDue();
  const [line] = await listAttemptsOfEvent(database.db, merchant.id, event!.id);
  assert.equal(line?.response, "bad Bearer [redacted]\ufffd \ufffd");
});

test("at most the merchant's cap of attempts is in flight at once", async () => {
  let onWire = 0;
  let most = 0;
  const { deliverer } = await setUpDeliverer(async () => {
    most = Math.max(most, ++onWire);
    await new Promise((resolve) => setTimeout(resolve, 1));
    onWire--;
    return OK;
  });
  const merchant = await makeMerchant(database.db, { webhookCap: 3 });
  await makeEvents(database.db, merchant, 20, START);
  assert.equal(await deliverer.deliverDue(), 20);
  assert.equal(most, 3);
});
