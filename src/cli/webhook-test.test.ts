import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { createWebhookReceiver, nodeListener, type WebhookExchange } from "#sdk";
import { startHttpsServer } from "../../sdk/test/https-server.ts";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import {
  createManualClock,
  makeDeliverer,
  makeEvents,
  makeMerchant,
  SECRET_KEYS,
  START,
} from "../delivery/deliverer.fixture.ts";
import { USER_AGENT } from "../delivery/https/request-head.ts";
import { listDeliveries } from "../tables/delivery-states.ts";
import { findMerchant } from "../tables/merchants.ts";
import { seal } from "../tables/secret-box.ts";
import type { Command } from "./command.ts";
import { createTestContext } from "./context.fixture.ts";
import { deliveryShow } from "./delivery-commands.ts";
import { webhookSecretRemove, webhookSecretRotate } from "./webhook-secret.ts";
import { webhookTest } from "./webhook-test.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

interface Endpoint {
  url: string;
  ca: string;
}

/** Runs a command in this process, and returns its exit code and output. */
async function run(
  command: Command,
  endpoint: Endpoint | null,
  id: string,
  values: Record<string, string | boolean> = {},
) {
  const settings = {
    webhookAllow: endpoint ? `127.0.0.1/32:${new URL(endpoint.url).port}` : "",
    webhookCa: endpoint?.ca ?? null,
    dataDir: "no-such-folder",
  };
  const { context, lines } = createTestContext(database.db, settings);
  const code = await command.run(context, values, [id]);
  return { code, out: lines.join("\n") };
}

