import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { prepared } from "../../src/postgres/database.ts";
import type { Fields } from "./contract-records.ts";
import type { Shop } from "./contract-shop.ts";
import { eventually, runService, type Service } from "./running-service.ts";
import { answerInOrder } from "./webhook-endpoint.ts";

// "States and transitions", on a clock on which a second is a quarter of an hour.
let service: Service;
before(async () => {
  service = await runService({ clockRate: 900 });
});
after(() => service?.stop());

const statuses = async (shop: Shop, invoice: Fields) =>
  (await shop.actions({ invoiceId: String(invoice.id) })).map(({ status }) => status);
const reaches = (shop: Shop, invoice: Fields, status: string) =>
  eventually(async () => (await statuses(shop, invoice)).includes(`RECOVERY_ACTION_STATUS_${status}`), status);

suite("states", { concurrency: 8 }, () => {
  test("subscription `state`: transitions are not shown, so any is accepted, in both directions", async () => {
    const shop = await service.shop({ endpoint: false });
    const record = shop.subscription();
    for (const state of ["ACTIVE", "CANCELED", "ACTIVE"]) {
      const updatedAt = shop.now().toISOString();
      await shop.push("subscriptions", { ...record, state: `SUBSCRIPTION_STATE_${state}`, updatedAt });
      const { rows } = await service.store.db.run(prepared("", "select state from subscriptions where id = $1"), [
        record.id,
      ]);
      assert.deepEqual(rows, [{ state }]);
      await sleep(5);
    }
  });

  test("subscription `state`: CANCELED ends the recovery of its invoices", async () => {
    const shop = await service.shop();
    const subscription = shop.subscription();
    await shop.push("subscriptions", subscription);
    const invoice = shop.invoice({ subscriptionId: subscription.id });
    await shop.push("invoices", invoice);
    await eventually(() => shop.events("recovery_action").length === 1, "the instruction");
    const now = shop.now().toISOString();
    const canceled = { state: "SUBSCRIPTION_STATE_CANCELED", updatedAt: now, canceledAt: now };
    await shop.push("subscriptions", { ...subscription, ...canceled });
    const { json } = await eventually(() => shop.events("complete_dunning")[0], "complete_dunning");
    assert.deepEqual(json.data, { invoiceId: invoice.id });
  });

  test("invoice `state`: UNPAID is in recovery, PAID is not", async () => {
    const shop = await service.shop();
    const paid = shop.invoice({ state: "INVOICE_STATE_PAID" });
    const unpaid = shop.invoice();
    await shop.push("invoices", paid, unpaid);
    await eventually(() => shop.received.length === 2, "both events");
    await sleep(300);
    assert.deepEqual(await statuses(shop, paid), []);
    assert.equal(shop.received.length, 2);
  });

  test("invoice `state`: transitions are not shown, so any is accepted: UNPAID after PAID opens recovery again", async () => {
    const shop = await service.shop();
    const invoice = shop.invoice();
    await shop.push("invoices", invoice);
    await eventually(() => shop.events("recovery_action").length === 1, "the first instruction");
    for (const state of ["PAID", "UNPAID"]) {
      await sleep(5);
      const updatedAt = shop.now().toISOString();
      await shop.push("invoices", { ...invoice, state: `INVOICE_STATE_${state}`, updatedAt });
    }
    await eventually(() => shop.events("pause_collection").length === 2, "the second pause_collection");
  });

  test("recovery action `status`: SCHEDULED while it is a plan", async () => {
    const shop = await service.shop({ endpoint: false });
    const invoice = shop.invoice();
    await shop.push("invoices", invoice);
    await reaches(shop, invoice, "SCHEDULED");
  });

  test("recovery action `status`: SENT when the endpoint accepted it, then SUCCEEDED when it was paid", async () => {
    const shop = await service.shop();
    const invoice = shop.invoice();
    await shop.push("invoices", invoice);
    await reaches(shop, invoice, "SENT");
    const { id } = shop.events("recovery_action")[0]!.json;
    const paid = { state: "TRANSACTION_STATE_PAID", recoveryActionId: id };
    await shop.push("transactions", shop.transaction(invoice, paid));
    await reaches(shop, invoice, "SUCCEEDED");
  });

  test("recovery action `status`: FAILED when its transaction failed", async () => {
    const shop = await service.shop();
    const invoice = shop.invoice();
    await shop.push("invoices", invoice);
    await reaches(shop, invoice, "SENT");
    const { id } = shop.events("recovery_action")[0]!.json;
    await shop.push("transactions", shop.transaction(invoice, { recoveryActionId: id }));
    await reaches(shop, invoice, "FAILED");
  });

  test("recovery action `status`: CANCELED when the invoice is paid before the first attempt of delivery", async () => {
    const shop = await service.shop({ webhookPaused: true });
    const invoice = shop.invoice();
    await shop.push("invoices", invoice);
    await reaches(shop, invoice, "SCHEDULED");
    const updatedAt = shop.now().toISOString();
    await shop.push("invoices", { ...invoice, state: "INVOICE_STATE_PAID", updatedAt });
    await reaches(shop, invoice, "CANCELED");
    assert.equal(shop.received.length, 0);
  });

  test("webhook delivery: any 2xx status moves it to delivered, and no further attempts follow", async () => {
    const shop = await service.shop();
    await shop.push("invoices", shop.invoice());
    const delivered = async () => {
      const events = await shop.deliveries();
      return events.length === 2 && events.every(({ state }) => state === "delivered");
    };
    await eventually(delivered, "the delivery of both");
    // Longer than all synchronous retries and the first asynchronous one would take.
    await sleep(1_500);
    assert.equal(shop.received.length, 2);
  });

  test("webhook delivery: a failure while attempts remain moves it to waiting for the next attempt", async () => {
    const shop = await service.shop({ answer: answerInOrder(500) });
    await shop.push("invoices", shop.invoice());
    const event = await eventually(async () => {
      const [found] = await shop.deliveries("pause_collection");
      return found && found.attempts === 4 ? found : null;
    }, "the fourth failure");
    assert.equal(event.state, "waiting");
    assert.equal(event.status, 500);
    assert.equal(event.dueAt!.getTime() - event.endedAt!.getTime(), 15 * 60_000);
  });

  test("webhook delivery: the last failure moves it to exhausted, marked failed in the delivery log, without further retries", async () => {
    const shop = await service.shop({ answer: answerInOrder(500) });
    const invoice = shop.invoice();
    await shop.push("invoices", invoice);
    const exhausted = async () => (await shop.deliveries("recovery_action")).find(({ state }) => state === "exhausted");
    const event = await eventually(exhausted, "exhaustion", 15_000);
    assert.equal(event.attempts, 6);
    assert.equal(event.dueAt, null);
    const log = await shop.attempts(event.eventId);
    assert.deepEqual(
      log.map(({ ends }) => ends),
      [null, null, null, null, null, "exhausted"],
    );
    assert.ok(log.every(({ success }) => !success));
    await reaches(shop, invoice, "DELIVERY_FAILED");
    await sleep(1_000);
    assert.equal(shop.received.filter(({ json }) => json.id === event.eventId).length, 6);
  });
});
