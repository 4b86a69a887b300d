import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type Stripe from "stripe";
import { prepared } from "../../src/postgres/database.ts";
import { runService, type Service } from "../../test/contract/running-service.ts";
import { createOptOutLinks } from "../kit/messages/opt-out.ts";
import { createMessages, type OutgoingMail } from "../kit/messages/send-messages.ts";
import { loadTemplates } from "../kit/messages/templates.ts";
import { type ConnectedShop, connectShop } from "./connected-shop.fixture.ts";
import type { AskBank } from "./double/payments.ts";
import { signWebhook } from "./double/webhook-sender.ts";
import { declineFacts } from "./double/world-bank.ts";
import { followEvent } from "./follow-dunlin.ts";
import { readMessageFacts } from "./message-facts.ts";

// The parts of a connection one by one, at the speed of real time.
let service: Service;
before(async () => {
  service = await runService();
});
after(() => service?.stop());
const NO_MONEY = declineFacts("insufficient_funds");
const LOST = declineFacts("lost");
const HOUR_S = 3_600;
const INVOICES = prepared("test_connected_invoices", "select id, state from invoices where merchant_id = $1");
const TRANSACTIONS = prepared("test_connected_transactions", "select id from transactions where merchant_id = $1");

/** Dunlin's records of a shop. */
const storedOf = async ({ shop }: ConnectedShop) => ({
  invoices: (await service.store.db.run<{ state: string }>(INVOICES, [shop.id])).rows,
  transactions: (await service.store.db.run(TRANSACTIONS, [shop.id])).rows,
});

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

test("history is read by lists, goes on after a crash, and an open invoice is read with its attempts", async (t) => {
  const askBank: AskBank = ({ at }) =>
    at.getTime() > service.now().getTime() - 9 * 24 * HOUR_S * 1_000
      ? { kind: "declined", decline: NO_MONEY }
      : { kind: "approved" };
  const connected = await connectShop(service, { askBank, settings: { endpoint: false, windowDays: 28 } });
  t.after(connected.close);
  const { connector, double, dunlin, stripe } = connected;
  const invoices = await billCustomers(connected, 20);
  const charges = await stripe.charges.list({ limit: 100 }).autoPagingToArray({ limit: 10_000 });
  double.requests.clear();
  const seen: string[] = [];
  for (let progress = await connector.backfillPage(395); ; progress = await connector.backfillPage(395)) {
    seen.push(progress.phase);
    if (progress.phase === "done") break;
    // The cursor is all that a process which dies leaves to the next one.
    const cursor = await connected.store.readCursor("backfill");
    if (seen.length === 2) {
      await connector.backfillPage(395);
      await connected.store.writeCursor("backfill", cursor!);
    }
    assert.ok(progress.share >= 0 && progress.share <= 1);
  }
  const calls = [...double.requests.values()].reduce((sum, each) => sum + each, 0);
  assert.ok(calls < 12, `${calls} calls for ${invoices.length} invoices and ${charges.length} charges`);
  while ((await connector.drainHints()) > 0);
  const stored = await storedOf(connected);
  const ended = invoices.filter(({ status }) => status !== "open" && status !== "draft");
  const open = invoices.filter(({ status }) => status === "open");
  assert.ok(ended.length > 100 && open.length >= 20, `${ended.length} ended and ${open.length} open`);
  assert.equal(stored.invoices.filter(({ state }) => state === "PAID").length, ended.length);
  assert.equal(stored.invoices.filter(({ state }) => state === "UNPAID").length, open.length);
  assert.equal(stored.transactions.length, charges.length);
  assert.equal((await dunlin.invoices.explain(open[0]!.id)).recovery, "RECOVERY_OPEN");
});

/** An open invoice whose charge failed, as Dunlin handles it. */
async function failedInvoice(connected: ConnectedShop, fields: Stripe.CustomerCreateParams = {}) {
  const { stripe, double, store, mark } = connected;
  const customer = await makeCustomer(connected, fields);
  const created = await stripe.invoices.create({ customer: customer.id });
  await stripe.invoiceItems.create({ customer: customer.id, invoice: created.id, amount: 4900, currency: "usd" });
  double.billing.finalize(double.account.get("invoice", created.id));
  await stripe.invoices.pay(created.id).catch(() => {});
  await stripe.invoices.update(created.id, { auto_advance: false, metadata: { dunlin: mark } });
  await store.own(created.id, service.now());
  await store.hint([created.id], service.now());
  await connected.connector.drainHints();
  return { invoiceId: created.id, customerId: customer.id };
}