test("the SDK's receiver accepts signed test events of each type and shape, handles none, and Dunlin logs none", async (t) => {
  const made = await makeMerchant(database.db);
  const first = JSON.parse((await run(webhookSecretRotate, null, made.id, { json: true })).out);
  assert.match(first.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(first.oldSecretUntil, null);
  const handled: unknown[] = [];
  const exchanges: WebhookExchange[] = [];
  const receiver = createWebhookReceiver({
    auth: { bearer: "webhook-token" },
    secrets: first.secret,
    handle: (event) => void handled.push(event),
    onExchange: (exchange) => exchanges.push(exchange),
  });
  const endpoint = await startHttpsServer(nodeListener(receiver));
  t.after(async () => {
    await endpoint.close();
    await receiver.stop();
  });
  const webhookUrl = `${endpoint.url}/hooks`;
  const { webhookSecret } = (await findMerchant(database.db, made.id))!;
  for (const [over, type] of [
    [{}, "pause_collection"],
    [{}, "complete_dunning"],
    [{}, "recovery_action"],
    [{ webhookFlat: true }, "recovery_action"],
    [{ webhookFlat: true, webhookSubPaths: true }, "recovery_action"],
    [{ webhookSubPaths: true }, "pause_collection"],
  ] as const) {
    const merchant = await makeMerchant(database.db, { webhookUrl, webhookSecret, ...over });
    const { code, out } = await run(webhookTest, endpoint, merchant.id, { type, json: true });
    assert.equal(code, 0, out);
    assert.deepEqual(JSON.parse(JSON.parse(out).body), { success: true, message: "test event accepted" });
    assert.deepEqual(await listDeliveries(database.db, merchant.id, { limit: 10 }), []);
  }
  const other = await makeMerchant(database.db, { webhookUrl });
  await run(webhookSecretRotate, null, other.id);
  const refused = await run(webhookTest, endpoint, other.id, { json: true });
  assert.equal(refused.code, 1, "signed by a secret that the receiver does not know");
  assert.match(JSON.parse(refused.out).problem, /status 401/);
  assert.deepEqual(handled, []);
  assert.equal(exchanges.filter(({ test: isTest }) => isTest).length, 6);
});

test("`webhook test` prints the exchange line by line and masks the credential in both directions", async (t) => {
  const endpoint = await startHttpsServer((request, response) => {
    response.writeHead(401, { "content-type": "text/plain", "x-echo": String(request.headers.authorization) });
    response.end(`no: ${request.headers.authorization}\u001b[2J`);
  });
  t.after(endpoint.close);
  const merchant = await makeMerchant(database.db, { webhookUrl: `${endpoint.url}/hooks?x=1` });
  const { code, out } = await run(webhookTest, endpoint, merchant.id);
  assert.equal(code, 1);
  for (const line of [
    /^> POST \/hooks\?x=1 HTTP\/1\.1$/m,
    /^> authorization: Bearer \[redacted\]$/m,
    /^> \{"id":"[0-9a-f-]{36}","type":"pause_collection","created":"[^"]+","data":\{"invoiceId":"dunlin-webhook-test"\},"test":true\}$/m,
    /^< HTTP\/1\.1 401 Unauthorized$/m,
    /^< x-echo: Bearer \[redacted\]$/m,
    /^< no: Bearer \[redacted\]·\[2J$/m,
    /^timings {6}connect \d+\.\d ms, TLS \d+\.\d ms, first byte \d+\.\d ms, total \d+ ms$/m,
    /^certificate {2}CN=server of a test, by CN=server of a test, until 20\d\d-\d\d-\d\d$/m,
    /^result {7}status 401: the endpoint refuses the credential/m,
  ])
    assert.match(out, line);
  assert.doesNotMatch(out, /webhook-token/);
});

test("`webhook test` masks a credential of three characters", async (t) => {
  const endpoint = await startHttpsServer((_request, response) => response.end());
  t.after(endpoint.close);
  const webhookCredential = seal(SECRET_KEYS, randomBytes(12), "tok");
  const merchant = await makeMerchant(database.db, { webhookUrl: endpoint.url, webhookCredential });
  const { out } = await run(webhookTest, endpoint, merchant.id);
  assert.match(out, /^> authorization: Bearer \[redacted\]$/m);
});

test("`webhook test` explains when the secret key no longer decrypts the credential", async () => {
  const webhookCredential = seal([randomBytes(32)], randomBytes(12), "webhook-token");
  const { id } = await makeMerchant(database.db, { webhookUrl: "https://shop.example", webhookCredential });
  await assert.rejects(run(webhookTest, null, id), /the secret key changed, so the webhook credential .* Set it again/);
});

test("`delivery show` prints the body, and for each attempt the request, timings and response", async () => {
  const merchant = await makeMerchant(database.db);
  await run(webhookSecretRotate, null, merchant.id);
  const [event] = await makeEvents(database.db, merchant, 1, START);
  const shown = async () =>
    (await run(deliveryShow, null, event!.id, { merchant: merchant.id })).out.split("\n").slice(4);
  const body = ["body", `    ${event!.body}`];
  assert.deepEqual(await shown(), [...body, "No attempt has ended yet."]);
  const { ports, wait } = createManualClock();
  const deliverer = makeDeliverer({
    db: database.db,
    ports,
    async send({ timings }) {
      Object.assign(timings!, { lookUpMs: 1.2, connectMs: 2.6, tlsMs: 9, firstByteMs: 30 });
      return { outcome: "response", status: 500, retryAfter: null, text: "not\ntoday" };
    },
  });
  await deliverer.deliverDue();
  wait(100);
  await deliverer.deliverDue();
  await deliverer.stop();
  const attempt = (number: number, at: string) => [
    `round 1 attempt ${number}  ${at}  0 ms  status 500`,
    "    DNS 1 ms, connect 3 ms, TLS 9 ms, first byte 30 ms",
    "    not",
    "    today",
  ];
  assert.deepEqual(await shown(), [
    ...body,
    "request",
    "    POST https://shop.example/hooks",
    "    content-type: application/json",
    `    user-agent: ${USER_AGENT}`,
    "    authorization: Bearer [redacted]",
    "    webhook-id: the event's id",
    "    webhook-timestamp: the attempt's start",
    "    webhook-signature: v1,[redacted]",
    ...attempt(1, "2026-03-02T10:00:00.000Z"),
    ...attempt(2, "2026-03-02T10:00:00.100Z"),
  ]);
  const { out } = await run(deliveryShow, null, event!.id, { merchant: merchant.id, json: true });
  assert.deepEqual(
    JSON.parse(out).map(({ number, tlsMs }: { number: number; tlsMs: number }) => [number, tlsMs]),
    [
      [1, 9],
      [2, 9],
    ],
  );
});

test("rotating and removing a secret prints what signs from now on", async () => {
  const { id } = await makeMerchant(database.db);
  assert.doesNotMatch((await run(webhookSecretRotate, null, id)).out, /old secret/);
  const second = await run(webhookSecretRotate, null, id, { overlap: "7d" });
  assert.match(second.out, /^secret {2}whsec_\S{44} {3}\(shown once\)$/m);
  assert.match(second.out, /The old secret also signs until 20/);
  assert.match(
    (await run(webhookSecretRotate, null, id, { overlap: "30m" })).out,
    /The secret before it no longer signs/,
  );
  assert.match((await run(webhookSecretRemove, null, id)).out, /without a signature/);
  for (const overlap of ["", "1", "1y", "-1h", "1.5h", "367d", "24 h"])
    await assert.rejects(run(webhookSecretRotate, null, id, { overlap }), /--overlap takes/, overlap);
});

test("webhook commands refuse an unknown merchant or one without an endpoint", async () => {
  const { id } = await makeMerchant(database.db, { webhookUrl: null });
  await assert.rejects(run(webhookTest, null, id), /has no endpoint/);
  for (const command of [webhookTest, webhookSecretRotate, webhookSecretRemove])
    for (const unknownId of ["nobody", "01900000-0000-7000-8000-000000000000"])
      await assert.rejects(run(command, null, unknownId), /There is no merchant/);
  await assert.rejects(run(webhookTest, null, id, { type: "refund" }), /--type takes one of/);
});
