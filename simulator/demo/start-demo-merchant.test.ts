import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, httpsTransport, type Invoice, type Transaction } from "#sdk";
import { startHttpsServer } from "../../sdk/test/https-server.ts";
import { createSelfSignedCertificate } from "../../test/self-signed-certificate.ts";
import { startDemoMerchant } from "./start-demo-merchant.ts";

const START_MS = Date.parse("2026-03-02T08:00:00Z");
const RATE = 500_000;

test("the demo merchant bills, pushes and retries over real HTTPS, and journals every webhook request", async (t) => {
  const pushed: Invoice[] = [];
  const attempts: Transaction[] = [];
  // Dunlin lists two executions: one of a pushed attempt, and one of an attempt that does not exist.
  const executed = () =>
    attempts.slice(0, 1).flatMap(({ id: transactionId, invoiceId }) => [
      { id: "a", executedAt: "2026-03-02T09:00:00.000Z", invoiceId, transactionId },
      { id: "b", executedAt: "2026-03-02T09:00:00.000Z", invoiceId, transactionId: "txn_unknown" },
    ]);
  const paths = new Set<string>();
  const dunlin = await startHttpsServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    paths.add(request.url!.split("?")[0]!);
    if (request.url!.endsWith("/transactions")) attempts.push(...JSON.parse(text).transactions);
    if (request.url!.endsWith("/invoices")) pushed.push(...JSON.parse(text).invoices);
    const page = {
      recoveryActions: request.url!.includes("executed_at") ? executed() : [],
      nextPageToken: "",
      totalSize: 0,
    };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(request.method === "GET" ? page : { requestId: "req_1" }));
  });
  const began = performance.now();
  const lines: string[] = [];
  const tls = await createSelfSignedCertificate();
  const demo = await startDemoMerchant({
    seed: 4,
    now: () => new Date(START_MS + (performance.now() - began) * RATE),
    rate: RATE,
    tls,
    webhookToken: "hook-token",
    print: (line) => lines.push(line),
  });
  const client = createClient({ baseUrl: dunlin.url, apiKey: "k", ca: dunlin.ca });
  const webhooks = httpsTransport({ ca: tls.cert });
  t.after(async () => {
    await demo.stop();
    client.close();
    webhooks.close();
    await dunlin.close();
  });
  demo.start(client);
  const unpaid = await waitUntil(() => pushed.findLast(({ state }) => state === "INVOICE_STATE_UNPAID"));

  const send = (authorization: string) =>
    webhooks.send({
      method: "POST",
      url: demo.webhookUrl,
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({
        id: "evt_1",
        type: "pause_collection",
        created: "2026-03-02T09:00:00.000Z",
        data: { invoiceId: unpaid.id },
      }),
      timeoutMs: 5000,
    });
  assert.equal((await send("Bearer other")).status, 401);
  assert.equal((await send("Bearer hook-token")).status, 200);
  assert.equal((await send("Bearer hook-token")).status, 200);
  assert.deepEqual(
    demo.journal.map(({ eventId, attempt, status, duplicate }) => [eventId, attempt, status, duplicate]),
    [
      [null, 0, 401, false],
      ["evt_1", 1, 200, false],
      ["evt_1", 2, 200, true],
    ],
  );
  await waitUntil(() => lines.find((line) => line.includes("summary up to")));
  assert.deepEqual([...paths].sort(), [
    "/ingest/v1/invoices",
    "/ingest/v1/subscriptions",
    "/ingest/v1/transactions",
    "/v1/recovery_actions",
  ]);
  assert.ok(demo.summary().total.failed > 0);
  await demo.stopBilling();
  const { actions, unknown } = demo.executed();
  assert.deepEqual([actions.map(({ id }) => id), unknown.map(({ id }) => id)], [["a", "b"], ["b"]]);
  assert.ok(lines.every((line) => line.length <= 100));
});

async function waitUntil<T>(look: () => T | undefined) {
  for (let tries = 0; tries < 500; tries++) {
    const found = look();
    if (found !== undefined) return found;
    await sleep(10);
  }
  throw new Error("it did not happen within 5 s");
}
