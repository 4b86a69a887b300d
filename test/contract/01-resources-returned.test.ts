import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createApiKey, rotateApiKey } from "../../src/auth/api-keys.ts";
import { PERMISSIONS } from "../../src/domain/permission.ts";
import { lockApiKey } from "../../src/tables/api-keys.ts";
import type { Fields } from "./contract-records.ts";
import { NOT_WORTH_RETRYING } from "./contract-records.ts";
import type { Shop } from "./contract-shop.ts";
import { eventually, type Service, useService } from "./running-service.ts";

// The tables "Recovery action", "Webhook event envelope", "Flat retry request" and "Other shapes": one test per row.
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

const use = useService();
let service: Service;
let shop: Shop;
/** An invoice, its instruction, the transaction that carried it out, and the action as listed then. */
let invoice: Fields;
let event: Fields;
let payment: Fields;
let action: Fields;
/** Of another merchant, which uses flat bodies. */
let flat: Fields;
let flatAction: Fields;

before(async () => {
  service = await use.start();
  const flatShop = await service.shop({ webhookFlat: true });
  shop = await service.shop();
  invoice = shop.invoice();
  await shop.push("invoices", invoice);
  event = (await eventually(() => shop.events("recovery_action")[0], "the instruction")).json;
  payment = shop.transaction(invoice, { state: "TRANSACTION_STATE_PAID", recoveryActionId: event.id });
  await shop.push("transactions", payment);
  const succeeded = { status: "RECOVERY_ACTION_STATUS_SUCCEEDED" };
  action = (await eventually(async () => (await shop.actions(succeeded))[0], "its success")) as Fields;
  await flatShop.push("invoices", flatShop.invoice());
  flat = (await eventually(() => flatShop.received.find(({ json }) => "requestId" in json), "the flat body")).json;
  flatAction = (await flatShop.actions())[0]!;
});
after(() => use.end());

const equals: Record<string, () => unknown> = {
  id: () => event.id,
  subscriptionId: () => invoice.subscriptionId,
  invoiceId: () => invoice.id,
  customerId: () => invoice.customerId,
  transactionId: () => payment.id,
  paymentMethodType: () => "card",
  cardCountry: () => "DE",
  currency: () => "EUR",
  type: () => "RECOVERY_ACTION_TYPE_RETRY",
  status: () => "RECOVERY_ACTION_STATUS_SUCCEEDED",
  integrationType: () => "INTEGRATION_TYPE_CUSTOM",
};
for (const [field, expected] of Object.entries(equals))
  test(`recovery action, \`${field}\`: a string, that of what was recovered`, () => {
    assert.equal(typeof action[field], "string");
    assert.equal(action[field], expected());
  });

test("recovery action, `integrationType`: that of the key that pushed the invoice, also after its rotation", async () => {
  const { db, ports } = service.store;
  const key = { merchantId: shop.id, permissions: PERMISSIONS, integrationType: "STRIPE" } as const;
  const { keyId } = await createApiKey(db, key, ports);
  const rotated = await db.transaction(async (tx) =>
    rotateApiKey(tx, (await lockApiKey(tx, shop.id, keyId))!, 0, {}, ports),
  );
  assert.ok(typeof rotated === "object");
  const stripeInvoice = shop.invoice({ id: "in_1" });
  const headers = { authorization: `Bearer ${rotated.apiKey}`, "content-type": "application/json" };
  const body = { invoices: [stripeInvoice] };
  assert.equal((await service.call({ method: "POST", path: "/ingest/v1/invoices", headers, body })).status, 200);
  const listed = await eventually(async () => (await shop.actions({ invoiceId: "in_1" }))[0], "its action");
  assert.equal(listed.integrationType, "INTEGRATION_TYPE_STRIPE");
});

for (const field of ["createdAt", "executedAt", "updatedAt"])
  test(`recovery action, \`${field}\`: a timestamp in UTC`, () => assert.match(String(action[field]), TIMESTAMP));

test("recovery action: it is created, then executed, and updated last", () => {
  assert.ok(String(action.createdAt) < String(action.executedAt));
  assert.ok(String(action.executedAt) <= String(action.updatedAt));
});

test("recovery action: unknown fields are absent", async () => {
  const other = await service.shop({ endpoint: false });
  await other.push("invoices", other.invoice({ subscriptionId: undefined }));
  const planned = await eventually(async () => (await other.actions())[0], "a plan");
  const unknown = ["subscriptionId", "transactionId", "paymentMethodType", "cardCountry", "executedAt"];
  for (const field of unknown) assert.ok(!(field in planned), field);
});

