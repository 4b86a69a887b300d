import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Client,
  httpsTransport,
  type Invoice,
  type Subscription,
  type TransportAnswer,
} from "../../sdk/src/index.ts";
import { keyedRandom } from "../../simulator/world/keyed-random.ts";
import type { AppSettings, FrameworkApp } from "./framework-app.ts";

const EVENTS = 10_000;
const CRASHES = 8;
const CONNECTIONS = 16;

/** Creates Dunlin's side of the wire, for checks that would take the service days. */
export function createSender(app: FrameworkApp, { token, secret }: AppSettings, ca: string) {
  const transport = httpsTransport({ ca, connectionsMax: CONNECTIONS });
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  function post(body: string, over: Record<string, string> = {}): Promise<TransportAnswer> {
    const id = randomUUID();
    const seconds = String(Math.floor(Date.now() / 1000));
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      "webhook-id": id,
      "webhook-timestamp": seconds,
      "webhook-signature": `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`,
      ...over,
    };
    return transport.send({ method: "POST", url: app.url, headers, body, timeoutMs: 30_000 });
  }
  return { post, close: () => transport.close() };
}
export type Sender = ReturnType<typeof createSender>;

const event = (id: string) =>
  JSON.stringify({ id, type: "pause_collection", created: new Date().toISOString(), data: { invoiceId: `inv_${id}` } });

/** Checks that a running service sends each of its three events, and that each is handled once. */
export async function checkReceivesAllEvents(app: FrameworkApp, client: Client) {
  const at = new Date().toISOString();
  const money = { customerId: "cus_1", amount: 4900, currency: "EUR", createdAt: at };
  const subscription: Subscription = { id: "sub_1", state: "SUBSCRIPTION_STATE_ACTIVE", ...money };
  const invoice: Invoice = { id: "inv_1", state: "INVOICE_STATE_UNPAID", subscriptionId: "sub_1", ...money };
  await client.ingest.subscriptions([subscription]);
  await client.ingest.invoices([invoice]);
  await waitUntilHandled(app, 2);
  const updatedAt = new Date().toISOString();
  await client.ingest.subscriptions([
    { ...subscription, state: "SUBSCRIPTION_STATE_CANCELED", canceledAt: updatedAt, updatedAt },
  ]);
  await waitUntilHandled(app, 3);
  assert.deepEqual(
    app
      .handled()
      .map(({ type }) => type)
      .sort(),
    ["complete_dunning", "pause_collection", "recovery_action"],
  );
}

/** Sends every event twice in random order while the app is killed repeatedly, and sends events without a 200 again. */
export async function checkHandlesEachOnce(app: FrameworkApp, { post }: Sender, seed: number) {
  const before = app.handled().length;
  const ids = Array.from({ length: EVENTS }, () => randomUUID());
  const waiting = [...ids, ...ids]
    .map((id, n) => ({ id, place: keyedRandom(seed, "place", n) }))
    .sort((a, b) => a.place - b.place)
    .map(({ id }) => id);
  let acknowledged = 0;
  let cut = 0;
  async function deliver() {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const answer = await post(event(id)).catch(() => null);
      if (answer?.status === 200) acknowledged++;
      else {
        assert.ok(answer === null, `an event was answered with ${answer?.status} ${answer?.body}`);
        cut++;
        waiting.unshift(id);
        await sleep(20);
      }
    }
  }
  async function crashes() {
    for (let n = 1; n <= CRASHES; n++) {
      const next = (2 * EVENTS * (n - keyedRandom(seed, "crash", n) / 2)) / (CRASHES + 1);
      while (acknowledged < next) await sleep(5);
      await app.crash();
    }
  }
  await Promise.all([crashes(), ...Array.from({ length: CONNECTIONS }, deliver)]);
  await waitUntilHandled(app, before + EVENTS);
  // The leases of the last crash have ended, so any second handling has happened by now.
  await sleep(2500);
  const all = app.handled().slice(before);
  assert.equal(all.length, EVENTS, "each is handled once");
  assert.deepEqual(new Set(all.map(({ id }) => id)), new Set(ids));
  return { acknowledged, cut };
}

/** Checks every refusal that the interface documents, literally. */
export async function checkDocumentedAnswers(app: FrameworkApp, { post }: Sender) {
  const good = event(randomUUID());
  const refused = async (code: string, status: number, answering: Promise<TransportAnswer>) => {
    const { status: given, headers, body } = await answering;
    assert.equal(given, status, body);
    assert.match(headers["content-type"] ?? "", /^application\/json/);
    const { success, error_code, message, ...more } = JSON.parse(body);
    assert.deepEqual({ success, error_code, more }, { success: false, error_code: code, more: {} });
    assert.ok(typeof message === "string" && message !== "");
  };
  const [otherType, noInvoice] = [good.replace("pause_collection", "other"), good.replace("invoiceId", "invoice")];
  for (const bad of ["{", "[]", "{}", otherType, noInvoice, good.padEnd(100_000)])
    await refused("invalid_request", 400, post(bad));
  await refused("invalid_request", 400, post(good, { "content-type": "text/plain" }));
  for (const authorization of ["", "Bearer other", "Basic eDp5"])
    await refused("unauthorized", 401, post(good, { authorization }));
  await refused("unauthorized", 401, post(good, { "webhook-signature": "v1,AAAA" }));
  await refused("unauthorized", 401, post(good, { "webhook-timestamp": "1600000000" }));
  await app.tell("full");
  await refused("rate_limit_exceeded", 429, post(good));
  await app.tell("broken");
  await refused("server_error", 500, post(good));
  await app.tell("none");
  assert.deepEqual(JSON.parse((await post(good)).body), { success: true });
  assert.deepEqual(JSON.parse((await post(good)).body), { success: true, message: "already accepted" });
}

async function waitUntilHandled(app: FrameworkApp, count: number) {
  for (const endMs = performance.now() + 60_000; app.handled().length < count; await sleep(100))
    assert.ok(performance.now() < endMs, `${app.handled().length} of ${count} events were handled within a minute`);
}
