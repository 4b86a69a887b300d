import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type Stripe from "stripe";
import { runService, type Service } from "../../test/contract/running-service.ts";
import type { KitTx } from "../kit/database.ts";
import { type ConnectorStore, createConnectorStore } from "../kit/store.ts";
import { type ConnectedShop, connectShop } from "./connected-shop.fixture.ts";
import type { AskBank } from "./double/payments.ts";
import { declineFacts } from "./double/world-bank.ts";
import { type Executing, executeAction } from "./execute-action.ts";
import { createStripeAccount, OWNER_MARK, type StripeAccount } from "./stripe-account.ts";

let service: Service;
before(async () => {
  service = await runService();
});
after(() => service?.stop());

/** An open invoice that Dunlin handles, with an action whose time has come. */
async function dueInvoice({ stripe, store, double }: ConnectedShop, mark: string, number: number) {
  const customer = await stripe.customers.create({});
  const token = "pm_card_visa";
  const method = await stripe.paymentMethods.attach(token, { customer: customer.id });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: method.id } });
  const created = await stripe.invoices.create({ customer: customer.id });
  await stripe.invoiceItems.create({ customer: customer.id, invoice: created.id, amount: 4900, currency: "usd" });
  double.billing.finalize(double.account.get("invoice", created.id));
  await stripe.invoices.update(created.id, { auto_advance: false, metadata: { [OWNER_MARK]: mark } });
  await store.own(created.id, service.now());
  const id = `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
  await store.planAction({ id, invoiceId: created.id, suggestion: "ACTION_SUGGESTION_RETRY", dueAt: service.now() });
  return { invoiceId: created.id, customerId: customer.id };
}

const executing = (
  { dunlin, store, mark }: ConnectedShop,
  account: StripeAccount,
  own: ConnectorStore = store,
): Executing => ({
  ...{ account, dunlin, mark, store: own, now: service.now },
  askForCard: async () => null,
});

class Death extends Error {}

/** A database for a process that dies at its statement number `at`, before or after it is done. */
function dyingDatabase(db: KitTx, at: number, isDone: boolean): KitTx & { count(): number } {
  let count = 0;
  return {
    count: () => count,
    async run(statement, values) {
      count++;
      if (count > at || (count === at && !isDone)) throw new Death();
      const result = await db.run(statement, values);
      if (count === at) throw new Death();
      return result as never;
    },
  };
}

for (const [outcome, answer] of [
  ["succeeds", { kind: "approved" }],
  ["is declined", { kind: "declined", decline: declineFacts("insufficient_funds") }],
] as const)
  test(`an action is charged once, whatever statement its process dies at, when the charge ${outcome}`, async (t) => {
    const askBank: AskBank = () => answer;
    const connected = await connectShop(service, { askBank, settings: { endpoint: false } });
    t.after(connected.close);
    const { stripe } = connected;
    const scope = { merchantId: connected.shop.id, connection: "stripe" };
    const { mark } = connected;
    const account = createStripeAccount(stripe, (call) => call());
    let deaths = 0;
    for (let at = 1; ; at++) {
      let isOver = false;
      for (const isDone of [false, true]) {
        const { invoiceId, customerId } = await dueInvoice(connected, mark, 2 * at + Number(isDone));
        const dying = dyingDatabase(service.store.db, at, isDone);
        const [action] = await connected.store.dueActions(1, service.now());
        assert.equal(action!.invoiceId, invoiceId);
        const first = executing(connected, account, createConnectorStore(dying, scope));
        const died = await executeAction(first, action!).then(
          () => false,
          (error) => {
            assert.ok(error instanceof Death, String(error));
            return true;
          },
        );
        deaths += Number(died);
        isOver ||= !died;
        // The next process finds what the first one left.
        const second = executing(connected, account);
        for (const left of await connected.store.dueActions(1, service.now())) await executeAction(second, left);
        const charges = (await stripe.charges.list({ customer: customerId })).data;
        assert.equal(charges.length, 1, `statement ${at}, ${isDone ? "done" : "not done"}`);
        const [ended] = await connected.store.actionsOfInvoice(invoiceId);
        assert.equal(ended!.state, answer.kind === "approved" ? "charged" : "declined");
        assert.equal(ended!.chargeId, charges[0]!.id);
      }
      if (isOver) break;
    }
    assert.ok(deaths >= 12, `${deaths}`);
  });

test("an action is not charged when its invoice is paid, not marked any more, or unknown", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "approved" }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { stripe, store } = connected;
  const { mark } = connected;
  const all = executing(
    connected,
    createStripeAccount(stripe, (call) => call()),
  );
  const changes: [RegExp, (id: string) => Promise<unknown>][] = [
    [/is paid/, (id) => stripe.invoices.pay(id, { paid_out_of_band: true })],
    [/is void/, (id) => stripe.invoices.voidInvoice(id)],
    [/no longer marked/, (id) => stripe.invoices.update(id, { metadata: { [OWNER_MARK]: "" } })],
    [/no longer marked/, (id) => stripe.invoices.update(id, { metadata: { [OWNER_MARK]: "another" } })],
  ];
  for (const [number, [problem, change]] of changes.entries()) {
    const { invoiceId, customerId } = await dueInvoice(connected, mark, number + 1);
    await change(invoiceId);
    const [action] = await store.dueActions(1, service.now());
    await executeAction(all, action!);
    assert.equal((await stripe.charges.list({ customer: customerId })).data.length, 0);
    const [ended] = await store.actionsOfInvoice(invoiceId);
    assert.equal(ended!.state, "skipped");
    assert.match(ended!.problem!, problem);
  }
});

test("an action whose time passed a day ago is not charged, because Dunlin plans the next one", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "approved" }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { stripe, store, mark } = connected;
  const all = executing(
    connected,
    createStripeAccount(stripe, (call) => call()),
  );
  for (const [hours, expected] of [
    [23, "charged"],
    [25, "skipped"],
  ] as const) {
    const { invoiceId, customerId } = await dueInvoice(connected, mark, hours);
    const later = new Date(service.now().getTime() + hours * 3_600_000);
    const due = (await store.dueActions(10, later)).find((action) => action.invoiceId === invoiceId);
    await executeAction({ ...all, now: () => later }, due!);
    const [ended] = await store.actionsOfInvoice(invoiceId);
    assert.equal(ended!.state, expected);
    assert.equal((await stripe.charges.list({ customer: customerId })).data.length, expected === "charged" ? 1 : 0);
  }
});

test("an answer that never came is asked for again under the same key, and after a day Stripe's charges decide", async (t) => {
  const connected = await connectShop(service, {
    askBank: () => ({ kind: "approved" }),
    settings: { endpoint: false },
  });
  t.after(connected.close);
  const { stripe, store } = connected;
  const { mark } = connected;
  const real = createStripeAccount(stripe, (call) => call());
  const lossy = {
    ...real,
    async pay(invoiceId: string, key: string) {
      await real.pay(invoiceId, key);
      return { kind: "unknown", message: "socket hang up" } as const;
    },
  };
  const { invoiceId, customerId } = await dueInvoice(connected, mark, 1);
  const [action] = await store.dueActions(1, service.now());
  await executeAction(executing(connected, lossy), action!);
  assert.deepEqual(await store.dueActions(1, service.now()), [], "it is tried again later");
  const later = new Date(service.now().getTime() + 60_000);
  const [again] = await store.dueActions(1, later);
  assert.equal(again!.state, "charging");
  const aDayLater = new Date(service.now().getTime() + 25 * 3_600_000);
  await executeAction({ ...executing(connected, real), now: () => aDayLater }, again!);
  const [ended] = await store.actionsOfInvoice(invoiceId);
  const charges: Stripe.Charge[] = (await stripe.charges.list({ customer: customerId })).data;
  assert.deepEqual([ended!.state, ended!.chargeId, charges.length], ["charged", charges[0]!.id, 1]);
});
