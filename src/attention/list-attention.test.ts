import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console/console.fixture.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/durations.ts";
import type { DecisionFacts } from "../engine/decision-facts.ts";
import { describeRenewal } from "../engine/reasons.ts";
import type { InterpretedDecline } from "../engine/rules/interpret-decline.ts";
import { createMerchant } from "../merchants/merchant-settings.ts";
import { prepared } from "../postgres/database.ts";
import { reportConnection, saveConnection } from "../tables/connections.ts";
import { saveConflicts } from "../tables/invoice-conflicts.ts";
import { replaceLargeAmounts } from "../tables/large-amounts.ts";
import { findMerchant, updateMerchant } from "../tables/merchants.ts";
import { createAttentionStore } from "./attention.fixture.ts";
import { countAttention, listAttention } from "./list-attention.ts";

let at: TestConsole;
let now: Date;
before(async () => {
  at = await createTestConsole();
  now = at.ports.now();
});
after(() => at.close());

async function shop() {
  const { id } = await createMerchant(
    at.db,
    "Shop",
    { webhookUrl: "https://shop.example.com/" },
    SECRET_KEYS,
    at.ports,
  );
  const merchant = (await findMerchant(at.db, id))!;
  const store = createAttentionStore(at.db, id, now);
  const list = (later = now) => listAttention(at.db, id, later, 1);
  const count = (later = now) => countAttention(at.db, id, later, 1);
  const browser = await at.browser(await at.person("viewer", merchant));
  const page = async (path: string) => (await browser.get(path)).body;
  return { id, merchant, store, list, count, page };
}
const ago = (ms: number) => new Date(now.getTime() - ms);
const ahead = (ms: number) => new Date(now.getTime() + ms);

test("a merchant without records has nothing that needs attention", async () => {
  const { list, count } = await shop();
  assert.deepEqual(await list(), []);
  assert.equal(await count(), 0);
});

