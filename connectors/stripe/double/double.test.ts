import assert from "node:assert/strict";
import { after, test } from "node:test";
import Stripe from "stripe";
import { startStripeDouble } from "./double-server.ts";
import { makePaymentMethod } from "./objects.ts";
import { declineFacts } from "./world-bank.ts";

// Stripe's own package drives the double: requests, answers, errors and signatures are checked by code that is not ours.
const API_VERSION = "2026-10-28.endive";
const DAY_S = 86_400;
const START = Date.UTC(2027, 0, 4, 8) / 1_000;

let nowMs = START * 1_000;
const posted: { body: string; signature: string }[] = [];
const double = await startStripeDouble({
  now: () => new Date(nowMs),
  apiVersion: API_VERSION,
  keys: [
    { secret: "sk_test_double", scopes: null },
    { secret: "rk_test_reader", scopes: new Set(["invoice_read", "charge_read"]) },
  ],
  askBank: () => ({ kind: "approved" }),
  monotonicMs: () => performance.now(),
  perSecond: 10_000,
  webhooks: {
    async post(_url, headers, body) {
      posted.push({ body, signature: headers["stripe-signature"]! });
      return 200;
    },
  },
});
after(() => double.close());
const clientOf = (key: string, over: object = {}) =>
  new Stripe(key, { host: "127.0.0.1", port: double.port, protocol: "http", maxNetworkRetries: 0, ...over });
const stripe = clientOf("sk_test_double");

async function subscribe(token: string, clock?: Stripe.TestHelpers.TestClock) {
  const customer = await stripe.customers.create({ email: "ada@example.com", ...(clock && { test_clock: clock.id }) });
  const method = await stripe.paymentMethods.attach(token, { customer: customer.id });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: method.id } });
  const price = await stripe.prices.create({
    currency: "eur",
    unit_amount: 4900,
    recurring: { interval: "month" },
    product: "prod_beans",
  });
  const subscription = await stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }] });
  return { customer, method, subscription };
}

/** A subscription whose first invoice was attempted. */
async function billed(token: string) {
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: START });
  const made = await subscribe(token, clock);
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: START + 2 * 3_600 });
  const [invoice] = (await stripe.invoices.list({ subscription: made.subscription.id })).data;
  return { ...made, clock, invoice: invoice! };
}
const chargesOf = async (invoice: Stripe.Invoice) => {
  const [payment] = (await stripe.invoicePayments.list({ invoice: invoice.id })).data;
  const intent = payment!.payment.payment_intent as string;
  return (await stripe.charges.list({ payment_intent: intent, limit: 100 })).data;
};
const stripeError = (check: (error: Stripe.errors.StripeError) => void) => (error: unknown) => {
  assert.ok(error instanceof Stripe.errors.StripeError, `${error}`);
  check(error);
  return true;
};

test("a subscription is billed, its invoice is finalized after an hour and paid, and its charge shows the card", async () => {
  const { invoice, subscription } = await billed("pm_card_visa");
  assert.deepEqual([invoice.status, invoice.amount_paid, invoice.amount_remaining], ["paid", 4900, 0]);
  assert.equal(invoice.parent!.subscription_details!.subscription, subscription.id);
  const [charge] = await chargesOf(invoice);
  assert.deepEqual([charge!.status, charge!.payment_method_details!.card!.brand], ["succeeded", "visa"]);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, "active");
});

test("a declined invoice is retried by the account's own schedule, and the subscription ends as set", async () => {
  const { invoice, clock, subscription } = await billed("pm_card_visa_chargeDeclinedInsufficientFunds");
  assert.deepEqual([invoice.status, invoice.attempt_count], ["open", 1]);
  assert.equal(invoice.next_payment_attempt, invoice.status_transitions.finalized_at! + DAY_S);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, "past_due");
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: START + 16 * DAY_S });
  const later = await stripe.invoices.retrieve(invoice.id);
  assert.deepEqual([later.attempt_count, later.next_payment_attempt], [8, null]);
  const charges = await chargesOf(invoice);
  assert.equal(charges.length, 8);
  assert.deepEqual(
    [charges[0]!.failure_code, charges[0]!.outcome!.reason, charges[0]!.outcome!.network_decline_code],
    ["card_declined", "insufficient_funds", "51"],
  );
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, "canceled");
});

