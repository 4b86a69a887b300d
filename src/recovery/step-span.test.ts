import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import { createGroupCommit } from "../ingest/group-commit.ts";
import { ingestSubscriptions, ingestTransactions } from "../ingest/ingest.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { prepared } from "../postgres/database.ts";
import { startTracerSdk } from "../tracing/tracer-sdk.fixture.ts";
import { createFailingDatabase } from "./failing-database.fixture.ts";
import { buildInvoice, DAY, openStage } from "./stage.fixture.ts";

let stage: Awaited<ReturnType<typeof openStage>>;
let sdk: ReturnType<typeof startTracerSdk>;
before(async () => {
  stage = await openStage();
  sdk = startTracerSdk();
});
after(async () => {
  await sdk.stop();
  await stage.drop();
});
let merchant: Merchant;
beforeEach(async () => {
  merchant = await stage.enter();
  sdk.reset();
});

/** A request's context. The number is its trace and its span. */
const request = (n: number) => `00-${String(n).padStart(32, "0")}-${String(n).padStart(16, "0")}-01`;

const push = (traceparent: string | null, overrides: Partial<Invoice> = {}) =>
  ingestInvoices(
    stage.db,
    merchant,
    [[buildInvoice({ updatedAt: stage.now(), ...overrides })]],
    stage.ports,
    () => {},
    [traceparent],
  );

const pushAttempt = (traceparent: string | null, id: string, state: "FAILED" | "PAID" = "FAILED") => {
  const attempt = {
    ...{ id, state, invoiceId: "inv_1", customerId: "cus_1", amount: 4900, currency: "EUR" },
    ...{ createdAt: stage.now(), updatedAt: stage.now(), networkDeclineCode: "51" },
  };
  return ingestTransactions(stage.db, merchant, [[attempt]], stage.ports, () => {}, [traceparent]);
};

const TRACES = prepared(
  "test_traces",
  `select c.invoice_id as invoice, traceparent from case_traces t join cases c on c.merchant_id = t.merchant_id and c.id = t.case_id
   where t.merchant_id = $1 order by at, invoice_id, traceparent`,
);
const storedTraces = async () =>
  (await stage.db.run<{ invoice: string; traceparent: string }>(TRACES, [merchant.id])).rows.map(
    ({ invoice, traceparent }) => [invoice, traceparent],
  );
const DELIVERIES = prepared("test_traced_deliveries", "select traceparent from deliveries where merchant_id = $1");
const storedDeliveries = async () =>
  (await stage.db.run<{ traceparent: string | null }>(DELIVERIES, [merchant.id])).rows.map((row) => row.traceparent);

async function decideUntilRequested() {
  for (let days = 0; days < 14; days++) {
    await stage.decide();
    if ((await stage.actions()).some(({ decided }) => decided)) return;
    stage.wait(DAY);
  }
  assert.fail("no retry was requested");
}

/** Each decided case's parent and links, by the number of the request. */
const steps = () =>
  sdk.spans().map(({ attributes, parentSpanContext, links }) => ({
    invoice: attributes["dunlin.invoice.id"],
    parent: parentSpanContext && Number(parentSpanContext.spanId),
    links: links.map(({ context }) => Number(context.spanId)),
  }));

test("each step until the next facts continues the request, and its events continue the step", async () => {
  await push(request(1));
  assert.deepEqual(await storedTraces(), [["inv_1", request(1)]]);
  await decideUntilRequested();
  const [first, ...later] = steps();
  assert.deepEqual(first, { invoice: "inv_1", parent: 1, links: [] });
  assert.ok(later.length > 0);
  for (const step of later) assert.deepEqual(step, first);
  assert.deepEqual(await storedTraces(), [["inv_1", request(1)]]);
  const spanIds = new Set(sdk.spans().map((span) => span.spanContext().spanId));
  const sent = await storedDeliveries();
  assert.equal(sent.length, 2, "pause_collection and recovery_action");
  for (const traceparent of sent) assert.ok(spanIds.has(traceparent!.split("-")[2]!), traceparent!);
});

