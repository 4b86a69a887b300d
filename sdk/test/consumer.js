// A merchant's program, run by tarball.test.ts in a project with only the SDK installed, on Node 20 if available.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import https from "node:https";
import { createClient, createWebhookReceiver, DunlinError, httpsTransport, nodeListener } from "@dunlin/sdk";

const tls = { cert: readFileSync("cert.pem", "utf8"), key: readFileSync("key.pem", "utf8") };

async function listening(listener) {
  const server = https.createServer(tls, listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const stored = [];
const dunlin = await listening(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const url = new URL(request.url, "https://x");
  response.setHeader("content-type", "application/json").setHeader("x-request-id", "req_1");
  if (request.headers.authorization !== "Bearer key") {
    response.writeHead(401).end(JSON.stringify({ code: 401, message: "no such key", details: [] }));
  } else if (request.method === "POST") {
    stored.push(...JSON.parse(body).invoices);
    response.end(JSON.stringify({ requestId: "req_1" }));
  } else {
    const first = Number(url.searchParams.get("pageToken") ?? 0);
    const actions = [0, 1, 2].map((n) => ({ id: `a${n}`, executedAt: `2026-03-04T09:00:0${n}.000Z` }));
    const page = {
      recoveryActions: actions.slice(first, first + 2),
      nextPageToken: first === 0 ? "2" : "",
      totalSize: 3,
    };
    response.end(JSON.stringify(page));
  }
});
const client = createClient({ baseUrl: dunlin.url, apiKey: "key", ca: tls.cert });
async function* invoices() {
  for (let n = 0; n < 250; n++) yield { id: `inv_${n}`, state: "INVOICE_STATE_UNPAID" };
}
assert.deepEqual(await client.ingest.invoices(invoices()), { records: 250, requests: 3 });
assert.equal(stored.length, 250);
const ids = [];
for await (const { id } of client.recoveryActions.list()) ids.push(id);
for await (const page of client.recoveryActions.sync({ since: "2026-03-04T09:00:01Z" }))
  ids.push(...page.recoveryActions.map(({ id }) => id));
assert.deepEqual(ids, ["a0", "a1", "a2", "a1", "a2"]);
const unauthorized = createClient({ baseUrl: dunlin.url, apiKey: "other", ca: tls.cert });
await assert.rejects(
  unauthorized.recoveryActions.page(),
  (error) => error instanceof DunlinError && error.kind === "unauthorized" && error.requestId === "req_1",
);
await assert.rejects(client.ingest.invoices(invoices(), { signal: AbortSignal.abort() }), { name: "AbortError" });

const handled = [];
const receiver = createWebhookReceiver({ auth: { bearer: "token" }, handle: ({ id }) => handled.push(id) });
const endpoint = await listening(nodeListener(receiver));
const webhooks = httpsTransport({ ca: tls.cert });
const data = { invoiceId: "inv_1" };
const post = async (authorization) => {
  const headers = { authorization, "content-type": "application/json" };
  const body = JSON.stringify({ id: "e1", type: "pause_collection", created: "2026-03-04T09:00:00.000Z", data });
  const answer = await webhooks.send({ method: "POST", url: endpoint.url, headers, body, timeoutMs: 5000 });
  return [answer.status, JSON.parse(answer.body)];
};
assert.deepEqual(await post("Bearer token"), [200, { success: true }]);
assert.deepEqual(await post("Bearer token"), [200, { success: true, message: "already accepted" }]);
const refusal = { success: false, error_code: "unauthorized", message: "credentials missing or invalid" };
assert.deepEqual(await post("Bearer other"), [401, refusal]);
await receiver.stop();
assert.deepEqual(handled, ["e1"]);

for (const each of [client, unauthorized, webhooks, dunlin, endpoint]) each.close();
console.log(`fine on ${process.version}`);
