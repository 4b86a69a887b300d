import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import pino from "pino";
import { type TestDatabase, testDatabase } from "../../test/database.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Transaction } from "../domain/transaction.ts";
import { prepared } from "../store/database.ts";
import { decideDue } from "./decide-due.ts";
import { ingestInvoices, ingestSubscriptions, ingestTransactions } from "./ingest.ts";
import { createMerchant } from "./merchants.ts";

const START = new Date("2026-03-02T10:00:00Z");
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const log = pino({ level: "silent" });

let database: TestDatabase;
let merchant: Merchant;
let now = START;
let ids = 0;
const ports: Ports = {
  now: () => now,
  realNow: () => now,
  monotonicMs: () => now.getTime(),
  clockRate: 1,
  randomBytes: (size) => Buffer.alloc(size, 7),
  newId: () => `01900000-0000-7000-8000-${(++ids).toString(16).padStart(12, "0")}`,
};

before(async () => {
  database = await testDatabase();
});
after(() => database.drop());
beforeEach(async () => {
  now = START;
  merchant = await createMerchant(
    database.db,
    "Shop",
    { webhookUrl: "https://shop.example/hooks", credential: { auth: "bearer", secret: "t" } },
    Buffer.alloc(32, 1),
    ports,
  );
});

const wait = (ms: number) => {
  now = new Date(now.getTime() + ms);
};

const decide = async () => {
  for (;;) {
    const { stepped } = await decideDue({ db: database.db, ports, log, onEvents() {}, onWithdrawn() {} });
    if (stepped === 0) return;
    wait(1);
  }
};

const invoice = (over: Partial<Invoice> = {}) =>
  ingestInvoices(
    database.db,
    merchant,
    [
      {
        id: "inv_1",
        state: "UNPAID",
        customerId: "cus_1",
        amount: 4900,
        currency: "EUR",
        createdAt: START,
        updatedAt: now,
        ...over,
      },
    ],
    ports,
  );

const transaction = (over: Partial<Transaction> = {}) =>
  ingestTransactions(
    database.db,
    merchant,
    [
      {
        id: `txn_${++ids}`,
        state: "FAILED",
        invoiceId: "inv_1",
        customerId: "cus_1",
        amount: 4900,
        currency: "EUR",
        createdAt: now,
        updatedAt: now,
        paymentMethodType: "card",
        cardBrand: "visa",
        cardCountry: "DE",
        cardFingerprint: "fp_1",
        networkDeclineCode: "51",
        ...over,
      },
    ],
    ports,
  );

interface ActionRow {
  id: string;
  type: string;
  status: string;
  ideal: Date;
  executed: boolean;
  attempted: Date | null;
  transaction: string | null;
  country: string | null;
  decided: boolean;
}
const ACTIONS = prepared(
  "test_actions",
  `select id, type, status, ideal_retry_time as ideal, executed_at is not null as executed, attempted_at as attempted,
     transaction_id as transaction, card_country as country, decided_at is not null as decided
   from recovery_actions where merchant_id = $1 order by created_at, id`,
);
const actions = async () => (await database.db.run<ActionRow>(ACTIONS, [merchant.id])).rows;
const EVENTS = prepared(
  "test_events",
  `select e.id, e.type, e.body, e.withdrawn_at is not null as withdrawn, d.event_id is not null as waiting
   from events e left join deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
   where e.merchant_id = $1 order by e.created_at, e.type desc`,
);
const events = async () =>
  (
    await database.db.run<{ id: string; type: string; body: string; withdrawn: boolean; waiting: boolean }>(EVENTS, [
      merchant.id,
    ])
  ).rows;
const CASES = prepared(
  "test_cases",
  `select end_reason as end, due_at as due from cases where merchant_id = $1 order by opened_at, id`,
);
const cases = async () => (await database.db.run<{ end: string | null; due: Date | null }>(CASES, [merchant.id])).rows;

const DELIVERED = prepared(
  "test_delivered",
  `with gone as (delete from deliveries where merchant_id = $1 returning event_id),
     logged as (insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, success, ends, status)
       select $1, event_id, 1, $3::int2, $2::timestamptz, $2::timestamptz, 5, $3 = 1, case when $3 = 1 then 'delivered' else 'exhausted' end, 200 from gone)
   update cases set due_at = $2 where merchant_id = $1`,
);
/** Every waiting event is delivered now. */
const deliver = () => database.db.run(DELIVERED, [merchant.id, now, 1]);
/** Every waiting event has used up its attempts. */
const exhaust = () => database.db.run(DELIVERED, [merchant.id, now, 6]);

/** Wait until the planned action's decision is due, decide and deliver it. */
async function untilSent() {
  const planned = (await actions()).at(-1)!;
  now = new Date(planned.ideal.getTime() - 49 * MINUTE);
  await decide();
  wait(1000);
  await deliver();
  await decide();
  return (await actions()).at(-1)!;
}

