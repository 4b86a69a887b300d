import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type Stripe from "stripe";
import { runService, type Service } from "../../test/contract/running-service.ts";
import { type ConnectedShop, connectShop } from "./connected-shop.fixture.ts";
import type { AskBank } from "./double/payments.ts";
import { declineFacts } from "./double/world-bank.ts";

// A real service on a fast clock, the connector, and the double of Stripe: a day takes four seconds.
let service: Service;
before(async () => {
  service = await runService({ clockRate: 21_600 });
});
after(() => service?.stop());
const DAY_MS = 86_400_000;
const NO_MONEY = declineFacts("insufficient_funds");

async function subscribe({ stripe }: ConnectedShop): Promise<Stripe.Subscription> {
  const customer = await stripe.customers.create({});
  const method = await stripe.paymentMethods.attach("pm_card_visa", { customer: customer.id });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: method.id } });
  const price = { currency: "eur", unit_amount: 4900, recurring: { interval: "year" }, product: "prod_beans" } as const;
  const { id } = await stripe.prices.create(price);
  return await stripe.subscriptions.create({ customer: customer.id, items: [{ price: id }] });
}
const invoiceOf = async ({ stripe }: ConnectedShop, subscription: Stripe.Subscription) =>
  (await stripe.invoices.list({ subscription: subscription.id })).data[0]!;
async function chargesOf({ stripe }: ConnectedShop, invoice: Stripe.Invoice) {
  const [payment] = (await stripe.invoicePayments.list({ invoice: invoice.id })).data;
  if (!payment) return [];
  const intent = payment.payment.payment_intent as string;
  return (await stripe.charges.list({ payment_intent: intent, limit: 100 })).data;
}
/** Every charge is the account's own or exactly one action's. */
async function assertExplained(connected: ConnectedShop, invoice: Stripe.Invoice, ownAttempts: number) {
  const charges = await chargesOf(connected, invoice);
  const actions = await connected.store.actionsOfCharges(charges.map(({ id }) => id));
  assert.equal(new Set(actions.values()).size, actions.size, "no action made two charges");
  assert.equal(charges.length - actions.size, ownAttempts);
  return { charges, actions };
}

test("a declined renewal is taken over, retried when Dunlin says, and its payment is known as the action's success", async (t) => {
  let poorUntil = Number.POSITIVE_INFINITY;
  const askBank: AskBank = ({ at }) =>
    at.getTime() < poorUntil ? { kind: "declined", decline: NO_MONEY } : { kind: "approved" };
  const connected = await connectShop(service, { askBank, settings: { windowDays: 28 } });
  t.after(connected.close);
  const subscription = await subscribe(connected);
  await connected.until(async () => (await invoiceOf(connected, subscription))?.metadata?.dunlin, "the take-over");
  poorUntil = service.now().getTime() + DAY_MS;
  const owned = await invoiceOf(connected, subscription);
  assert.deepEqual([owned.auto_advance, owned.next_payment_attempt, owned.attempt_count], [false, null, 1]);

  await connected.until(
    async () => (await invoiceOf(connected, subscription)).status === "paid",
    "the payment",
    120_000,
  );
  const { charges, actions } = await assertExplained(connected, owned, 1);
  const success = charges.find(({ status }) => status === "succeeded")!;
  const actionId = actions.get(success.id);
  const listed = async () => (await connected.shop.actions({ invoiceId: owned.id })).find(({ id }) => id === actionId)!;
  await connected.until(async () => (await listed()).status === "RECOVERY_ACTION_STATUS_SUCCEEDED", "the outcome");
  assert.deepEqual(
    [(await listed()).transactionId, (await listed()).integrationType],
    [success.id, "INTEGRATION_TYPE_STRIPE"],
  );
  await connected.until(
    async () => (await invoiceOf(connected, subscription)).metadata?.dunlin === undefined,
    "the mark's end",
  );
});

test("an invoice that is paid meanwhile is not charged, and Dunlin knows it as paid", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "declined", decline: NO_MONEY }),
    settings: { windowDays: 28 },
  });
  t.after(connected.close);
  const subscription = await subscribe(connected);
  await connected.until(async () => (await invoiceOf(connected, subscription))?.metadata?.dunlin, "the take-over");
  const invoice = await invoiceOf(connected, subscription);
  const before = (await chargesOf(connected, invoice)).length;
  await connected.stripe.invoices.pay(invoice.id, { paid_out_of_band: true });
  const client = connected.dunlin.invoices;
  await connected.until(
    async () => (await client.explain(invoice.id)).summary.some(({ label }) => label === "Ended"),
    "the end",
  );
  assert.equal((await chargesOf(connected, invoice)).length, before);
  assert.ok((await connected.store.actionsOfInvoice(invoice.id)).every(({ state }) => state !== "charging"));
});

test("after a stop Stripe's own retries go on, as the merchant chose", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "declined", decline: NO_MONEY }),
    settings: { windowDays: 28 },
    retryDays: [3, 6, 9, 12],
  });
  t.after(connected.close);
  const subscription = await subscribe(connected);
  await connected.until(async () => (await invoiceOf(connected, subscription))?.metadata?.dunlin, "the take-over");
  const invoice = await invoiceOf(connected, subscription);
  await connected.dunlin.invoices.stop(invoice.id);
  await connected.until(
    async () => (await invoiceOf(connected, subscription)).metadata?.dunlin === undefined,
    "the return",
  );
  const returned = await invoiceOf(connected, subscription);
  assert.equal(returned.auto_advance, true);
  assert.ok(returned.next_payment_attempt! * 1_000 > service.now().getTime() - DAY_MS);
});