test("a card that the customer changed is told to Dunlin, which plans a retry instead of waiting for a card", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "declined", decline: LOST }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { stripe, connector, store, shop } = connected;
  const { invoiceId, customerId } = await failedInvoice(connected);
  const plans = async () => (await shop.actions({ invoiceId })).map(({ type, status }) => `${type} ${status}`);
  await connected.until(async () => (await plans()).some((plan) => /CARD_CHANGE/.test(plan)), "the request for a card");
  const fresh = await stripe.paymentMethods.attach("pm_card_mastercard", { customer: customerId });
  await stripe.customers.update(customerId, { invoice_settings: { default_payment_method: fresh.id } });
  await store.hint([customerId], service.now());
  await connector.drainHints();
  await connector.drainHints();
  await connected.until(
    async () => (await plans()).some((plan) => /TYPE_RETRY RECOVERY_ACTION_STATUS_SCHEDULED/.test(plan)),
    "the plan to retry",
  );
  const before = (await storedOf(connected)).transactions.length;
  await store.hint([customerId], service.now());
  await connector.drainHints();
  await connector.drainHints();
  assert.equal((await storedOf(connected)).transactions.length, before, "it is told once");
});

test("mails ask for another card in the customer's language, at most so often, and end with the customer's wish", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "declined", decline: LOST }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { store, connector } = connected;
  const mails: OutgoingMail[] = [];
  let refusals = 1;
  let now = service.now();
  const links = createOptOutLinks("https://pay.example", ["a secret"]);
  const messages = createMessages({
    ...{ store, links, now: () => now, policy: { quietHours: { zone: "UTC", from: 0, to: 0 }, most: 2, everyDays: 4 } },
    templates: loadTemplates([join(import.meta.dirname, "../kit/messages/texts")]),
    readFacts: (invoiceId) => readMessageFacts(connector.account, invoiceId),
    async sendMail(mail) {
      if (refusals-- > 0) return "the mail server rejected the message";
      mails.push(mail);
      return null;
    },
  });
  const wait = async (days: number) => {
    now = new Date(now.getTime() + days * 24 * HOUR_S * 1_000);
    await messages.sendDue();
  };
  const ask = ({ invoiceId, customerId }: { invoiceId: string; customerId: string }, id: string) =>
    messages.askForCard({ id, invoiceId } as never, customerId);
  const ada = await failedInvoice(connected, { email: "ada@example.com", name: "Ada", preferred_locales: ["de_DE"] });
  assert.equal(await ask(ada, "action-1"), null);
  await wait(0);
  assert.equal(mails.length, 0, "the server refused");
  await wait(1);
  const [first] = mails;
  assert.deepEqual([first!.to, mails.length], ["ada@example.com", 1]);
  assert.match(first!.subject, /hat nicht geklappt/);
  assert.match(first!.text, /Visa …4242 für die Rechnung HC-.* über 49,00/);
  assert.match(first!.text, new RegExp(`https://invoice\\.stripe\\.example/i/.*/${ada.invoiceId}`));
  await wait(4);
  await wait(10);
  assert.equal(mails.length, 2, "a reminder, and no more");
  assert.match((await ask(ada, "action-2"))!, /was asked 2 times already/);

  const bob = await failedInvoice(connected, { email: "bob@example.com", name: "Bob" });
  assert.equal(await ask(bob, "action-3"), null);
  const path = new URL(/https:\/\/pay\.example\/unsubscribe\/\S+/.exec(first!.text)![0]).pathname;
  assert.equal(links.read(path), ada.customerId);
  assert.equal(links.read(path.replace(/.$/, "x")), null);
  await store.messages.optOut(bob.customerId, now);
  await wait(1);
  assert.equal(mails.length, 2, "Bob wants no mails");
  assert.match((await ask(bob, "action-4"))!, /wants no mails/);

  const carol = await failedInvoice(connected, { email: "carol@example.com" });
  assert.equal(await ask(carol, "action-5"), null);
  await connected.stripe.invoices.pay(carol.invoiceId, { paid_out_of_band: true });
  await wait(1);
  assert.equal(mails.length, 2, "Carol has paid meanwhile");
});

test("a mail that may have been sent when the process died is not sent again", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "declined", decline: LOST }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { store } = connected;
  const at = service.now();
  await store.messages.plan([{ id: "m-1", invoiceId: "in_1", customerId: "cus_1", number: 1, dueAt: at }]);
  assert.equal(await store.messages.begin("m-1", at), true);
  assert.equal(await store.messages.begin("m-1", at), false);
  const messages = createMessages({
    ...{ store, links: createOptOutLinks("https://pay.example", ["s"]), now: service.now },
    policy: { quietHours: { zone: "UTC", from: 0, to: 0 }, most: 3, everyDays: 4 },
    templates: loadTemplates([join(import.meta.dirname, "../kit/messages/texts")]),
    readFacts: async () => assert.fail("it is not sent"),
    sendMail: async () => assert.fail("it is not sent"),
  });
  assert.equal(await messages.sendDue(), 1);
  assert.equal(await messages.sendDue(), 0);
});