test("auto_advance=false stops the account's own retries, and true takes them up again", async () => {
  const { invoice, clock } = await billed("pm_card_visa_chargeDeclinedInsufficientFunds");
  const paused = await stripe.invoices.update(invoice.id, { auto_advance: false, metadata: { dunlin: "yes" } });
  assert.deepEqual(
    [paused.auto_advance, paused.next_payment_attempt, paused.metadata],
    [false, null, { dunlin: "yes" }],
  );
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: START + 5 * DAY_S });
  assert.equal((await chargesOf(invoice)).length, 1);
  const resumed = await stripe.invoices.update(invoice.id, { auto_advance: true, metadata: { dunlin: "" } });
  assert.ok(resumed.next_payment_attempt! > START + 5 * DAY_S);
  assert.deepEqual(resumed.metadata, {});
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: START + 16 * DAY_S });
  assert.ok((await chargesOf(invoice)).length > 1);
});

test("pay answers 402 with codes and charge, does not raise attempt_count, and replays under its key for a day", async () => {
  const { invoice } = await billed("pm_card_visa_chargeDeclinedLostCard");
  const pay = (key: string) => stripe.invoices.pay(invoice.id, { off_session: true }, { idempotencyKey: key });
  const seen: string[] = [];
  const isDeclined = stripeError((error) => {
    assert.ok(error instanceof Stripe.errors.StripeCardError);
    assert.deepEqual([error.statusCode, error.code, error.decline_code], [402, "card_declined", "lost_card"]);
    seen.push(error.charge as string);
  });
  await assert.rejects(pay("action-1"), isDeclined);
  await assert.rejects(pay("action-1"), isDeclined);
  assert.equal(seen[0], seen[1], "the same charge");
  assert.equal((await chargesOf(invoice)).length, 2);
  await assert.rejects(pay("action-2"), isDeclined);
  assert.equal((await chargesOf(invoice)).length, 3);
  await assert.rejects(
    stripe.invoices.pay(invoice.id, { off_session: false }, { idempotencyKey: "action-2" }),
    stripeError(({ type }) => assert.equal(type, "StripeIdempotencyError")),
  );
  nowMs += 25 * 3_600_000;
  await assert.rejects(pay("action-1"), isDeclined);
  assert.equal((await chargesOf(invoice)).length, 4, "a day later the key is forgotten");
  assert.equal((await stripe.invoices.retrieve(invoice.id)).attempt_count, 1);
});

test("a new card on the subscription is charged before the customer's, and a paid invoice is not charged again", async () => {
  const { invoice, customer, subscription } = await billed("pm_card_chargeDeclined");
  const good = await stripe.paymentMethods.attach("pm_card_mastercard", { customer: customer.id });
  await stripe.subscriptions.update(subscription.id, { default_payment_method: good.id });
  const paid = await stripe.invoices.pay(invoice.id);
  assert.equal(paid.status, "paid");
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, "active");
  await assert.rejects(
    stripe.invoices.pay(invoice.id),
    stripeError(({ message, statusCode }) => {
      assert.match(message, /already paid/);
      assert.equal(statusCode, 400);
    }),
  );
});

test("invoices are marked uncollectible or void, credited and refunded", async () => {
  const { invoice } = await billed("pm_card_chargeDeclined");
  const credit = await stripe.creditNotes.create({ invoice: invoice.id, amount: 900 });
  assert.equal(credit.amount, 900);
  assert.equal((await stripe.invoices.retrieve(invoice.id)).amount_remaining, 4000);
  assert.equal((await stripe.invoices.markUncollectible(invoice.id)).status, "uncollectible");
  assert.equal((await stripe.invoices.voidInvoice(invoice.id)).status, "void");
  const { invoice: paid } = await billed("pm_card_visa");
  const [charge] = await chargesOf(paid);
  const refund = await stripe.refunds.create({ charge: charge!.id, amount: 1000 });
  assert.deepEqual([refund.status, refund.amount], ["succeeded", 1000]);
  assert.equal((await stripe.charges.retrieve(charge!.id)).amount_refunded, 1000);
  await assert.rejects(
    stripe.refunds.create({ charge: charge!.id, amount: 9000 }),
    Stripe.errors.StripeInvalidRequestError,
  );
});