test("an unpaid invoice opens a case, collection is paused at once, and a retry is planned inside the window", async () => {
  await invoice();
  await decide();
  assert.deepEqual(
    (await events()).map(({ type }) => type),
    ["pause_collection"],
  );
  const [planned] = await actions();
  assert.equal(planned!.type, "RETRY");
  assert.equal(planned!.status, "SCHEDULED");
  assert.equal(planned!.decided, false);
  assert.ok(planned!.ideal > now && planned!.ideal.getTime() < START.getTime() + 28 * DAY);
  assert.equal((await cases())[0]!.due!.getTime(), planned!.ideal.getTime() - 49 * MINUTE);
});

test("the event is made 49 minutes ahead, once, and carries the action's id and time", async () => {
  await invoice({ subscriptionId: "sub_1" });
  await decide();
  const sent = await untilSent();
  assert.equal(sent.status, "SENT");
  const event = (await events()).find(({ type }) => type === "recovery_action")!;
  assert.equal(event.id, sent.id);
  const body = JSON.parse(event.body);
  assert.deepEqual(body.data, {
    invoiceId: "inv_1",
    subscriptionId: "sub_1",
    actionSuggestion: "ACTION_SUGGESTION_RETRY",
    idealRetryTime: sent.ideal.toISOString(),
  });
  await invoice({ amount: 5000 });
  await decide();
  assert.equal((await events()).filter(({ type }) => type === "recovery_action").length, 1);
});

test("a paid copy dated after the first delivery attempt makes the action succeed and ends the case", async () => {
  await invoice();
  await decide();
  await untilSent();
  wait(HOUR);
  await invoice({ state: "PAID" });
  await decide();
  const [action] = await actions();
  assert.equal(action!.status, "SUCCEEDED");
  assert.equal(action!.executed, true);
  assert.deepEqual(await cases(), [{ end: "paid", due: null }]);
  assert.equal(
    (await events()).some(({ type }) => type === "complete_dunning"),
    false,
  );
});

test("paid before the first delivery attempt, the plan is canceled and nothing goes out", async () => {
  await invoice();
  await decide();
  wait(HOUR);
  await invoice({ state: "PAID" });
  assert.deepEqual(
    (await events()).map(({ type, withdrawn, waiting }) => ({ type, withdrawn, waiting })),
    [{ type: "pause_collection", withdrawn: true, waiting: false }],
  );
  await decide();
  assert.deepEqual(
    (await actions()).map(({ status }) => status),
    ["CANCELED"],
  );
});

test("a payment that the customer made cancels the action, also when the paid copy came first", async () => {
  await invoice();
  await decide();
  await untilSent();
  wait(HOUR);
  const paidAt = now;
  await invoice({ state: "PAID" });
  await decide();
  assert.equal((await actions())[0]!.status, "SUCCEEDED");
  await transaction({ state: "PAID", initiator: "CUSTOMER", createdAt: paidAt });
  await decide();
  const [action] = await actions();
  assert.deepEqual([action!.status, action!.executed], ["CANCELED", false]);
});

test("a failed transaction settles the retry as failed and the next one is planned, with the card's country", async () => {
  await invoice();
  await transaction();
  await decide();
  const sent = await untilSent();
  now = new Date(sent.ideal.getTime() + MINUTE);
  await transaction({ id: "txn_retry", recoveryActionId: sent.id, initiator: "RECOVERY_ACTION" });
  await decide();
  const [first, second] = await actions();
  assert.deepEqual([first!.status, first!.transaction, first!.country], ["FAILED", "txn_retry", "DE"]);
  assert.equal(first!.attempted!.getTime(), sent.ideal.getTime() + MINUTE);
  assert.deepEqual([second!.type, second!.status], ["RETRY", "SCHEDULED"]);
  assert.ok(second!.ideal.getTime() > sent.ideal.getTime() + 12 * HOUR);
});

test("an unpaid copy dated after the ideal time says failed, and a payment within 48 hours turns it", async () => {
  await invoice();
  await decide();
  const sent = await untilSent();
  now = new Date(sent.ideal.getTime() + HOUR);
  await invoice();
  await decide();
  assert.equal((await actions())[0]!.status, "FAILED");
  wait(HOUR);
  await invoice({ state: "PAID" });
  await decide();
  assert.deepEqual(
    (await actions()).map(({ status }) => status),
    ["SUCCEEDED", "CANCELED"],
  );
});

test("no word within 48 hours expires the action, and a transaction that names it still counts", async () => {
  await invoice();
  await decide();
  const sent = await untilSent();
  now = new Date(sent.ideal.getTime() + 48 * HOUR);
  await decide();
  assert.equal((await actions())[0]!.status, "EXPIRED");
  await transaction({ recoveryActionId: sent.id, state: "PAID", createdAt: new Date(sent.ideal.getTime() + MINUTE) });
  await decide();
  assert.equal((await actions())[0]!.status, "SUCCEEDED");
  assert.equal((await cases())[0]!.end, "paid");
});

test("an exhausted event leaves the action undelivered, and the next one is planned", async () => {
  await invoice();
  await decide();
  now = new Date((await actions())[0]!.ideal.getTime() - 49 * MINUTE);
  await decide();
  wait(46 * MINUTE);
  await exhaust();
  await decide();
  const [first, second] = await actions();
  assert.equal(first!.status, "DELIVERY_FAILED");
  assert.equal(second!.status, "SCHEDULED");
});