test("webhooks are taken with the old and the new secret during a rotation, and refused when forged, late or of the other mode", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "approved" }),
    settings: { endpoint: false },
    over: { webhookSecrets: ["whsec_old", "whsec_new"] },
  });
  t.after(connected.close);
  const { connector, store } = connected;
  const event = (id: string, livemode = false) =>
    JSON.stringify({
      ...{ id, object: "event", type: "invoice.paid", livemode, created: Math.floor(service.now().getTime() / 1_000) },
      data: { object: { id: "in_hooked", object: "invoice" } },
    });
  const send = (body: string, secret: string, ageS = 0) =>
    connector.receive(body, signWebhook(secret, body, Math.floor(service.now().getTime() / 1_000) - ageS));
  const hinted = async () => (await store.countBacklog(service.now())).waiting;
  assert.equal(await send(event("evt_1"), "whsec_other"), 400);
  assert.equal(await connector.receive(event("evt_1"), undefined), 400);
  assert.equal(await send(event("evt_1"), "whsec_old", 301), 400);
  assert.equal(await hinted(), 0);
  assert.equal(await send(event("evt_live", true), "whsec_old"), 200);
  assert.equal(await hinted(), 0, "an event of live mode changes nothing here");
  assert.equal(await send(event("evt_1"), "whsec_old"), 200);
  assert.equal(await send(event("evt_2"), "whsec_new"), 200);
  assert.equal(await send(event("evt_2"), "whsec_new"), 200);
  assert.equal(await hinted(), 1, "one object to read, however often it is told");
});

test("an end that comes before its start, or twice, leaves no invoice without retries", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "approved" }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { store } = connected;
  const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 12, minute));
  assert.equal(await store.disown("in_a", at(5)), true);
  await store.own("in_a", at(1));
  assert.equal(await store.isOwned("in_a"), false);
  assert.equal(await store.disown("in_a", at(5)), true, "a try that died before the release");
  await store.endRelease("in_a", at(6));
  assert.equal(await store.disown("in_a", at(5)), false);
  await store.own("in_a", at(7));
  assert.equal(await store.isOwned("in_a"), true);
  assert.equal(await store.disown("in_a", at(5)), false, "an older end");
  assert.equal(await store.isOwned("in_a"), true);
});

test("a record that was read earlier never replaces one that was read later", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "approved" }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { store } = connected;
  const at = new Date("2026-03-01T12:00:00Z");
  const version = async (digest: string, readNo: number) =>
    (await store.versionsOf([{ objectId: "in_b", digest, at }], readNo)).get("in_b")?.toISOString();
  const [early, late] = [await store.beginRead(), await store.beginRead()];
  assert.equal(await version("paid", late), "2026-03-01T12:00:00.000Z");
  assert.equal(await version("open", early), undefined);
  assert.equal(await version("paid", await store.beginRead()), "2026-03-01T12:00:00.000Z");
  assert.equal(await version("refunded", await store.beginRead()), "2026-03-01T12:00:00.001Z");
});

test("an invoice whose end comes while it is taken over keeps neither the mark nor its retries off", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "declined", decline: NO_MONEY }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { stripe, store, mark, connector } = connected;
  const at = (minute: number) => new Date(service.now().getTime() + minute * 60_000);
  const event = (type: string, invoiceId: string, created: Date) =>
    ({ id: `${type} ${invoiceId}`, type, created: created.toISOString(), data: { invoiceId } }) as never;
  const following = {
    ...{ account: connector.account, store, mark, completeDunning: "give_back" as const, hint: async () => {} },
    readEndReason: async () => null,
  };
  const shown = async (id: string) => {
    const { auto_advance, metadata } = await stripe.invoices.retrieve(id);
    return [auto_advance, metadata?.dunlin, await store.isOwned(id)];
  };
  const { invoiceId } = await failedInvoice(connected);
  await store.disown(invoiceId, at(0));
  await store.endRelease(invoiceId, at(0));
  await stripe.invoices.update(invoiceId, { auto_advance: true, metadata: { dunlin: "" } });

  // The end is handled between the last check and the mark.
  const racing = {
    ...following.account,
    async markInvoice(id: string, value: string, isRetried?: boolean) {
      if (value !== "") await followEvent(following, event("recovery_ended", id, at(2)), at(3));
      await following.account.markInvoice(id, value, isRetried);
    },
  };
  await followEvent({ ...following, account: racing }, event("pause_collection", invoiceId, at(1)), at(3));
  assert.deepEqual(await shown(invoiceId), [true, undefined, false]);

  // The process dies right after the mark, and the event comes again.
  const dying = {
    ...racing,
    async markInvoice(id: string, value: string, isRetried?: boolean) {
      await racing.markInvoice(id, value, isRetried);
      throw new Error("died");
    },
  };
  const again = event("pause_collection", invoiceId, at(4));
  const late = { ...following, account: { ...dying } };
  await assert.rejects(followEvent(late, again, at(5)), /died/);
  await store.disown(invoiceId, at(6));
  await followEvent(following, again, at(7));
  assert.deepEqual(await shown(invoiceId), [true, undefined, false]);
});
