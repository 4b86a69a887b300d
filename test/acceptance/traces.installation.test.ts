import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import pino from "pino";
import { readSettings } from "../../src/config/config.ts";
import { openStore } from "../../src/process/open-store.ts";
import { createCaller } from "../contract/api-caller.ts";
import { openShop } from "../contract/contract-shop.ts";
import { eventually } from "../contract/running-service.ts";
import { answerInOrder, startWebhookEndpoint } from "../contract/webhook-endpoint.ts";
import { databaseUrlOf } from "../database-url.ts";
import { createEnvironment, createServiceFleet } from "../faults/harness/service-fleet.ts";
import { findFreePort } from "../free-port.ts";
import { exitWhenInterrupted, removeAtExit } from "../test-server.ts";

const ROLES = ["api", "decide", "deliver"] as const;
/** Another set-up than the test's, to check a guide by hand. */
const SET_UP = process.env.TEST_TRACER_SDK ?? join(import.meta.dirname, "tracer-sdk.ts");

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
}

const folder = await mkdtemp(join(tmpdir(), "dunlin-traces-"));
removeAtExit(folder);
exitWhenInterrupted();
const endpoint = await startWebhookEndpoint();
const caFile = join(folder, "webhook-ca.pem");
writeFileSync(caFile, endpoint.ca);
const shared = {
  DUNLIN_SECRET_KEY: randomBytes(32).toString("base64"),
  DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${endpoint.port}`,
  DUNLIN_WEBHOOK_CA: caFile,
};
const { settings } = readSettings({ DUNLIN_DATA: folder, ...shared }, () => null, new Date());
const store = await openStore(settings, "own", 4, pino({ level: "silent" }), (error) => assert.fail(error));

const spansByService = new Map<string, OtlpSpan[]>();
const collector = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  for (const { scopeSpans } of JSON.parse(Buffer.concat(chunks).toString("utf8")).resourceSpans)
    for (const { spans } of scopeSpans) {
      const service = request.url!.split("/")[1]!;
      spansByService.set(service, [...(spansByService.get(service) ?? []), ...spans]);
    }
  response.writeHead(200, { "content-type": "application/json" }).end("{}");
}).listen(0, "127.0.0.1");
await once(collector, "listening");
const collectorUrl = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;

const port = await findFreePort();
const fleets = ROLES.map((role) =>
  createServiceFleet({
    environment: () =>
      createEnvironment({
        DATABASE_URL: databaseUrlOf(store.address),
        DUNLIN_DATA: join(folder, role),
        DUNLIN_PORT: String(port),
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collectorUrl}/${role}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_METRICS_EXPORTER: "none",
        OTEL_LOGS_EXPORTER: "none",
        ...shared,
      }),
    words: ["serve", "--roles", role],
    preloads: [SET_UP],
    onEnd: (_process, how) => assert.fail(how),
  }),
);
const stopAll = () => Promise.all(fleets.flatMap((fleet) => fleet.running().map((each) => each.terminate())));
after(async () => {
  await stopAll();
  collector.close();
  await endpoint.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

test("three processes with an SDK in NODE_OPTIONS export one trace of a pushed invoice, and their last spans when they stop", async () => {
  await Promise.all(fleets.map((fleet) => fleet.start()));
  const ca = readFileSync(join(folder, "api", "tls", "ca.pem"), "utf8");
  const { call, close } = createCaller(`https://localhost:${port}`, ca);
  const shop = await openShop(store, endpoint, call, { answer: answerInOrder(200) });
  await shop.push("invoices", shop.invoice());
  await eventually(() => shop.events("recovery_action").length === 1, "the webhook", 20_000);
  close();
  for (const stopped of await stopAll()) assert.equal(stopped.code, 0);

  const [, traceId, spanId] = String(shop.events("recovery_action")[0]!.headers.traceparent).split("-");
  const spanIn = (role: (typeof ROLES)[number], id: string | undefined) => {
    const span = spansByService.get(role)?.find((each) => each.traceId === traceId && each.spanId === id);
    assert.ok(span, `${role} exported no span ${id}`);
    return span;
  };
  const delivery = spanIn("deliver", spanId);
  const decision = spanIn("decide", delivery.parentSpanId);
  const request = spanIn("api", decision.parentSpanId);
  assert.deepEqual([delivery.name, decision.name, request.name], ["POST", "decide case", "POST /ingest/v1/invoices"]);
  assert.ok(!request.parentSpanId);
});