test("a lost card leads to a card change at once, and after seven days without a new one to the end of dunning", async () => {
  await invoice();
  await transaction({ networkDeclineCode: "41" });
  await decide();
  await deliver();
  await decide();
  assert.deepEqual(
    (await actions()).map(({ type, status }) => ({ type, status })),
    [{ type: "CARD_CHANGE", status: "SENT" }],
  );
  wait(7 * DAY);
  await decide();
  assert.equal((await actions())[0]!.status, "EXPIRED");
  assert.equal((await cases())[0]!.end, "hopeless");
  assert.equal((await events()).filter(({ type }) => type === "complete_dunning").length, 1);
});

test("a new card after a card change brings a retry soon", async () => {
  await invoice();
  await transaction({ networkDeclineCode: "41" });
  await decide();
  await deliver();
  await decide();
  wait(2 * DAY);
  await transaction({ invoiceId: "inv_other", state: "PAID", cardFingerprint: "fp_2", networkDeclineCode: undefined });
  await decide();
  const [, retry] = await actions();
  assert.equal(retry!.type, "RETRY");
  assert.ok(retry!.ideal.getTime() - now.getTime() <= 24 * HOUR);
});

test("a canceled subscription ends the case with complete_dunning and takes back the waiting retry", async () => {
  await ingestSubscriptions(
    database.db,
    merchant,
    [
      {
        id: "sub_1",
        state: "ACTIVE",
        customerId: "cus_1",
        amount: 1,
        currency: "EUR",
        createdAt: START,
        updatedAt: START,
      },
    ],
    ports,
  );
  await invoice({ subscriptionId: "sub_1" });
  await decide();
  await deliver();
  now = new Date((await actions())[0]!.ideal.getTime() - 49 * MINUTE);
  await decide();
  wait(MINUTE);
  await ingestSubscriptions(
    database.db,
    merchant,
    [
      {
        id: "sub_1",
        state: "CANCELED",
        customerId: "cus_1",
        amount: 1,
        currency: "EUR",
        createdAt: START,
        updatedAt: now,
      },
    ],
    ports,
  );
  await decide();
  assert.equal((await cases())[0]!.end, "subscription_canceled");
  assert.deepEqual(
    (await actions()).map(({ status }) => status),
    ["CANCELED"],
  );
  const byType = Object.fromEntries((await events()).map((event) => [event.type, event]));
  assert.deepEqual([byType.recovery_action!.withdrawn, byType.recovery_action!.waiting], [true, false]);
  assert.equal(byType.complete_dunning!.waiting, true);
});

test("when the window is over the case ends and nothing is said", async () => {
  await invoice();
  await decide();
  await deliver();
  now = new Date(START.getTime() + 28 * DAY);
  await decide();
  assert.deepEqual(await cases(), [{ end: "window_over", due: null }]);
  assert.equal(
    (await events()).some(({ type }) => type === "complete_dunning"),
    false,
  );
});

test("the budget is asked for in full, then dunning is completed once", async () => {
  await invoice();
  for (let i = 0; i < 8; i++) {
    await decide();
    const sent = await untilSent();
    now = new Date(sent.ideal.getTime() + MINUTE);
    await invoice();
  }
  await decide();
  assert.equal((await actions()).filter(({ status }) => status === "FAILED").length, 8);
  assert.equal((await cases())[0]!.end, "budget_used");
  assert.equal((await events()).filter(({ type }) => type === "complete_dunning").length, 1);
  wait(MINUTE);
  await invoice();
  await decide();
  assert.equal((await cases()).length, 1);
});

test("an invoice that is unpaid again after it was paid opens a new case", async () => {
  await invoice();
  await decide();
  wait(HOUR);
  await invoice({ state: "PAID" });
  await decide();
  wait(DAY);
  await invoice();
  await decide();
  assert.deepEqual(
    (await cases()).map(({ end }) => end),
    ["paid", null],
  );
});

test("no case opens for an amount of 0 or when the window is over already", async () => {
  await invoice({ id: "inv_zero", amount: 0 });
  await invoice({ id: "inv_old", updatedAt: new Date(START.getTime() - 28 * DAY) });
  await decide();
  assert.deepEqual(await cases(), []);
});

test("without an endpoint the case is planned and no event is made", async () => {
  const silent = await createMerchant(database.db, "No endpoint", {}, Buffer.alloc(32, 1), ports);
  merchant = silent;
  await invoice();
  await decide();
  const [first] = await actions();
  now = new Date(first!.ideal.getTime() + HOUR);
  await decide();
  assert.deepEqual(await events(), []);
  assert.equal((await actions())[0]!.status, "SCHEDULED");
  assert.ok((await actions())[0]!.ideal > first!.ideal);
});

test("an older or equal copy changes nothing", async () => {
  assert.equal(await invoice(), 1);
  assert.equal(await invoice({ state: "PAID" }), 0);
  assert.equal(await invoice({ state: "PAID", updatedAt: new Date(now.getTime() - 1) }), 0);
});
