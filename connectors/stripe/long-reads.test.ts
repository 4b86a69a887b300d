import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type Stripe from "stripe";
import { prepared } from "../../src/postgres/database.ts";
import { listConnectorProblems } from "../../src/tables/connections.ts";
import { runService, type Service } from "../../test/contract/running-service.ts";
import { type ConnectedShop, connectShop } from "./connected-shop.fixture.ts";
import { makePaymentMethod } from "./double/objects.ts";
import { declineFacts, testCardOf } from "./double/world-bank.ts";

// What a connector reads when an account rests for long, an answer fails, or Dunlin refuses a record.
let service: Service;
before(async () => {
  service = await runService();
});
after(() => service?.stop());
const HOUR_S = 3_600;
const DAY_MS = 24 * HOUR_S * 1_000;
const INVOICES = prepared("test_outage_invoices", "select id from invoices where merchant_id = $1");
const TRANSACTIONS = prepared("test_outage_transactions", "select id, state from transactions where merchant_id = $1");
const SUBSCRIPTIONS = prepared("test_outage_subscriptions", "select id from subscriptions where merchant_id = $1");

/** Dunlin's records of a shop. */
async function storedOf({ shop }: ConnectedShop) {
  const read = async (statement: typeof INVOICES) =>
    (await service.store.db.run<{ id: string; state?: string }>(statement, [shop.id])).rows;
  return {
    invoices: await read(INVOICES),
    transactions: await read(TRANSACTIONS),
    subscriptions: await read(SUBSCRIPTIONS),
  };
}

async function makeCustomer({ stripe }: ConnectedShop, fields: Stripe.CustomerCreateParams = {}) {
  const customer = await stripe.customers.create(fields);
  const method = await stripe.paymentMethods.attach("pm_card_visa", { customer: customer.id });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: method.id } });
  return customer;
}

/** Invoices as the account's own billing makes them: some are paid, others failed. */
async function billCustomers(connected: ConnectedShop, count: number): Promise<Stripe.Invoice[]> {
  const { stripe } = connected;
  const at = Math.floor(service.now().getTime() / 1_000) - 60 * 24 * HOUR_S;
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: at });
  const price = await stripe.prices.create({
    ...{ currency: "eur", unit_amount: 4900, recurring: { interval: "week" }, product: "prod_beans" },
  });
  for (let number = 0; number < count; number++) {
    const customer = await makeCustomer(connected, { test_clock: clock.id });
    await stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }] });
  }
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: at + 58 * 24 * HOUR_S });
  return (await stripe.invoices.list({ limit: 100 }).autoPagingToArray({ limit: 10_000 })) as Stripe.Invoice[];
}

test("an account without events for months reads its history again once, after a rest of a month and not while it is polled", async (t) => {
  let now = service.now();
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "approved" }),
    settings: { endpoint: false },
    over: { now: () => now },
  });
  t.after(connected.close);
  const { connector, store } = connected;
  const readHistory = async () => {
    let pages = 0;
    while ((await connector.backfillPage(395)).phase !== "done") pages++;
    return pages;
  };
  const wait = async (days: number) => {
    now = new Date(now.getTime() + days * DAY_MS);
    await connector.pollEvents();
    return readHistory();
  };
  await readHistory();
  assert.deepEqual([await wait(0), await wait(10), await wait(10), await wait(20), await wait(20)], [0, 0, 0, 0, 0]);
  assert.deepEqual([await wait(31), await wait(0), await wait(1)], [2, 0, 0]);

  // Stripe does not answer in the poll after the rest.
  now = new Date(now.getTime() + 40 * DAY_MS);
  connected.double.account.emit("customer.updated", { id: "cus_x", object: "customer" });
  connected.double.setDown(true);
  await assert.rejects(connector.pollEvents());
  connected.double.setDown(false);
  assert.equal(await readHistory(), 2);
  now = new Date(now.getTime() + 1_000);
  await connector.pollEvents();
  assert.equal(await readHistory(), 0, "history begins again once");
  assert.ok(Number(await store.readCursor("events")) > now.getTime() / 1_000 - 2 * HOUR_S);
});

test("an event whose charge cannot be looked up keeps no other event waiting, and is looked up again", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "approved" }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { connector, store, stripe, double } = connected;
  await connector.pollEvents();
  const customer = await makeCustomer(connected);
  const invoice = await stripe.invoices.create({ customer: customer.id });
  await stripe.invoiceItems.create({ customer: customer.id, invoice: invoice.id, amount: 4900, currency: "usd" });
  double.billing.finalize(double.account.get("invoice", invoice.id));
  await stripe.invoices.pay(invoice.id);
  const [charge] = (await stripe.charges.list({ customer: customer.id })).data;
  await connector.pollEvents();
  while ((await connector.drainHints()) > 0);
  const stored = async () => (await storedOf(connected)).transactions.length;
  assert.equal(await stored(), 1);

  double.account.emit("customer.updated", { ...customer, object: "customer" });
  await stripe.refunds.create({ charge: charge!.id });
  let isBroken = true;
  double.onAnswer((route) => isBroken && route === "GET /v1/invoice_payments");
  // The newest event first, so the customer's comes after the one that fails.
  assert.ok((await connector.pollEvents()) > 0);
  while ((await connector.drainHints()) > 0);
  const { waiting, failing } = await store.countBacklog(service.now());
  assert.deepEqual([waiting, failing], [1, 1], "the charge alone");
  isBroken = false;
  const later = new Date(service.now().getTime() + HOUR_S * 1_000);
  const [hint] = await store.claimHints(1, later, service.now());
  assert.match(hint!.objectId, /^pi_/);
  while ((await connector.drainHints()) > 0);
  assert.equal((await store.countBacklog(service.now())).waiting, 0);
  const { transactions } = await storedOf(connected);
  assert.deepEqual(
    transactions.map(({ state }) => state),
    ["REFUNDED"],
  );
});

