import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { acceptedAnswer, createTestClient, invoice, invoices, sendJson } from "./client.fixture.ts";
import type { IngestedBatch } from "./ingest.ts";
import type { Invoice } from "./records.ts";

const sent = (requests: { body: string }[]) => requests.map(({ body }) => JSON.parse(body).invoices as Invoice[]);

test("records of any iterable are sent in batches of 100 with the key, and each batch is reported", async (t) => {
  const { client, requests } = await createTestClient(t, acceptedAnswer, { inFlightMax: 1 });
  async function* live() {
    yield* invoices(250);
  }
  for (const records of [invoices(250), new Set(invoices(250)), live()]) {
    requests.length = 0;
    const batches: IngestedBatch[] = [];
    const done = await client.ingest.invoices(records, { onBatch: (batch) => batches.push(batch) });
    assert.deepEqual(done, { records: 250, requests: 3 });
    assert.deepEqual(sent(requests).flat(), invoices(250));
    assert.deepEqual(
      batches.map((batch) => ({ ...batch, requestId: "" })),
      [100, 100, 50].map((count, n) => ({ requestId: "", firstRecord: n * 100, records: count })),
    );
  }
  assert.ok(requests.every(({ authorization }) => authorization === "Bearer dln_live_key"));
  assert.ok(requests.every(({ method, url }) => method === "POST" && url === "/ingest/v1/invoices"));
});

test("records of each kind are sent to their own path under their own name", async (t) => {
  const { client, requests } = await createTestClient(t, acceptedAnswer);
  const { id: _, state: __, ...common } = invoice(1);
  const subscription = { id: "sub_1", state: "SUBSCRIPTION_STATE_ACTIVE", ...common } as const;
  const transaction = { id: "tx_1", invoiceId: "inv_1", state: "TRANSACTION_STATE_PAID", ...common } as const;
  await client.ingest.subscriptions([subscription]);
  await client.ingest.invoices([invoice(1)]);
  await client.ingest.transactions([transaction]);
  assert.deepEqual(
    requests.map(({ url, body }) => [url, JSON.parse(body)]),
    [
      ["/ingest/v1/subscriptions", { subscriptions: [subscription] }],
      ["/ingest/v1/invoices", { invoices: [invoice(1)] }],
      ["/ingest/v1/transactions", { transactions: [transaction] }],
    ],
  );
});

test("no request is sent when there are no records", async (t) => {
  const { client, requests } = await createTestClient(t, acceptedAnswer);
  assert.deepEqual(await client.ingest.transactions([]), { records: 0, requests: 0 });
  assert.equal(requests.length, 0);
});

test("at most five batches of all calls are in flight, and the iterable is read no faster", async (t) => {
  const open: ServerResponse[] = [];
  let most = 0;
  const { client } = await createTestClient(t, (_, response) => {
    most = Math.max(most, open.push(response));
    if (open.length === 5) for (const each of open.splice(0)) sendJson(each, 200, { requestId: "r" });
  });
  let read = 0;
  function* counted() {
    for (const each of invoices(5000)) {
      read++;
      yield each;
    }
  }
  const first = client.ingest.invoices(counted());
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(read <= 600, `${read} records were read before one batch was taken`);
  await Promise.all([first, client.ingest.invoices(invoices(5000))]);
  assert.equal(most, 5);
});

test("a refusal reports where its batch started, stops the reading, and no later batch is sent", async (t) => {
  const message = "invoices[3].amount must be an integer";
  const { client, requests } = await createTestClient(
    t,
    ({ body }, response) =>
      body.includes("inv_103")
        ? sendJson(response, 400, { code: 400, message, details: [] })
        : sendJson(response, 200, { requestId: "r" }),
    { inFlightMax: 1 },
  );
  let closed = false;
  function* endless() {
    try {
      for (let n = 0; ; n++) yield invoice(n);
    } finally {
      closed = true;
    }
  }
  await assert.rejects(client.ingest.invoices(endless()), {
    name: "DunlinError",
    code: 400,
    message,
    firstRecord: 100,
  });
  assert.equal(requests.length, 2);
  assert.ok(closed);
});

test("an abort ends the push at once, even while the source is silent", async (t) => {
  const { client, requests } = await createTestClient(t, acceptedAnswer);
  async function* silent() {
    yield* invoices(100);
    await new Promise(() => {});
  }
  const controller = new AbortController();
  const ingested = client.ingest.invoices(silent(), { signal: controller.signal, onBatch: () => controller.abort() });
  await assert.rejects(ingested, { name: "AbortError" });
  await assert.rejects(client.ingest.invoices(invoices(1), { signal: controller.signal }), { name: "AbortError" });
  assert.equal(requests.length, 1);
});

test("an error of the source reaches the caller", async (t) => {
  const { client } = await createTestClient(t, acceptedAnswer);
  async function* broken() {
    yield invoice(1);
    throw new RangeError("cursor lost");
  }
  await assert.rejects(client.ingest.invoices(broken()), RangeError);
});

test("an error of onBatch reaches the caller unchanged", async (t) => {
  const { client } = await createTestClient(t, acceptedAnswer);
  const thrown = new RangeError("disk full");
  const onBatch = () => {
    throw thrown;
  };
  const error: unknown = await client.ingest.invoices(invoices(1), { onBatch }).catch((each: unknown) => each);
  assert.equal(error, thrown);
  assert.ok(!("firstRecord" in thrown), "only a refusal reports where its batch started");
});

test("a long-lived signal keeps no listeners of finished calls", async (t) => {
  const { client } = await createTestClient(t, acceptedAnswer, { inFlightMax: 1 });
  const { signal } = new AbortController();
  await client.ingest.invoices(invoices(250), { signal });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(getEventListeners(signal, "abort"), []);
});
