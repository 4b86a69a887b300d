import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient, DunlinError } from "#sdk";
import { PERMISSIONS } from "../../src/domain/permission.ts";
import { LOST_CARD } from "./contract-records.ts";
import type { Shop } from "./contract-shop.ts";
import { eventually, type Service, useService } from "./running-service.ts";

// What Dunlin adds to the interface: requests about one invoice, and the event at the end of recovery.
const use = useService();
let service: Service;
before(async () => {
  service = await use.start();
});
after(() => use.end());

const DAYS_14 = { windowDays: 14, leadMs: 0 };
const clientOf = ({ apiKey }: Pick<Shop, "apiKey">) =>
  createClient({ baseUrl: service.baseUrl, apiKey, ca: service.ca, retryForMs: 0 });

async function failedInvoice(shop: Shop, decline: object = {}) {
  const invoice = shop.invoice();
  await shop.push("invoices", invoice);
  await shop.push("transactions", shop.transaction(invoice, { state: "TRANSACTION_STATE_FAILED", ...decline }));
  await eventually(async () => (await shop.actions({ invoiceId: String(invoice.id) }))[0], "a plan");
  return String(invoice.id);
}
const isRefused = (code: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof DunlinError);
  assert.equal(error.code, code);
  assert.match(error.message, message);
  return true;
};

test("retryNow sends a recovery_action at once, and refuses a second one until the outcome is known", async (t) => {
  const shop = await service.shop(DAYS_14);
  const { invoices, close } = clientOf(shop);
  t.after(close);
  const id = await failedInvoice(shop);
  const { recoveryActionId } = await invoices.retryNow(id, { reason: "the customer called" });
  const { json } = await eventually(() => shop.events("recovery_action")[0], "the instruction");
  assert.equal(json.id, recoveryActionId);
  await assert.rejects(invoices.retryNow(id), isRefused(409, /A retry was requested already/));
});

test("retryNow is refused with the reason when the card was reported lost", async (t) => {
  const shop = await service.shop(DAYS_14);
  const { invoices, close } = clientOf(shop);
  t.after(close);
  const id = await failedInvoice(shop, LOST_CARD);
  await assert.rejects(invoices.retryNow(id), isRefused(409, /^No retry was requested\. .*lost/));
  assert.ok(shop.events("recovery_action").every(({ json }) => !JSON.stringify(json).includes("SUGGESTION_RETRY")));
});

test("postpone moves the plan behind the time, and the explanation says so", async (t) => {
  const shop = await service.shop(DAYS_14);
  const { invoices, close } = clientOf(shop);
  t.after(close);
  const id = await failedInvoice(shop);
  const until = new Date(shop.now().getTime() + 9 * 86_400_000);
  assert.equal((await invoices.postpone(id, { until: until.toISOString() })).until, until.toISOString());
  await eventually(async () => {
    const [plan] = await shop.actions({ invoiceId: id });
    return new Date(String(plan!.idealRetryTime)) >= until;
  }, "a later plan");
  const explanation = await invoices.explain(id);
  assert.equal(explanation.recovery, "RECOVERY_OPEN");
  assert.equal(explanation.invoiceId, id);
  assert.match(
    explanation.headline,
    /^EUR .* has been unpaid for .*\. The first attempt failed .* The next attempt is planned for .*\.$/,
  );
  assert.equal(explanation.summary.at(-1)!.label, "Waiting");
  assert.match(JSON.stringify(explanation.answers), /Retries were postponed by hand until/);
  const late = new Date(shop.now().getTime() + 20 * 86_400_000).toISOString();
  await assert.rejects(invoices.postpone(id, { until: late }), isRefused(409, /The recovery window ends on/));
});

test("stop ends recovery with complete_dunning and, for a merchant that asks for it, recovery_ended", async (t) => {
  const shop = await service.shop({ ...DAYS_14, sendsRecoveryEnded: true });
  const { invoices, close } = clientOf(shop);
  t.after(close);
  const id = await failedInvoice(shop);
  const { eventId } = await invoices.stop(id, { reason: "agreed with the customer" });
  const complete = await eventually(() => shop.events("complete_dunning")[0], "complete_dunning");
  assert.equal(complete.json.id, eventId);
  const ended = await eventually(() => shop.events("recovery_ended")[0], "recovery_ended");
  assert.deepEqual(ended.json.data, { invoiceId: id, endReason: "END_REASON_STOPPED_BY_HAND" });
  await assert.rejects(invoices.stop(id), isRefused(409, /There is nothing to stop\. The case ended already/));
});

test("an id with a slash, a colon and a space is found, and an unknown one is a 404", async (t) => {
  const shop = await service.shop({ endpoint: false });
  const { invoices, close } = clientOf(shop);
  t.after(close);
  const invoice = shop.invoice({ id: "2026/07:A 1:stop", state: "INVOICE_STATE_PAID" });
  await shop.push("invoices", invoice);
  assert.equal((await invoices.explain(String(invoice.id))).invoiceId, invoice.id);
  await assert.rejects(invoices.stop(String(invoice.id)), isRefused(409, /never in recovery/));
  for (const id of ["inv_none", "x".repeat(256), "a\u0007b"]) {
    await assert.rejects(invoices.explain(id), isRefused(404, /there is no such invoice/));
    await assert.rejects(invoices.stop(id), isRefused(404, /there is no such invoice/));
  }
});

test("a key sees and stops only invoices of its own merchant, and only with the permission", async (t) => {
  const [shop, other] = [await service.shop({ endpoint: false }), await service.shop({ endpoint: false })];
  const id = await failedInvoice(shop);
  const stranger = clientOf(other).invoices;
  for (const call of [() => stranger.explain(id), () => stranger.stop(id), () => stranger.retryNow(id)])
    await assert.rejects(call(), isRefused(404, /there is no such invoice/));
  for (const [permission, call] of [
    ["read:explanations", (own: typeof stranger) => own.explain(id)],
    ["manage:recovery", (own: typeof stranger) => own.stop(id)],
  ] as const) {
    const apiKey = await shop.key(PERMISSIONS.filter((name) => name !== permission));
    const lacking = clientOf({ apiKey });
    t.after(lacking.close);
    await assert.rejects(call(lacking.invoices), isRefused(403, new RegExp(`lacks the permission ${permission}`)));
  }
});

test("other methods and names are answered as on every path, and a body is checked after the key", async () => {
  const shop = await service.shop({ endpoint: false });
  assert.equal((await shop.call({ path: "/v1/invoices/inv_1:stop" })).status, 405);
  assert.equal((await shop.call({ method: "POST", path: "/v1/invoices/inv_1:other" })).status, 404);
  assert.equal((await shop.call({ method: "POST", path: "/v1/invoices/inv_1/explanation" })).status, 405);
  const headers = { "content-type": "application/json" };
  const call = { method: "POST", path: "/v1/invoices/inv_1:postpone", headers, body: { until: "soon" } };
  assert.equal((await service.call(call)).status, 401);
  const { status, json } = await shop.call(call);
  assert.equal(status, 400);
  assert.match(String(json.message), /^until must be /);
});

test("the list of what needs attention is empty for a new merchant, and needs its own permission", async (t) => {
  const shop = await service.shop({ endpoint: false });
  const client = clientOf(shop);
  t.after(client.close);
  assert.deepEqual(await client.attention.list(), { items: [] });
  const apiKey = await shop.key(PERMISSIONS.filter((name) => name !== "read:attention"));
  const lacking = clientOf({ apiKey });
  t.after(lacking.close);
  await assert.rejects(lacking.attention.list(), isRefused(403, /lacks the permission read:attention/));
});