test("a record that Dunlin refuses keeps no page of history back, and fails by itself", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "approved" }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { stripe, connector, store, double } = connected;
  const hourAgo = Math.floor(service.now().getTime() / 1_000) - HOUR_S;
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: hourAgo });
  const ahead = await stripe.testHelpers.testClocks.create({ frozen_time: hourAgo + 49 * HOUR_S });
  const price = await stripe.prices.create({
    currency: "eur",
    unit_amount: 4900,
    recurring: { interval: "month" },
    product: "p",
  });
  const subscribe = async (test_clock: string) => {
    const customer = await makeCustomer(connected, { test_clock });
    return await stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }] });
  };
  const [good, bad, other] = [await subscribe(clock.id), await subscribe(ahead.id), await subscribe(clock.id)];
  for (const id of [clock.id, ahead.id]) {
    const { frozen_time } = await stripe.testHelpers.testClocks.retrieve(id);
    await stripe.testHelpers.testClocks.advance(id, { frozen_time: frozen_time + 1 });
  }
  for (const { id } of double.account.list<Stripe.Invoice>("invoice").filter(({ status }) => status === "draft"))
    await stripe.invoices.pay(id);
  let pages = 0;
  while ((await connector.backfillPage(395)).phase !== "done") assert.ok(++pages < 5);
  const { invoices, transactions, subscriptions } = await storedOf(connected);
  assert.deepEqual([invoices.length, transactions.length], [2, 2]);
  assert.deepEqual(subscriptions.map(({ id }) => id).sort(), [good.id, other.id].sort());
  const problems = await listConnectorProblems(service.store.db, connected.shop.id, "stripe", 10, service.now());
  assert.deepEqual(
    problems.map(({ kind, id }) => [kind, id]).sort(),
    [
      ["change", (await stripe.invoices.list({ subscription: bad.id })).data[0]!.id],
      ["change", bad.id],
    ].sort(),
  );
  for (const { problem } of problems) assert.match(problem, /in the future.*test clock.*ahead of the present time/);
  assert.equal((await store.countBacklog(service.now())).failing, 2);
});

test("history goes on by date when the object at which a page ended was deleted", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "approved" }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { stripe, connector, store, double } = connected;
  const invoices = await billCustomers(connected, 20);
  for (let progress = await connector.backfillPage(395); progress.phase !== "invoices"; )
    progress = await connector.backfillPage(395);
  await connector.backfillPage(395);
  double.account.remove(JSON.parse((await store.readCursor("backfill"))!).after);
  await assert.rejects(stripe.invoices.list({ starting_after: invoices[99]!.id }), /No such object/);
  while ((await connector.backfillPage(395)).phase !== "done");
  assert.equal((await storedOf(connected)).invoices.length, invoices.filter(({ status }) => status === "paid").length);
});

test("a card that is a customer's default source counts as the method of the next charge", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "declined", decline: declineFacts("lost") }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { stripe, connector, store, double, mark, dunlin } = connected;
  const addCard = (customerId: string, id: string, token: string) =>
    double.account.add({ ...makePaymentMethod(double.account, customerId, "card", testCardOf(token)!.card), id });
  const { id: customer } = await stripe.customers.create({});
  addCard(customer, "card_old", "pm_card_visa");
  await stripe.customers.update(customer, { default_source: "card_old" });
  const { id } = await stripe.invoices.create({ customer });
  await stripe.invoiceItems.create({ customer, invoice: id, amount: 4900, currency: "usd" });
  double.billing.finalize(double.account.get("invoice", id));
  await stripe.invoices.pay(id).catch(() => {});
  await stripe.invoices.update(id, { auto_advance: false, metadata: { dunlin: mark } });
  await store.own(id, service.now());
  await store.hint([id], service.now());
  while ((await connector.drainHints()) > 0);
  assert.equal((await dunlin.invoices.explain(id)).recovery, "RECOVERY_OPEN");
  assert.equal((await storedOf(connected)).transactions.length, 1);
  addCard(customer, "card_new", "pm_card_mastercard");
  await stripe.customers.update(customer, { default_source: "card_new" });
  await store.hint([customer], service.now());
  while ((await connector.drainHints()) > 0);
  assert.ok((await storedOf(connected)).transactions.some((each) => each.id === `card_new/${id}`));
});
