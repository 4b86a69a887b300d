import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import pino from "pino";
import { readSettings } from "../../src/config/config.ts";
import { prepared } from "../../src/postgres/database.ts";
import { type Role, type RunningService, start } from "../../src/start.ts";
import { startTracerSdk } from "../../src/tracing/tracer-sdk.fixture.ts";
import { createCaller } from "../contract/api-caller.ts";
import { openShop, type Shop } from "../contract/contract-shop.ts";
import { eventually } from "../contract/running-service.ts";
import { startWebhookEndpoint } from "../contract/webhook-endpoint.ts";
import { createTestDatabase } from "../database.ts";
import { databaseUrlOf } from "../database-url.ts";
import { findFreePort } from "../free-port.ts";
import { exitWhenInterrupted, removeAtExit } from "../test-server.ts";

// Each role with its own connections, so that a context goes from one to the next only through the tables.
const endpoint = await startWebhookEndpoint();
const folder = await mkdtemp(join(tmpdir(), "dunlin-traces-"));
removeAtExit(folder);
exitWhenInterrupted();
const caFile = join(folder, "webhook-ca.pem");
writeFileSync(caFile, endpoint.ca);
const SECRET_KEY = randomBytes(32).toString("base64");
const database = await createTestDatabase();
const running: RunningService[] = [];
const logLines: Record<string, unknown>[] = [];
const log = pino({ level: "info" }, { write: (line: string) => void logLines.push(JSON.parse(line)) });