test("event envelope: exactly `id`, `type`, `created` and `data`", () =>
  assert.deepEqual(Object.keys(event).sort(), ["created", "data", "id", "type"]));

test("event envelope, `id`: a string, unique per event", () => {
  const ids = shop.received.map(({ json }) => json.id);
  assert.ok(ids.length > 0 && ids.every((id) => typeof id === "string"));
  assert.equal(new Set(ids).size, ids.length);
});

test("event envelope, `type`: `recovery_action`, `pause_collection` or `complete_dunning`", async () => {
  const hopeless = shop.invoice();
  await shop.push("transactions", shop.transaction(hopeless, NOT_WORTH_RETRYING));
  await shop.push("invoices", hopeless);
  await eventually(() => shop.events("complete_dunning").length > 0, "complete_dunning");
  const types = new Set(shop.received.map(({ json }) => json.type));
  assert.deepEqual([...types].sort(), ["complete_dunning", "pause_collection", "recovery_action"]);
});

test("event envelope, `created`: a timestamp, the creation time of the webhook", () => {
  assert.match(String(event.created), TIMESTAMP);
  assert.ok(String(event.created) >= String(invoice.createdAt) && String(event.created) <= String(action.executedAt));
});

test("event envelope, `data`: an object that depends on `type`", () => {
  const fields = (data: unknown) => Object.keys(data as object).sort();
  assert.deepEqual(fields(event.data), ["actionSuggestion", "idealRetryTime", "invoiceId", "subscriptionId"]);
  assert.deepEqual(fields(shop.events("pause_collection")[0]!.json.data), ["invoiceId"]);
});

test("flat retry request: exactly its five fields", () =>
  assert.deepEqual(Object.keys(flat).sort(), [
    "actionSuggestion",
    "idealRetryTime",
    "invoiceId",
    "requestId",
    "subscriptionId",
  ]));

test("flat retry request, `requestId`: the unique id of the request, that of its recovery action", () =>
  assert.equal(flat.requestId, flatAction.id));

test("flat retry request, `invoiceId`: the invoice to retry", () => assert.equal(flat.invoiceId, flatAction.invoiceId));

test("flat retry request, `subscriptionId`: the subscription of the invoice; not required", async () => {
  assert.equal(flat.subscriptionId, flatAction.subscriptionId);
  const other = await service.shop({ webhookFlat: true });
  await other.push("invoices", other.invoice({ subscriptionId: undefined }));
  const { json } = await eventually(() => other.received.find((r) => "requestId" in r.json), "a flat body");
  assert.ok(!("subscriptionId" in json));
});

test("flat retry request, `actionSuggestion`: one of three values", () =>
  assert.equal(flat.actionSuggestion, "ACTION_SUGGESTION_RETRY"));

test("flat retry request, `idealRetryTime`: a timestamp, the best time to execute the retry", () => {
  assert.match(String(flat.idealRetryTime), TIMESTAMP);
  assert.equal(flat.idealRetryTime, flatAction.idealRetryTime);
});

test("ingest success: exactly `requestId`, a string, another one for each request", async () => {
  const first = await shop.post("subscriptions", [shop.subscription()]);
  const second = await shop.post("subscriptions", [shop.subscription()]);
  assert.deepEqual(Object.keys(first.json), ["requestId"]);
  assert.match(String(first.json.requestId), /^req_.+/);
  assert.notEqual(first.json.requestId, second.json.requestId);
});

test("ingest and list error: exactly `code` (integer), `message` (string) and `details` (array)", async () => {
  for (const { json } of [await shop.post("invoices", [{}]), await shop.list({ orderBy: "amount" })]) {
    assert.deepEqual(Object.keys(json), ["code", "message", "details"]);
    assert.ok(Number.isInteger(json.code));
    assert.ok(typeof json.message === "string" && json.message !== "");
    assert.ok(Array.isArray(json.details));
  }
});

test("list response: exactly `recoveryActions` (array), `nextPageToken` (string) and `totalSize` (integer)", async () => {
  const { json } = await shop.list();
  assert.deepEqual(Object.keys(json), ["recoveryActions", "nextPageToken", "totalSize"]);
  assert.ok(Array.isArray(json.recoveryActions));
  assert.equal(typeof json.nextPageToken, "string");
  assert.ok(Number.isInteger(json.totalSize));
});
