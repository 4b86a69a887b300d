import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fields } from "./contract-records.ts";
import { LOST_CARD, NOT_WORTH_RETRYING } from "./contract-records.ts";
import type { Shop } from "./contract-shop.ts";
import { eventually, type Service, useService } from "./running-service.ts";

// "Events": the three kinds, when they are sent, and the values of `actionSuggestion`.
const use = useService();
let service: Service;
before(async () => {
  service = await use.start();
});
after(() => use.end());

const event = async (shop: Shop, type: "recovery_action" | "pause_collection" | "complete_dunning") =>
  (await eventually(() => shop.events(type)[0], type)).json;

/** Pushes an unpaid invoice with this failed last attempt. */
async function unpaid(shop: Shop, failed?: Fields, over?: Fields) {
  const invoice = shop.invoice(over);
  if (failed) await shop.push("transactions", shop.transaction(invoice, failed));
  await shop.push("invoices", invoice);
  return invoice;
}

suite("events", { concurrency: 12 }, () => {
  test("`recovery_action`: `invoiceId`, `subscriptionId`, `actionSuggestion` and `idealRetryTime`, when a payment should be retried", async () => {
    const shop = await service.shop();
    const invoice = await unpaid(shop);
    const { data, type } = await event(shop, "recovery_action");
    const { idealRetryTime, ...rest } = data as Fields;
    assert.equal(type, "recovery_action");
    assert.deepEqual(rest, {
      invoiceId: invoice.id,
      subscriptionId: invoice.subscriptionId,
      actionSuggestion: "ACTION_SUGGESTION_RETRY",
    });
    assert.match(String(idealRetryTime), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(String(idealRetryTime) > String(invoice.createdAt));
  });

  test("`recovery_action`: `subscriptionId` is left out when the invoice has none", async () => {
    const shop = await service.shop();
    await unpaid(shop, undefined, { subscriptionId: undefined });
    assert.ok(!("subscriptionId" in ((await event(shop, "recovery_action")).data as Fields)));
  });

  test("`recovery_action`: its id is that of the listed action, and its data are the action's", async () => {
    const shop = await service.shop();
    await unpaid(shop);
    const { id, data } = await event(shop, "recovery_action");
    const [action] = await shop.actions();
    assert.equal(action!.id, id);
    for (const field of ["invoiceId", "subscriptionId", "actionSuggestion", "idealRetryTime"])
      assert.equal((data as Fields)[field], action![field], field);
  });

  test("`pause_collection`: `invoiceId` only, when automatic retries of an invoice should be paused: as soon as it is in recovery", async () => {
    const shop = await service.shop();
    const invoice = await unpaid(shop);
    assert.deepEqual((await event(shop, "pause_collection")).data, { invoiceId: invoice.id });
    await eventually(() => shop.events("recovery_action")[0], "the instruction");
    await sleep(300);
    assert.equal(shop.events("pause_collection").length, 1, "once");
  });

  test("`complete_dunning`: `invoiceId` only, when dunning should be completed before the dunning period ends", async () => {
    const shop = await service.shop();
    const invoice = await unpaid(shop, NOT_WORTH_RETRYING);
    assert.deepEqual((await event(shop, "complete_dunning")).data, { invoiceId: invoice.id });
    await sleep(300);
    assert.equal(shop.events("complete_dunning").length, 1, "once");
  });

  test("`complete_dunning` is not sent for an invoice that is paid, voided or refunded", async () => {
    const shop = await service.shop();
    for (const state of ["PAID", "VOIDED", "REFUNDED"]) {
      const seen = shop.received.length;
      const invoice = await unpaid(shop);
      await eventually(() => shop.received.length === seen + 2, "both events");
      const updatedAt = shop.now().toISOString();
      await shop.push("invoices", { ...invoice, state: `INVOICE_STATE_${state}`, updatedAt });
    }
    await sleep(1_000);
    assert.equal(shop.events("complete_dunning").length, 0);
  });

  test("ACTION_SUGGESTION_RETRY: attempt to process the payment again, when it may succeed later", async () => {
    const shop = await service.shop();
    await unpaid(shop, { networkDeclineCode: "05", cardBrand: "visa" });
    const { data } = await event(shop, "recovery_action");
    assert.equal((data as Fields).actionSuggestion, "ACTION_SUGGESTION_RETRY");
  });

  test("ACTION_SUGGESTION_CARD_CHANGE: request an updated payment method, when the card was reported lost", async () => {
    const shop = await service.shop();
    await unpaid(shop, LOST_CARD);
    const { data } = await event(shop, "recovery_action");
    assert.equal((data as Fields).actionSuggestion, "ACTION_SUGGESTION_CARD_CHANGE");
  });

  test("ACTION_SUGGESTION_UNSPECIFIED: no specific action recommended, for a kind of payment without rules", async () => {
    const shop = await service.shop();
    await unpaid(shop, { paymentMethodType: "paypal" });
    const { data } = await event(shop, "recovery_action");
    assert.equal((data as Fields).actionSuggestion, "ACTION_SUGGESTION_UNSPECIFIED");
  });

  test("an event is withdrawn and no longer sent when its invoice is paid meanwhile", async () => {
    const shop = await service.shop({ answer: (_request, response) => response.writeHead(500).end() });
    const invoice = await unpaid(shop);
    await eventually(() => shop.received.length >= 2, "a first attempt");
    const updatedAt = shop.now().toISOString();
    await shop.push("invoices", { ...invoice, state: "INVOICE_STATE_PAID", updatedAt });
    await sleep(300);
    const seen = shop.received.length;
    await sleep(5_500);
    assert.equal(shop.received.length, seen);
    const deliveries = await shop.deliveries();
    assert.ok(deliveries.length > 0);
    for (const { state } of deliveries) assert.equal(state, "withdrawn");
  });
});