async function startRole(role: Role) {
  const { settings } = readSettings(
    {
      DATABASE_URL: databaseUrlOf(database.address),
      DUNLIN_DATA: folder,
      DUNLIN_SECRET_KEY: SECRET_KEY,
      DUNLIN_PORT: String(await findFreePort()),
      DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${endpoint.port}`,
      DUNLIN_WEBHOOK_CA: caFile,
    },
    () => null,
    new Date(),
  );
  const onFatal = (error: Error) => assert.fail(error);
  const one = await start({ settings, roles: new Set([role]), log, onFatal, allowDataLoss: true });
  running.push(one);
  return { ...one, settings };
}

let shop: Shop;
let closeCaller = () => {};
let sdk: ReturnType<typeof startTracerSdk> | undefined;
before(async () => {
  const api = await startRole("api");
  await startRole("decide");
  await startRole("deliver");
  const { call, close } = createCaller(api.settings.baseUrl, readFileSync(api.caPath!, "utf8"));
  closeCaller = close;
  // The first request of each event fails.
  shop = await openShop(api.store, endpoint, call, {
    answer: (_request, response, earlier) =>
      response.writeHead(earlier === 0 ? 503 : 200, { "retry-after": "2" }).end(),
  });
});
after(async () => {
  await sdk?.stop();
  closeCaller();
  await endpoint.close();
  await Promise.all(running.map((each) => each.stop()));
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await sdk?.stop();
  sdk = undefined;
  logLines.length = 0;
});

const STORED = prepared(
  "test_stored_traces",
  `select (
       select count(*)::int from case_traces t join cases c on c.merchant_id = t.merchant_id and c.id = t.case_id
       where c.invoice_id = $1
     ) as cases, (
       select count(*)::int from deliveries d join events e on e.merchant_id = d.merchant_id and e.id = d.event_id
       where e.invoice_id = $1 and d.traceparent is not null
     ) as deliveries`,
);
const storedTraces = async (invoiceId: string) =>
  (await database.db.run<{ cases: number; deliveries: number }>(STORED, [invoiceId])).rows[0]!;

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const callerContext = (flags: string) => `00-${TRACE_ID}-00f067aa0ba902b7-${flags}`;

async function pushTraced(traceparent: string | null) {
  const invoice = shop.invoice();
  const headers = { "content-type": "application/json", ...(traceparent && { traceparent }) };
  const reply = await shop.call({
    method: "POST",
    path: "/ingest/v1/invoices",
    headers,
    body: { invoices: [invoice] },
  });
  assert.equal(reply.status, 200, reply.text);
  return { invoiceId: String(invoice.id), requestId: String(reply.json.requestId) };
}

/** The requests that the endpoint received for the recovery action, the second of which it accepts. */
const requestsOf = (invoiceId: string) =>
  shop.events("recovery_action").filter(({ json }) => (json.data as { invoiceId: string }).invoiceId === invoiceId);

const awaitDelivery = (invoiceId: string) =>
  eventually(() => requestsOf(invoiceId).length === 2, "the second delivery attempt", 20_000);

test("a push, its decision by another process and the delivery by a third one are one trace, which the endpoint can go on with", async () => {
  sdk = startTracerSdk();
  const { invoiceId, requestId } = await pushTraced(callerContext("01"));
  await eventually(() => requestsOf(invoiceId).length === 1, "the first delivery attempt");
  const stored = await storedTraces(invoiceId);
  assert.equal(stored.cases, 1);
  assert.ok(stored.deliveries >= 1);
  await awaitDelivery(invoiceId);
  const spans = () => sdk!.spans().filter((span) => span.spanContext().traceId === TRACE_ID);
  const attemptSpans = () => spans().filter(({ attributes }) => attributes["dunlin.event.type"] === "recovery_action");
  await eventually(() => attemptSpans().length === 2, "the spans");

  const ingest = spans().find(({ name }) => name === "POST /ingest/v1/invoices")!;
  assert.equal(ingest.kind, SpanKind.SERVER);
  assert.equal(ingest.parentSpanContext?.spanId, "00f067aa0ba902b7");
  assert.deepEqual(ingest.attributes, {
    "http.request.method": "POST",
    "http.route": "/ingest/v1/invoices",
    "url.path": "/ingest/v1/invoices",
    "url.scheme": "https",
    "http.response.status_code": 200,
    "dunlin.merchant.id": shop.id,
    "dunlin.request.id": requestId,
    "dunlin.records": 1,
    "dunlin.stored": 1,
  });
  const steps = spans().filter(({ name }) => name === "decide case");
  for (const step of steps) assert.equal(step.parentSpanContext?.spanId, ingest.spanContext().spanId);
  const deciding = steps.find(({ attributes }) =>
    String(attributes["dunlin.event.types"]).includes("recovery_action"),
  )!;
  assert.equal(deciding.attributes["dunlin.invoice.id"], invoiceId);
  assert.equal(deciding.attributes["dunlin.decision.kind"], "retry");

  const [first, second] = requestsOf(invoiceId);
  const actionId = first!.json.id;
  assert.equal(deciding.attributes["dunlin.action.id"], actionId);
  const [failed, delivered] = attemptSpans();
  for (const [span, request] of [[failed!, first!] as const, [delivered!, second!] as const]) {
    assert.equal(span.kind, SpanKind.CLIENT);
    assert.equal(span.parentSpanContext?.spanId, deciding.spanContext().spanId);
    assert.equal(request.headers.traceparent, `00-${TRACE_ID}-${span.spanContext().spanId}-01`);
  }
  assert.equal(failed!.status.code, SpanStatusCode.ERROR);
  assert.equal(delivered!.status.code, SpanStatusCode.UNSET);
  const { "dunlin.case.id": caseId, ...attributes } = delivered!.attributes;
  assert.equal(caseId, deciding.attributes["dunlin.case.id"]);
  assert.deepEqual(attributes, {
    "http.request.method": "POST",
    "http.request.resend_count": 1,
    "http.response.status_code": 200,
    "server.address": "127.0.0.1",
    "server.port": endpoint.port,
    "url.full": shop.hook.url,
    "dunlin.merchant.id": shop.id,
    "dunlin.event.id": actionId,
    "dunlin.event.type": "recovery_action",
    "dunlin.action.id": actionId,
    "dunlin.delivery.attempt": 2,
  });
  assert.equal(failed!.attributes["error.type"], "503");
  const line = logLines.find((each) => each.requestId === requestId && each.msg === "request.finished");
  assert.equal(line!.traceId, TRACE_ID);
});

test("a stop by API and the event that it causes are one trace", async () => {
  const { invoiceId } = await pushTraced(null);
  await awaitDelivery(invoiceId);
  sdk = startTracerSdk();
  const path = `/v1/invoices/${invoiceId}:stop`;
  const reply = await shop.call({ method: "POST", path, headers: { traceparent: callerContext("01") } });
  assert.equal(reply.status, 200, reply.text);
  const sent = () => sdk!.spans().find(({ attributes }) => attributes["dunlin.event.id"] === reply.json.eventId);
  await eventually(() => sent() !== undefined, "the delivery attempt");
  const request = sdk.spans().find(({ name }) => name === "POST /v1/invoices/{invoiceId}:stop")!;
  assert.equal(request.spanContext().traceId, TRACE_ID);
  assert.equal(sent()!.parentSpanContext?.spanId, request.spanContext().spanId);
});

test("a request without a sampled trace stores no context, with an SDK or without one", async () => {
  const plain = await pushTraced(callerContext("01"));
  // The event waits for its second attempt.
  await eventually(() => requestsOf(plain.invoiceId).length === 1, "the first delivery attempt");
  assert.deepEqual(await storedTraces(plain.invoiceId), { cases: 0, deliveries: 0 });
  await awaitDelivery(plain.invoiceId);
  for (const { headers } of requestsOf(plain.invoiceId)) assert.equal(headers.traceparent, undefined);
  assert.ok(logLines.every((line) => line.traceId === undefined));

  sdk = startTracerSdk();
  const unsampled = await pushTraced(callerContext("00"));
  assert.equal((await storedTraces(unsampled.invoiceId)).cases, 0);
  assert.ok(sdk.spans().every((span) => span.spanContext().traceId !== TRACE_ID));
});

test("an unauthenticated request makes no span, and a refused one makes one without an error", async () => {
  sdk = startTracerSdk();
  const path = "/ingest/v1/invoices";
  const json = { "content-type": "application/json" };
  const headers = { ...json, authorization: "Bearer wrong", traceparent: callerContext("01") };
  assert.equal((await shop.call({ method: "POST", path, headers, body: {} })).status, 401);
  assert.equal((await shop.call({ method: "POST", path, headers: json, body: {} })).status, 400);
  await eventually(() => sdk!.spans().length > 0, "the span");
  const [refused] = sdk.spans();
  assert.equal(refused!.attributes["http.response.status_code"], 400);
  assert.equal(refused!.status.code, SpanStatusCode.UNSET);
  assert.equal(sdk.spans().filter(({ kind }) => kind === SpanKind.SERVER).length, 1);
});
