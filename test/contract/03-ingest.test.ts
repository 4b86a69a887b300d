import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { prepared } from "../../src/postgres/database.ts";
import type { Fields } from "./contract-records.ts";
import type { Shop } from "./contract-shop.ts";
import { eventually, type Service, useService } from "./running-service.ts";

// "Ingest subscriptions" and "Ingest invoices", and what they leave open.
const use = useService();
let service: Service;
let shop: Shop;
before(async () => {
  service = await use.start();
  shop = await service.shop({ endpoint: false });
});
after(() => use.end());

const JSON_TYPE = { "content-type": "application/json" };
const later = (ms: number) => new Date(shop.now().getTime() + ms).toISOString();

for (const kind of ["subscriptions", "invoices"] as const) {
  const path = `/ingest/v1/${kind}`;
  const one = () => (kind === "invoices" ? shop.invoice() : shop.subscription());

  test(`ingest ${kind}: POST {base_url}${path}, and no other method`, async () => {
    const body = { [kind]: [one()] };
    assert.equal((await shop.call({ method: "POST", path, headers: JSON_TYPE, body })).status, 200);
    for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
      const { status, headers } = await shop.call({ method, path, headers: JSON_TYPE });
      assert.equal(status, 405, method);
      assert.match(headers.allow ?? "", /POST/);
    }
  });

  test(`ingest ${kind}: needs Authorization: Bearer <API_KEY>`, async () => {
    const body = { [kind]: [one()] };
    assert.equal((await service.call({ method: "POST", path, headers: JSON_TYPE, body })).status, 401);
  });

  test(`ingest ${kind}: needs Content-Type: application/json, with or without the charset`, async () => {
    const body = JSON.stringify({ [kind]: [one()] });
    const send = async (type: string) =>
      (await shop.call({ method: "POST", path, headers: { "content-type": type }, body })).status;
    assert.equal(await send("application/json"), 200);
    assert.equal(await send("application/json; charset=utf-8"), 200);
    assert.equal(await send("application/x-www-form-urlencoded"), 415);
    assert.equal((await shop.call({ method: "POST", path, body })).status, 415);
  });

  test(`ingest ${kind}: the body is an object with the array \`${kind}\``, async () => {
    const other = kind === "invoices" ? "subscriptions" : "invoices";
    for (const body of [[one()], {}, { [other]: [one()] }, { [kind]: one() }, { [kind]: null }, "7", '""'])
      assert.equal((await shop.call({ method: "POST", path, headers: JSON_TYPE, body })).status, 400);
  });

  test(`ingest ${kind}: success is HTTP 200 with {requestId}`, async () => {
    const { status, json, headers } = await shop.post(kind, [one()]);
    assert.equal(status, 200);
    assert.equal(json.requestId, headers["x-request-id"]);
  });

  test(`ingest ${kind}: an existing \`id\` is replaced by a newer version; the same or an older one is taken and changes nothing`, async () => {
    const first: Fields = { ...one(), amount: 3, updatedAt: later(1000) };
    const amountAfter = async (over: Fields) => {
      await shop.push(kind, { ...first, ...over });
      const { rows } = await service.store.db.run<{ amount: number }>(
        prepared("", `select amount from ${kind} where id = $1`),
        [first.id],
      );
      return rows.map(({ amount }) => amount);
    };
    assert.deepEqual(await amountAfter({}), [3]);
    assert.deepEqual(await amountAfter({}), [3]);
    assert.deepEqual(await amountAfter({ amount: 4, updatedAt: later(-1000) }), [3]);
    assert.deepEqual(await amountAfter({ amount: 5, updatedAt: later(2000) }), [5]);
  });

  test(`ingest ${kind}: unknown fields are ignored`, () => shop.push(kind, { ...one(), shoeSize: 44 }));
}

test("ingest invoices: no record of a batch is stored when some are invalid", async () => {
  const own = await service.shop({ endpoint: false });
  const good = own.invoice();
  const { status, json } = await own.post("invoices", [good, own.invoice({ amount: "12" })]);
  assert.equal(status, 400);
  assert.match(String(json.message), /^invoices\[1\]\.amount must be an integer/);
  await own.push("invoices", own.invoice());
  await eventually(async () => (await own.actions()).length > 0, "the other invoice's action");
  assert.equal((await own.list({ invoiceId: String(good.id) })).json.totalSize, 0);
});

test("ingest invoices: the newer version wins in any order of arrival", async () => {
  const own = await service.shop({ endpoint: false });
  const paid = own.invoice({ state: "INVOICE_STATE_PAID", updatedAt: later(1000) });
  await own.push("invoices", paid);
  await own.push("invoices", { ...paid, state: "INVOICE_STATE_UNPAID", updatedAt: later(-1000) });
  const twice = own.invoice();
  await own.push("invoices", { ...twice, state: "INVOICE_STATE_PAID", updatedAt: later(1000) }, twice);
  await own.push("invoices", own.invoice());
  await eventually(async () => (await own.actions()).length > 0, "an action for the third");
  await sleep(200);
  assert.equal((await own.actions()).length, 1);
});

test("ingest invoices: a repeated batch is a 200 and creates no duplicates", async () => {
  const own = await service.shop();
  const batch = [own.invoice(), own.invoice()];
  for (let times = 0; times < 3; times++) await own.push("invoices", ...batch);
  await eventually(() => own.received.length === 4, "the events of two invoices");
  await sleep(500);
  assert.equal(own.received.length, 4);
});

test("ingest invoices: an invoice may come before its subscription", async () => {
  const own = await service.shop();
  const invoice = own.invoice();
  await own.push("invoices", invoice);
  await eventually(() => own.events("recovery_action").length > 0, "the instruction");
  await own.push(
    "subscriptions",
    own.subscription({
      id: invoice.subscriptionId,
      state: "SUBSCRIPTION_STATE_CANCELED",
      customerId: invoice.customerId,
    }),
  );
  await eventually(() => own.events("complete_dunning").length > 0, "complete_dunning");
});

test("ingest invoices: a card number in an unknown field is a 400 that does not repeat it", async () => {
  const { status, text } = await shop.post("invoices", [shop.invoice({ memo: "4111 1111 1111 1111" })]);
  assert.equal(status, 400);
  assert.doesNotMatch(text, /1111/);
});
