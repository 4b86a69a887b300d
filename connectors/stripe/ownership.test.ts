import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type Stripe from "stripe";
import { runService, type Service } from "../../test/contract/running-service.ts";
import { type ConnectedShop, connectShop } from "./connected-shop.fixture.ts";
import type { AskBank } from "./double/payments.ts";
import { declineFacts } from "./double/world-bank.ts";
import { executeAction } from "./execute-action.ts";
import { type CompleteDunning, type Following, followEvent, giveAllBack, release } from "./follow-dunlin.ts";
import type { StripeAccount } from "./stripe-account.ts";

// Each case in which a wrong step charges a customer, or leaves an invoice without retries.
let service: Service;
before(async () => {
  service = await runService();
});
after(() => service?.stop());

const HOUR_MS = 3_600_000;
const NO_MONEY = declineFacts("insufficient_funds");
const DAY_S = 86_400;
const DECLINES: AskBank = ({ at }) =>
  at.getTime() < service.now().getTime() - 20 * DAY_S * 1_000
    ? { kind: "approved" }
    : { kind: "declined", decline: NO_MONEY };

async function connect(t: { after(end: () => Promise<void>): void }, askBank: AskBank = DECLINES) {
  const connected = await connectShop(service, { askBank, settings: { endpoint: false } });
  t.after(connected.close);
  return connected;
}

/** A subscription's second invoice, whose charge failed; Stripe retries it. */
async function failedRenewal({ stripe }: ConnectedShop) {
  const nowS = Math.floor(service.now().getTime() / 1_000);
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: nowS - 33 * DAY_S });
  const customer = await stripe.customers.create({ test_clock: clock.id });
  const method = await stripe.paymentMethods.attach("pm_card_visa", { customer: customer.id });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: method.id } });
  const price = await stripe.prices.create({
    ...{ currency: "usd", unit_amount: 4900, recurring: { interval: "month" }, product: "prod_beans" },
  });
  const { id } = await stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }] });
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: nowS - DAY_S });
  const invoice = (await stripe.invoices.list({ subscription: id })).data.find(({ status }) => status === "open");
  return { subscriptionId: id, invoiceId: invoice!.id!, customerId: customer.id };
}

const at = (minutes: number) => new Date(service.now().getTime() + minutes * 60_000);
const followingOf = (
  { connector, store, mark }: ConnectedShop,
  completeDunning: CompleteDunning = "give_back",
  endReason: string | null = null,
): Following => ({
  ...{ account: connector.account, store, mark, completeDunning, hint: async () => {} },
  readEndReason: async () => endReason,
});
const event = (type: string, invoiceId: string, created: Date, data: object = {}) =>
  ({
    id: `${type} ${invoiceId} ${+created}`,
    type,
    created: created.toISOString(),
    data: { invoiceId, ...data },
  }) as never;

const stateOf = async ({ stripe }: ConnectedShop, invoiceId: string) => {
  const { auto_advance, metadata, status } = await stripe.invoices.retrieve(invoiceId);
  return { retried: auto_advance, mark: metadata?.dunlin, status };
};

test("an invoice of a customer who canceled stays without retries when its recovery ends", async (t) => {
  const connected = await connect(t);
  const { invoiceId, subscriptionId } = await failedRenewal(connected);
  await followEvent(followingOf(connected), event("pause_collection", invoiceId, at(0)), at(0));
  await connected.stripe.subscriptions.cancel(subscriptionId);
  await followEvent(followingOf(connected), event("recovery_ended", invoiceId, at(1)), at(1));
  assert.deepEqual(await stateOf(connected, invoiceId), { retried: false, mark: undefined, status: "open" });
});

test("an invoice that the merchant collects by hand is neither marked nor charged nor given retries", async (t) => {
  const connected = await connect(t);
  const { invoiceId } = await failedRenewal(connected);
  await connected.stripe.invoices.update(invoiceId, { auto_advance: false });
  await followEvent(followingOf(connected), event("pause_collection", invoiceId, at(0)), at(0));
  assert.equal((await stateOf(connected, invoiceId)).mark, undefined);
  await followEvent(followingOf(connected), event("recovery_ended", invoiceId, at(1)), at(1));
  assert.equal((await stateOf(connected, invoiceId)).retried, false);
});