test("a failing endpoint is listed with its last answer and the waiting events", async () => {
  const { id, merchant, store, list, count, page } = await shop();
  const first = await store.openCase({ amount: 500 });
  await store.waitingEvent(first, 503);
  await store.waitingEvent(await store.openCase({ amount: 700 }), null);
  assert.deepEqual(await list(), []);
  await updateMerchant(at.db, { ...merchant, webhookFailingSince: ago(3 * HOUR_MS) }, now);
  const [item, ...others] = await list();
  assert.deepEqual(others, []);
  assert.deepEqual(item, {
    kind: "endpoint_failing",
    severity: "broken",
    count: 2,
    money: [{ currency: "EUR", amount: "1200" }],
    since: ago(3 * HOUR_MS),
    title: "Your endpoint fails",
    detail: "2 events wait. Every attempt has failed for 3 hours; it last answered 503.",
    href: "/deliveries?state=waiting",
  });
  assert.equal(await count(), 1);
  assert.equal((await page(item!.href)).match(/href="\/deliveries\/[0-9a-f]{8}-/g)?.length, 2);
  const paused = { ...merchant, webhookPaused: true, webhookPausedAt: now } as const;
  await updateMerchant(at.db, { ...paused, webhookPausedBy: "dunlin" }, now);
  assert.equal((await list())[0]!.title, "Dunlin paused deliveries to your endpoint");
  await updateMerchant(at.db, { ...paused, webhookPausedBy: "person" }, now);
  assert.deepEqual(await list(), []);
  assert.equal((await findMerchant(at.db, id))!.webhookPaused, true);
});

test("events that Dunlin gave up are counted until they are sent again", async () => {
  const { store, list, count, page } = await shop();
  const opened = await store.openCase({ amount: 900 });
  await store.giveUpEvent(opened, ago(2 * DAY_MS));
  await store.giveUpEvent(opened, ago(HOUR_MS));
  const [item] = await list();
  assert.equal(item!.title, "Dunlin gave up 2 events");
  assert.deepEqual([item!.count, item!.money], [2, [{ currency: "EUR", amount: "900" }]]);
  assert.deepEqual(item!.since, ago(2 * DAY_MS));
  assert.equal(await count(), 1);
  assert.equal((await page(item!.href)).match(/href="\/deliveries\/[0-9a-f]{8}-/g)?.length, 2);
});

test("ingest counts as stopped when no push arrives for twice the usual gap", async () => {
  const { store, list, count } = await shop();
  await store.logPushes(Array.from({ length: 14 * 24 }, (_, i) => ago(i * HOUR_MS + MINUTE_MS)));
  assert.deepEqual(await list(), []);
  assert.deepEqual(await list(ahead(HOUR_MS)), []);
  const later = ahead(6 * HOUR_MS);
  const [item] = await list(later);
  assert.equal(item!.kind, "ingest_stopped");
  assert.deepEqual([item!.count, item!.since], [null, ago(MINUTE_MS)]);
  assert.equal(item!.detail, "The last ones arrived 6 hours ago. Usually the longest gap is 1 hour.");
  assert.equal(await count(later), 1);
  await store.logPushes([later], null);
  assert.equal(await count(later), 1, "a request for the list brings no records");
  await store.logPushes([later]);
  assert.equal(await count(later), 0);
});

test("ingest never counts as stopped for a merchant that began a few days ago", async () => {
  const { store, list } = await shop();
  await store.logPushes(Array.from({ length: 6 * 24 }, (_, i) => ago(i * HOUR_MS)));
  assert.deepEqual(await list(ahead(5 * DAY_MS)), []);
});

test("a connector is listed when it has problems or has not reported for ten minutes", async () => {
  const { id, list, count, page } = await shop();
  const settings = {
    whenOver: "give_back",
    historyDays: 396,
    messages: null,
    publicUrl: null,
    host: "127.0.0.1",
    port: 8444,
    endpointUrl: null,
  } as const;
  await saveConnection(at.db, {
    ...{ merchantId: id, name: "stripe", isLive: false, secrets: Buffer.from("sealed"), settings, localPort: 8444 },
    createdAt: now,
  });
  assert.deepEqual(await list(), []);
  await reportConnection(at.db, id, "stripe", now);
  const silent = ahead(11 * MINUTE_MS);
  assert.equal((await list(silent))[0]!.title, "The Stripe connector does not run");
  assert.equal((await listAttention(at.db, id, silent, 60)).length, 0, "on a fast clock ten minutes are short");
  const insertHint = `insert into connector_hints (merchant_id, connection, object_id, noted_at, due_at, problem)
     values ($1, 'stripe', $2, $3, $3, 'no answer')`;
  for (const object of ["in_1", "in_2"]) await at.db.run(prepared("", insertHint), [id, object, now]);
  const [item] = await list();
  assert.deepEqual([item!.count, item!.detail], [2, "2 steps fail."]);
  assert.equal(await count(), 1);
  assert.equal((await page(item!.href)).match(/no answer/g)?.length, 2);
});

test("cases whose window ends within three days are listed with those on their last retry", async () => {
  const { store, list, count, page } = await shop();
  await store.openCase({ endsAt: ahead(2 * DAY_MS), amount: 2_000, retries: 7 });
  await store.openCase({ endsAt: ahead(5 * HOUR_MS), amount: 300, currency: "USD" });
  await store.openCase({ endsAt: ahead(4 * DAY_MS) });
  await store.openCase({ endsAt: ahead(DAY_MS), arm: "merchant" });
  const [item] = await list();
  assert.equal(item!.title, "Recovery ends within 3 days for 2 invoices");
  assert.equal(item!.detail, "The first ends in 5 hours. 1 of them has one retry left.");
  assert.deepEqual(item!.money, [
    { currency: "EUR", amount: "2000" },
    { currency: "USD", amount: "300" },
  ]);
  assert.equal(await count(), 1);
  assert.match(await page(item!.href), />2 cases, /);
});

test("card changes that have no answer for five days are listed while the case is open", async () => {
  const { store, list, count, page } = await shop();
  await store.requestCardChange(await store.openCase({ amount: 4_000 }), ago(6 * DAY_MS));
  await store.requestCardChange(await store.openCase(), ago(4 * DAY_MS));
  await store.requestCardChange(await store.openCase(), ago(6 * DAY_MS), "EXPIRED");
  // Dunlin also retries the current card, which tells nothing about another one.
  const renewal = describeRenewal(
    { cardChange: "awaited" } as DecisionFacts,
    { group: "EXPIRED" } as InterpretedDecline,
  )!;
  await store.requestCardChange(
    await store.openCase({ amount: 2_000, retries: 1, reasons: [renewal] }),
    ago(6 * DAY_MS),
  );
  // The retry came later, so another card did too.
  await store.requestCardChange(await store.openCase({ retries: 1 }), ago(6 * DAY_MS));
  await store.requestCardChange(await store.openCase({ endedAt: now, endReason: "paid" }), ago(6 * DAY_MS));
  const [item] = await list();
  assert.equal(item!.title, "2 card changes have no answer");
  assert.equal(item!.detail, "Dunlin requested the oldest 6 days ago.");
  assert.deepEqual([item!.count, item!.money], [2, [{ currency: "EUR", amount: "6000" }]]);
  assert.equal(await count(), 1);
  assert.match(await page(item!.href), />2 cases, /);
});

test("invoices with contradictory data are listed, also without a case", async () => {
  const { id, store, list, count, page } = await shop();
  const { invoiceId } = await store.openCase({ amount: 187 });
  const facts = { paid: 187, currency: "EUR", paidAt: now, unpaidAt: now };
  const conflicts = ["inv_0", invoiceId].map((each) => ({
    ...{ invoiceId: each, kind: "paid_but_unpaid", facts, foundAt: now },
  }));
  await saveConflicts(at.db, id, conflicts);
  const [item] = await list();
  assert.equal(item!.title, "2 invoices have contradictory data");
  assert.deepEqual([item!.count, item!.money], [2, [{ currency: "EUR", amount: "187" }]]);
  assert.equal(await count(), 1);
  assert.match(await page(item!.href), /2 invoices need review/);
  assert.match(await page("/invoices.csv?attention=contradictory"), /Contradictory invoices have no file/);
  assert.equal((await page("/invoices.csv?attention=ending")).trim().split("\n").length, 1);
});

test("unknown decline codes are a note, and are not counted", async () => {
  const { id, list, count, page } = await shop();
  const insert = `insert into transactions (merchant_id, id, state, invoice_id, amount, currency, created_at, updated_at,
       payment_gateway_name, payment_gateway_error_code, payment_method_type)
     values ($1, $2, 'FAILED', 'inv_1', 1, 'EUR', $3, $3, 'stripe', 'code_that_nobody_knows', 'card')`;
  for (const transaction of ["t1", "t2"]) await at.db.run(prepared("", insert), [id, transaction, ago(DAY_MS)]);
  const [item] = await list();
  assert.deepEqual([item!.kind, item!.severity, item!.count], ["decline_code_unknown", "note", 1]);
  assert.equal(item!.detail, "2 declines have it in the last 90 days.");
  assert.equal(await count(), 0);
  assert.match(await page(item!.href), /code_that_nobody_knows/);
});

test("large invoices are listed once a merchant says which amount is large", async () => {
  const { id, store, list, page } = await shop();
  await store.openCase({ amount: 50_000 });
  await store.openCase({ amount: 49_999 });
  await store.openCase({ amount: 90_000, currency: "USD" });
  assert.deepEqual(await list(), []);
  await at.db.transaction((tx) => replaceLargeAmounts(tx, id, [{ currency: "EUR", amount: 50_000 }]));
  const [item] = await list();
  assert.equal(item!.title, "1 large invoice is in recovery");
  assert.equal(item!.detail, "Large means at least EUR 500.00.");
  assert.deepEqual(item!.money, [{ currency: "EUR", amount: "50000" }]);
  assert.match(await page(item!.href), />1 case, /);
});

test("the list begins with what is broken", async () => {
  const { id, merchant, store, list } = await shop();
  await at.db.transaction((tx) => replaceLargeAmounts(tx, id, [{ currency: "EUR", amount: 1 }]));
  await store.giveUpEvent(await store.openCase({ endsAt: ahead(DAY_MS) }), now);
  await updateMerchant(at.db, { ...merchant, webhookFailingSince: now }, now);
  assert.deepEqual(
    (await list()).map(({ kind, severity }) => [kind, severity]),
    [
      ["endpoint_failing", "broken"],
      ["instructions_given_up", "broken"],
      ["window_ending", "soon"],
      ["invoice_large", "note"],
    ],
  );
});