test("lists are walked by cursor without gaps, filtered by date and status, and expanded", async () => {
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: START });
  const { subscription } = await subscribe("pm_card_visa", clock);
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: START + 400 * DAY_S });
  const filter = { subscription: subscription.id };
  const all = await stripe.invoices.list({ ...filter, limit: 3 }).autoPagingToArray({ limit: 100 });
  assert.equal(all.length, 14);
  assert.equal(new Set(all.map(({ id }) => id)).size, 14);
  assert.ok(all[0]!.created > all.at(-1)!.created, "newest first");
  const since = START + 200 * DAY_S;
  const recent = await stripe.invoices.list({ ...filter, created: { gte: since }, limit: 100 });
  assert.equal(recent.data.length, all.filter(({ created }) => created >= since).length);
  assert.equal((await stripe.invoices.list({ ...filter, status: "open" })).data.length, 0);
  const expanded = await stripe.invoices.retrieve(all[1]!.id, { expand: ["payments", "customer"] });
  assert.equal(expanded.payments!.data.length, 1);
  assert.equal((expanded.customer as Stripe.Customer).email, "ada@example.com");
  await assert.rejects(stripe.invoices.list({ limit: 101 }), Stripe.errors.StripeInvalidRequestError);
});

test("events are listed for thirty days, and webhooks are signed for the package", async () => {
  const endpoint = await stripe.webhookEndpoints.create({
    url: "https://shop.example/stripe",
    enabled_events: ["invoice.paid", "invoice.payment_failed"],
  });
  posted.length = 0;
  const { invoice } = await billed("pm_card_visa");
  await double.runDue();
  const events = posted.map(({ body, signature }) =>
    stripe.webhooks.constructEvent(body, signature, endpoint.secret!, 300, undefined, nowMs),
  );
  assert.deepEqual(
    events.map(({ type }) => type),
    ["invoice.paid"],
  );
  assert.equal((events[0]!.data.object as Stripe.Invoice).id, invoice.id);
  assert.throws(() =>
    stripe.webhooks.constructEvent(posted[0]!.body, posted[0]!.signature, "whsec_other", 300, undefined, nowMs),
  );
  const listed = await stripe.events.list({ type: "invoice.paid", limit: 1 });
  assert.equal(listed.data[0]!.id, events[0]!.id);
  nowMs += 31 * DAY_S * 1_000;
  await billed("pm_card_visa");
  const oldest = (await stripe.events.list({ limit: 100 }).autoPagingToArray({ limit: 1_000 })).at(-1)!;
  assert.ok(oldest.created >= nowMs / 1_000 - 30 * DAY_S);
  await stripe.webhookEndpoints.del(endpoint.id);
});

test("keys, permissions, versions, unknown objects and rates are refused as Stripe refuses them", async () => {
  await assert.rejects(
    clientOf("sk_test_wrong").rawRequest("GET", "/v1/account"),
    Stripe.errors.StripeAuthenticationError,
  );
  const reader = clientOf("rk_test_reader");
  assert.ok((await reader.invoices.list()).data.length > 0);
  await assert.rejects(
    reader.customers.create({}),
    stripeError((error) => {
      assert.ok(error instanceof Stripe.errors.StripePermissionError);
      assert.match(error.message, /'rak_customer_write' permission/);
    }),
  );
  await assert.rejects(
    clientOf("sk_test_double", { apiVersion: "2020-08-27" }).invoices.list(),
    stripeError(({ message }) => assert.match(message, /Invalid Stripe API version/)),
  );
  await assert.rejects(
    stripe.invoices.retrieve("in_none"),
    stripeError(({ code, statusCode }) => assert.deepEqual([code, statusCode], ["resource_missing", 404])),
  );
  const limited = await startStripeDouble({
    now: () => new Date(nowMs),
    apiVersion: API_VERSION,
    keys: [{ secret: "sk_test_double", scopes: null }],
    askBank: () => ({ kind: "approved" }),
    monotonicMs: () => 0,
    perSecond: 2,
  });
  const client = new Stripe("sk_test_double", {
    host: "127.0.0.1",
    port: limited.port,
    protocol: "http",
    maxNetworkRetries: 0,
  });
  await client.rawRequest("GET", "/v1/account");
  await client.rawRequest("GET", "/v1/account");
  await assert.rejects(client.rawRequest("GET", "/v1/account"), Stripe.errors.StripeRateLimitError);
  await limited.close();
});