test("the spans say what was decided, and nothing about the card or the customer", async () => {
  await push(request(1));
  await pushAttempt(request(2), "txn_1");
  await decideUntilRequested();
  const [first] = sdk.spans();
  const requested = sdk.spans().find(({ attributes }) => String(attributes["dunlin.event.types"]).includes("action"))!;
  const [action] = await stage.actions();
  assert.equal(first!.name, "decide case");
  assert.equal(first!.attributes["dunlin.merchant.id"], merchant.id);
  assert.equal(first!.attributes["dunlin.decision.kind"], "retry");
  assert.equal(first!.attributes["dunlin.decline.group"], "FUNDS");
  assert.equal(requested.attributes["dunlin.action.id"], action!.id);
  assert.deepEqual(requested.attributes["dunlin.event.types"], ["recovery_action"]);
  for (const { attributes } of sdk.spans()) assert.doesNotMatch(JSON.stringify(attributes), /cus_1|4900|fp_1/);
});

test("new facts begin a new trace, which links the one before, and several requests meet in one step", async () => {
  await push(request(1));
  await stage.decide();
  sdk.reset();
  stage.wait(DAY);
  await pushAttempt(request(2), "txn_1");
  stage.wait(1);
  await pushAttempt(request(3), "txn_2");
  await stage.decide();
  assert.deepEqual(steps()[0], { invoice: "inv_1", parent: 3, links: [1, 2] });
  assert.deepEqual(await storedTraces(), [["inv_1", request(3)]]);
});

test("requests that are stored together keep their own contexts", async () => {
  const ingest = createGroupCommit<Invoice>((_, batches, traceparents) =>
    ingestInvoices(stage.db, merchant, batches, stage.ports, () => {}, traceparents),
  );
  const invoice = (n: number) => buildInvoice({ id: `inv_${n}`, customerId: `cus_${n}` });
  // The first one is being stored while the others are joined.
  await Promise.all([
    ingest(merchant, [invoice(0)], request(10)),
    ingest(merchant, [invoice(3), invoice(1)], request(1)),
    ingest(merchant, [invoice(4)], null),
    ingest(merchant, [invoice(2), { ...invoice(1), updatedAt: new Date(stage.now().getTime() + 1) }], request(2)),
  ]);
  assert.deepEqual(await storedTraces(), [
    ["inv_0", request(10)],
    ["inv_1", request(1)],
    ["inv_1", request(2)],
    ["inv_2", request(2)],
    ["inv_3", request(1)],
  ]);
});

test("a subscription's request is the cause of the next step of its cases", async () => {
  await push(request(1), { subscriptionId: "sub_1" });
  await stage.decide();
  sdk.reset();
  stage.wait(1);
  const subscription = {
    ...{ id: "sub_1", state: "CANCELED" as const, customerId: "cus_1", amount: 4900, currency: "EUR" },
    ...{ createdAt: stage.now(), updatedAt: stage.now() },
  };
  const batches = [[subscription as Parameters<typeof ingestSubscriptions>[2][0][0]]];
  await ingestSubscriptions(stage.db, merchant, batches, stage.ports, () => {}, [request(2)]);
  await stage.decide();
  assert.deepEqual(steps()[0], { invoice: "inv_1", parent: 2, links: [1] });
});

test("nothing is kept of an unsampled request, of an unchanged record, or of an invoice without a case", async () => {
  await push(null);
  await push(request(1));
  await push(request(2), { id: "inv_paid", state: "PAID" });
  assert.deepEqual(await storedTraces(), []);
});

test("the payment that ends a case is the cause of its last step, and an ended case keeps nothing", async () => {
  await push(request(1));
  await stage.decide();
  stage.wait(DAY);
  sdk.reset();
  await push(request(2), { state: "PAID" });
  assert.equal((await storedTraces()).length, 2);
  await stage.decide();
  assert.deepEqual(steps()[0], { invoice: "inv_1", parent: 2, links: [1] });
  assert.deepEqual(await storedTraces(), []);
  await pushAttempt(request(3), "txn_late");
  assert.deepEqual(await storedTraces(), []);
});

test("a step that could not be committed is an error, and is traced again when it is repeated", async () => {
  await push(request(1));
  // More and more statements, until one fails after the case was decided.
  for (let failAfter = 1; sdk.spans().length === 0; failAfter++)
    await stage.decide(createFailingDatabase(stage.db, failAfter).db).catch(() => {});
  assert.ok(sdk.spans().every(({ status }) => status.message === "Error"));
  sdk.reset();
  stage.wait(DAY);
  await stage.decide();
  assert.equal(steps()[0]!.parent, 1);
});