test("an invoice that the merchant takes back is not marked again, and one that opts out gets its retries back", async (t) => {
  const connected = await connect(t);
  const action = { actionSuggestion: "ACTION_SUGGESTION_RETRY", idealRetryTime: at(5).toISOString() };
  const { invoiceId } = await failedRenewal(connected);
  await followEvent(followingOf(connected), event("pause_collection", invoiceId, at(0)), at(0));
  await connected.stripe.invoices.update(invoiceId, { metadata: { dunlin: "" } });
  await followEvent(followingOf(connected), event("recovery_action", invoiceId, at(1), action), at(1));
  assert.deepEqual(await stateOf(connected, invoiceId), { retried: false, mark: undefined, status: "open" });

  const other = await failedRenewal(connected);
  await followEvent(followingOf(connected), event("pause_collection", other.invoiceId, at(0)), at(0));
  await connected.stripe.invoices.update(other.invoiceId, { metadata: { dunlin: "off" } });
  await followEvent(followingOf(connected), event("recovery_ended", other.invoiceId, at(1)), at(1));
  assert.deepEqual(await stateOf(connected, other.invoiceId), { retried: true, mark: "off", status: "open" });
});

test("a subscription is canceled only if Dunlin gave up, and never because a person stopped the recovery", async (t) => {
  const connected = await connect(t);
  const statusOf = async (id: string) => (await connected.stripe.subscriptions.retrieve(id)).status;
  for (const [endReason, isCanceled] of [
    ["END_REASON_STOPPED_BY_HAND", false],
    [null, false],
    ["END_REASON_WINDOW_OVER", true],
  ] as const) {
    const { invoiceId, subscriptionId } = await failedRenewal(connected);
    const following = followingOf(connected, "cancel_subscription", endReason);
    await followEvent(following, event("pause_collection", invoiceId, at(0)), at(0));
    await followEvent(following, event("recovery_ended", invoiceId, at(1)), at(1));
    assert.equal((await statusOf(subscriptionId)) === "canceled", isCanceled, String(endReason));
    assert.equal((await stateOf(connected, invoiceId)).retried, !isCanceled, String(endReason));
  }
});

test("an invoice gets its retries back when Stripe refuses to write it off, or when it has no subscription to cancel", async (t) => {
  const connected = await connect(t);
  const { invoiceId } = await failedRenewal(connected);
  const refusing: StripeAccount = { ...connected.connector.account, markUncollectible: async () => false };
  const following = { ...followingOf(connected, "mark_uncollectible", "END_REASON_HOPELESS"), account: refusing };
  await followEvent(following, event("pause_collection", invoiceId, at(0)), at(0));
  await release(following, invoiceId, at(1));
  assert.deepEqual(await stateOf(connected, invoiceId), { retried: true, mark: undefined, status: "open" });
});

test("the end of a connection also gives back invoices whose release failed, and one that fails does not stop the rest", async (t) => {
  const connected = await connect(t);
  const { store, connector } = connected;
  const [one, two, three] = [
    await failedRenewal(connected),
    await failedRenewal(connected),
    await failedRenewal(connected),
  ];
  for (const { invoiceId } of [one, two, three])
    await followEvent(followingOf(connected), event("pause_collection", invoiceId, at(0)), at(0));
  await store.disown(three.invoiceId, at(1));
  const failing: StripeAccount = {
    ...connector.account,
    readInvoice: (id) =>
      id === one.invoiceId ? Promise.reject(new Error("no answer")) : connector.account.readInvoice(id),
  };
  const { count, failed } = await giveAllBack({ ...followingOf(connected), account: failing }, at(2));
  assert.deepEqual([count, failed], [2, [{ invoiceId: one.invoiceId, problem: "no answer" }]]);
  for (const { invoiceId } of [two, three]) assert.equal((await stateOf(connected, invoiceId)).retried, true);
  assert.equal((await giveAllBack(followingOf(connected), at(3))).count, 1);
  assert.equal((await stateOf(connected, one.invoiceId)).retried, true);
});

test("a release that fails is tried again later and does not keep the others waiting", async (t) => {
  const connected = await connect(t);
  const { store } = connected;
  for (const id of ["in_a", "in_b"]) {
    await store.own(id, at(0));
    await store.disown(id, at(1));
  }
  const claim = (minutes: number) => store.claimUnreleased(1, at(minutes - 1), at(minutes));
  assert.deepEqual([...(await claim(2)), ...(await claim(2)), ...(await claim(2))].toSorted(), ["in_a", "in_b"]);
  assert.equal((await claim(5)).length, 1);
});

async function dueAction(connected: ConnectedShop, askFor = "ACTION_SUGGESTION_RETRY") {
  const found = await failedRenewal(connected);
  const data = { actionSuggestion: askFor, idealRetryTime: at(0).toISOString() };
  await followEvent(followingOf(connected), event("recovery_action", found.invoiceId, at(0), data), at(0));
  const executing = (now: Date, account = connected.connector.account) => ({
    ...{ account, store: connected.store, dunlin: connected.dunlin, mark: connected.mark, now: () => now },
    askForCard: async () => null,
  });
  const actions = () => connected.store.actionsOfInvoice(found.invoiceId);
  const charges = async () => (await connected.stripe.charges.list({ customer: found.customerId })).data;
  return { ...found, executing, actions, charges };
}

