import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { httpsServer } from "../test/https-server.ts";
import { createClient } from "./client.ts";
import { DunlinError } from "./dunlin-error.ts";
import type { Invoice } from "./records.ts";

interface Received {
  method: string;
  url: string;
  authorization: string;
  body: string;
}
type Answer = (received: Received, response: ServerResponse, count: number) => void;

/** A client of a server that answers as told; `delays` are the waits between tries, not waited for. */
async function clientOf(t: TestContext, answer: Answer, options: { triesMax?: number; timeoutMs?: number } = {}) {
  const requests: Received[] = [];
  const delays: number[] = [];
  const server = await httpsServer(async (request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method = "", url = "", headers } = request;
    requests.push({ method, url, authorization: headers.authorization ?? "", body });
    answer(requests.at(-1)!, response, requests.length);
  });
  const sleep = async (ms: number) => void delays.push(ms);
  const client = createClient({ baseUrl: server.url, apiKey: "dln_live_key", ca: server.ca, sleep, ...options });
  t.after(async () => {
    client.close();
    await server.close();
  });
  return { client, requests, delays, server };
}

const json = (response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) =>
  response.writeHead(status, { ...headers, "content-type": "application/json" }).end(JSON.stringify(body));

const invoice = (n: number): Invoice => ({
  id: `inv_${n}`,
  state: "INVOICE_STATE_UNPAID",
  customerId: "cus_1",
  amount: 4900,
  currency: "EUR",
  createdAt: "2026-03-04T09:12:00.000Z",
});
const invoices = (count: number) => Array.from({ length: count }, (_, n) => invoice(n));

test("records are sent in order in batches of 100, each with the key", async (t) => {
  const { client, requests } = await clientOf(t, (_, response, count) =>
    json(response, 200, { requestId: `r${count}` }),
  );
  assert.deepEqual(await client.ingestInvoices(invoices(250)), ["r1", "r2", "r3"]);
  const bodies = requests.map(({ body }) => JSON.parse(body).invoices as Invoice[]);
  assert.deepEqual(bodies.flat(), invoices(250));
  assert.deepEqual(
    bodies.map((batch) => batch.length),
    [100, 100, 50],
  );
  assert.ok(requests.every(({ authorization }) => authorization === "Bearer dln_live_key"));
  assert.ok(requests.every(({ method, url }) => method === "POST" && url === "/ingest/v1/invoices"));
});

test("no records are no request", async (t) => {
  const { client, requests } = await clientOf(t, (_, response) => json(response, 200, { requestId: "r" }));
  assert.deepEqual(await client.ingestTransactions([]), []);
  assert.equal(requests.length, 0);
});

test("a 429, a 503 and a cut connection are tried again with growing delays, never sooner than Retry-After", async (t) => {
  const { client, requests, delays } = await clientOf(t, (_, response, count) => {
    if (count === 1) json(response, 429, { code: 429, message: "slow down", details: [] }, { "retry-after": "7" });
    else if (count === 2) json(response, 503, { code: 503, message: "later", details: [] });
    else if (count === 3) response.socket?.destroy();
    else json(response, 200, { requestId: "r" });
  });
  assert.deepEqual(await client.ingestInvoices([invoice(1)]), ["r"]);
  assert.deepEqual(delays, [7000, 500, 1000]);
  assert.equal(new Set(requests.map(({ body }) => body)).size, 1);
});

test("tries are bounded, and the last answer is the error", async (t) => {
  const refuse: Answer = (_, response) =>
    json(response, 503, { code: 503, message: "down", details: [] }, { "x-request-id": "req_9" });
  const { client, requests } = await clientOf(t, refuse, { triesMax: 3 });
  await assert.rejects(client.ingestInvoices([invoice(1)]), (error: unknown) => {
    assert.ok(error instanceof DunlinError);
    assert.deepEqual([error.code, error.message, error.requestId], [503, "down", "req_9"]);
    return true;
  });
  assert.equal(requests.length, 3);
});

test("an endless silence ends at the time-out and is an error with code 0", async (t) => {
  const { client, requests } = await clientOf(t, () => {}, { triesMax: 2, timeoutMs: 50 });
  await assert.rejects(
    client.recoveryActionsPage(),
    (error: unknown) => error instanceof DunlinError && error.code === 0,
  );
  assert.equal(requests.length, 2);
});

test("a refusal is not tried again and no later batch is sent", async (t) => {
  const message = "invoices[3].amount must be an integer";
  const { client, requests } = await clientOf(t, (_, response) =>
    json(response, 400, { code: 400, message, details: [] }),
  );
  await assert.rejects(client.ingestInvoices(invoices(150)), { name: "DunlinError", code: 400, message });
  assert.equal(requests.length, 1);
});

test("the list walks all pages with the same filters", async (t) => {
  const { client, requests } = await clientOf(t, ({ url }, response) => {
    const token = new URL(url, "https://x").searchParams.get("pageToken");
    const page = token === null ? ["a", "b"] : ["c"];
    json(response, 200, {
      recoveryActions: page.map((id) => ({ id })),
      nextPageToken: token === null ? "n+/=" : "",
      totalSize: 3,
    });
  });
  const ids: string[] = [];
  for await (const { id } of client.listRecoveryActions({ currency: "EUR", pageSize: 2 })) ids.push(id);
  assert.deepEqual(ids, ["a", "b", "c"]);
  assert.deepEqual(
    requests.map(({ url }) => url),
    [
      "/v1/recovery_actions?currency=EUR&pageSize=2",
      "/v1/recovery_actions?currency=EUR&pageSize=2&pageToken=n%2B%2F%3D",
    ],
  );
});

test("a certificate of an unknown authority is not trusted", async (t) => {
  const { server } = await clientOf(t, (_, response) => json(response, 200, {}));
  const stranger = createClient({ baseUrl: server.url, apiKey: "k", triesMax: 1 });
  await assert.rejects(stranger.recoveryActionsPage(), /self-signed certificate/);
});

test("only https addresses are taken", () => {
  assert.throws(() => createClient({ baseUrl: "http://localhost", apiKey: "k" }), TypeError);
});