test("every object is read by its id and in its list", async () => {
  const { invoice, customer, method, clock } = await billed("pm_card_visa");
  const [payment] = (await stripe.invoicePayments.list({ invoice: invoice.id })).data;
  const intent = await stripe.paymentIntents.retrieve(payment!.payment.payment_intent as string, {
    expand: ["latest_charge"],
  });
  assert.equal((intent.latest_charge as Stripe.Charge).payment_intent, intent.id);
  assert.equal((await stripe.invoicePayments.retrieve(payment!.id)).status, "paid");
  assert.equal((await stripe.paymentMethods.retrieve(method.id)).customer, customer.id);
  assert.equal((await stripe.paymentMethods.list({ customer: customer.id })).data.length, 1);
  assert.equal((await stripe.paymentIntents.list({ customer: customer.id })).data[0]!.id, intent.id);
  assert.equal((await stripe.customers.retrieve(customer.id)).id, customer.id);
  assert.ok((await stripe.customers.list({ email: "ada@example.com", limit: 2 })).has_more);
  assert.ok((await stripe.subscriptions.list({ customer: customer.id })).data.length === 1);
  assert.equal((await stripe.testHelpers.testClocks.retrieve(clock.id)).status, "ready");
  assert.ok((await stripe.testHelpers.testClocks.list()).data.length > 1);
  const [event] = (await stripe.events.list({ types: ["invoice.paid", "invoice.created"], limit: 1 })).data;
  assert.equal((await stripe.events.retrieve(event!.id)).type, event!.type);
  const endpoint = await stripe.webhookEndpoints.create({ url: "https://a.example", enabled_events: ["*"] });
  const moved = await stripe.webhookEndpoints.update(endpoint.id, { url: "https://b.example", disabled: true });
  assert.deepEqual([moved.url, moved.status], ["https://b.example", "disabled"]);
  assert.equal((await stripe.webhookEndpoints.retrieve(endpoint.id)).id, endpoint.id);
  assert.equal((await stripe.webhookEndpoints.list()).data.length, 1);
  assert.ok((await stripe.refunds.list()).data.length > 0 && (await stripe.creditNotes.list()).data.length > 0);
  assert.deepEqual((await stripe.disputes.list()).data, []);
});

test("an invoice of its own is finalized, and paid outside of Stripe", async () => {
  const { customer } = await subscribe("pm_card_visa");
  const invoice = await stripe.invoices.create({ customer: customer.id });
  await stripe.invoiceItems.create({ customer: customer.id, invoice: invoice.id, amount: 700, currency: "usd" });
  assert.equal((await stripe.invoices.finalizeInvoice(invoice.id)).status, "open");
  const paid = await stripe.invoices.pay(invoice.id, { paid_out_of_band: true });
  assert.deepEqual([paid.status, paid.amount_paid], ["paid", 700]);
  assert.equal(
    (await stripe.subscriptions.cancel((await stripe.subscriptions.list({ customer: customer.id })).data[0]!.id))
      .status,
    "canceled",
  );
});

test("a debit is pending for days, and its failure comes late", async () => {
  const failing = await startStripeDouble({
    now: () => new Date(nowMs),
    apiVersion: API_VERSION,
    keys: [{ secret: "sk_test_double", scopes: null }],
    askBank: () => ({ kind: "pending", days: 4, decline: declineFacts("sepa_funds") }),
    monotonicMs: () => performance.now(),
  });
  const client = new Stripe("sk_test_double", { host: "127.0.0.1", port: failing.port, protocol: "http" });
  const customer = await client.customers.create({});
  const debit = failing.account.add(makePaymentMethod(failing.account, customer.id, "sepa_debit", null));
  await client.customers.update(customer.id, { invoice_settings: { default_payment_method: debit.id } });
  const created = await client.invoices.create({ customer: customer.id });
  await client.invoiceItems.create({ customer: customer.id, invoice: created.id, amount: 700, currency: "usd" });
  const invoice = await client.invoices.pay(created.id);
  assert.equal(invoice.status, "open");
  const charge = async () => (await client.charges.list()).data[0]!;
  assert.equal((await charge()).status, "pending");
  await assert.rejects(client.invoices.pay(created.id), /still processing/);
  nowMs += 5 * DAY_S * 1_000;
  assert.deepEqual([(await charge()).status, (await charge()).outcome!.network_decline_code], ["failed", "AM04"]);
  await failing.close();
});

test("the package made at least 60 calls to 40 operations", () => {
  const calls = [...double.requests.values()].reduce((sum, count) => sum + count, 0);
  assert.ok(calls >= 60, `${calls}`);
  assert.ok(double.requests.size >= 40, `${double.requests.size}: ${[...double.requests.keys()].join(", ")}`);
});