test("a charge whose answer was lost is found by its key, and the customer's own charge is not taken for it", async (t) => {
  const connected = await connect(t);
  const { executing, actions, charges, invoiceId } = await dueAction(connected);
  const { account } = connected.connector;
  const losing: StripeAccount = {
    ...account,
    async pay(...given) {
      await account.pay(...given);
      return { kind: "unknown", message: "no answer" };
    },
  };
  await executeAction(executing(at(1), losing), (await actions())[0]!);
  const made = (await charges())[0]!.id;
  // The customer tries another card meanwhile, and the clocks differ by a minute.
  await connected.stripe.invoices.pay(invoiceId, { off_session: false }).catch(() => {});
  assert.equal((await charges()).length, 4);
  await executeAction(executing(at(26 * 60)), (await actions())[0]!);
  assert.deepEqual(
    (await actions()).map(({ state, chargeId }) => [state, chargeId]),
    [["declined", made]],
  );
  assert.equal((await charges()).length, 4, "nothing was charged again");
});

test("a charge that did not reach Stripe is not made once the invoice was given back", async (t) => {
  const connected = await connect(t);
  const { executing, actions, charges, invoiceId } = await dueAction(connected);
  const { account, store } = { ...connected.connector, store: connected.store };
  const failing: StripeAccount = { ...account, pay: async () => ({ kind: "unknown", message: "no connection" }) };
  await executeAction(executing(at(1), failing), (await actions())[0]!);
  await store.disown(invoiceId, at(2));
  await release(followingOf(connected), invoiceId, at(2));
  const before = (await charges()).length;
  for (const minutes of [3, 70]) await executeAction(executing(at(minutes)), (await actions())[0]!);
  assert.equal((await charges()).length, before);
  assert.deepEqual(
    (await actions()).map(({ state }) => state),
    ["skipped"],
  );
});

test("an action that failed for days is not made, nor one that a later action replaced", async (t) => {
  const connected = await connect(t);
  const { executing, actions, charges, invoiceId } = await dueAction(connected);
  const { store } = connected;
  const before = (await charges()).length;
  const [first] = await actions();
  await store.delayAction(first!.id, at(25 * 60), "the key was revoked");
  assert.deepEqual(await store.dueActions(10, at(24 * 60)), []);
  const [delayed] = await store.dueActions(10, at(26 * 60));
  await executeAction(executing(at(26 * 60)), delayed!);
  for (const minutes of [30 * 60, 31 * 60])
    await store.planAction({
      ...{ id: `later ${minutes}`, invoiceId, suggestion: "ACTION_SUGGESTION_RETRY" },
      dueAt: at(minutes),
    });
  for (const action of await store.dueActions(10, at(32 * 60))) await executeAction(executing(at(32 * 60)), action);
  assert.equal((await charges()).length, before + 1, "only the latest");
  assert.deepEqual(
    (await actions()).map(({ state }) => state),
    ["skipped", "skipped", "declined"],
  );
});

test("an action without a method to charge is reported as failed, so that Dunlin asks for a card", async (t) => {
  const connected = await connect(t);
  const { executing, actions, customerId, invoiceId } = await dueAction(connected);
  const customer = connected.double.account.get<Stripe.Customer>("customer", customerId);
  customer.invoice_settings.default_payment_method = null;
  await executeAction(executing(at(1)), (await actions())[0]!);
  assert.deepEqual(
    (await actions()).map(({ state }) => state),
    ["skipped"],
  );
  await connected.until(
    async () => (await connected.shop.actions({ invoiceId })).some(({ type }) => /CARD_CHANGE/.test(String(type))),
    "the request for a card",
  );
});

test("a wait of an hour without an answer ends an action that made no charge", async (t) => {
  const connected = await connect(t);
  const { executing, actions, charges } = await dueAction(connected);
  const { account } = connected.connector;
  const failing: StripeAccount = { ...account, pay: async () => ({ kind: "unknown", message: "internal error" }) };
  const before = (await charges()).length;
  await executeAction(executing(at(1), failing), (await actions())[0]!);
  assert.equal((await actions())[0]!.state, "charging");
  await executeAction(executing(new Date(at(2).getTime() + HOUR_MS), failing), (await actions())[0]!);
  assert.deepEqual(
    (await actions()).map(({ state, problem }) => [state, problem]),
    [["skipped", "Stripe did not answer, and shows no charge."]],
  );
  assert.equal((await charges()).length, before);
});
