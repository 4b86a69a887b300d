import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { request } from "node:https";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { httpsServer } from "../../test/https-server.ts";
import { nodeListener } from "../adapters/node.ts";
import { memoryEventStore } from "./event-store.ts";
import { createWebhookReceiver, type ReceiverOptions, type WebhookExchange } from "./receiver.ts";
import type { WebhookEvent } from "./webhook-event.ts";

const retry = {
  id: "0190-a",
  type: "recovery_action",
  created: "2026-03-04T09:12:00.000Z",
  data: {
    invoiceId: "inv_1",
    subscriptionId: "sub_1",
    actionSuggestion: "ACTION_SUGGESTION_RETRY",
    idealRetryTime: "2026-03-06T09:10:00.000Z",
  },
};

interface Reply {
  status: number;
  body: Record<string, unknown>;
  headers: NodeJS.Dict<string | string[]>;
}
interface Sent {
  method?: string;
  path?: string;
  headers?: Record<string, string | string[]>;
}

async function receiver(t: TestContext, options: Partial<ReceiverOptions> = {}) {
  const handled: WebhookEvent[] = [];
  const exchanges: WebhookExchange[] = [];
  const errors: unknown[] = [];
  const made = createWebhookReceiver({
    auth: { bearer: "hook-token" },
    handle: (event) => void handled.push(event),
    onExchange: (exchange) => exchanges.push(exchange),
    onError: (error) => errors.push(error),
    ...options,
  });
  const server = await httpsServer(nodeListener(made));
  t.after(async () => {
    await server.close();
    await made.stop();
  });
  const post = (body: unknown, { method = "POST", path = "/hooks", headers = {} }: Sent = {}) =>
    new Promise<Reply>((resolve, reject) => {
      const all = { authorization: "Bearer hook-token", "content-type": "application/json", ...headers };
      const outgoing = request(server.url + path, { method, ca: server.ca, headers: all }, (incoming) => {
        let text = "";
        incoming.on("data", (chunk) => {
          text += chunk;
        });
        incoming.on("end", () =>
          resolve({ status: incoming.statusCode!, body: JSON.parse(text), headers: incoming.headers }),
        );
      });
      outgoing.on("error", reject);
      outgoing.end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    });
  return { post, handled, exchanges, errors, url: server.url, ca: server.ca, stop: () => made.stop() };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 10));

test("an event is acknowledged and handled once, however often it comes", async (t) => {
  const { post, handled, exchanges } = await receiver(t);
  const replies = await Promise.all([post(retry), post(retry), post(retry)]);
  replies.push(await post(retry));
  await settled();
  assert.ok(replies.every(({ status, body }) => status === 200 && body.success === true));
  assert.deepEqual(handled, [retry]);
  assert.equal(exchanges.filter(({ duplicate }) => !duplicate).length, 1);
  assert.equal(exchanges.length, 4);
});

test("the flat retry request gives the same event, and its requestId is the event's id", async (t) => {
  const { post, handled } = await receiver(t);
  const flat = { requestId: retry.id, ...retry.data };
  assert.equal((await post(flat, { path: "/hooks/recovery_action" })).status, 200);
  assert.equal((await post(retry)).status, 200);
  await settled();
  const { created: _, ...withoutCreated } = retry;
  assert.deepEqual(handled, [withoutCreated]);
});

test("the two events that carry only an invoice are taken, on their sub-paths too", async (t) => {
  const { post, handled } = await receiver(t);
  const pause = { id: "p", type: "pause_collection", created: retry.created, data: { invoiceId: "inv_1" } };
  const complete = { ...pause, id: "c", type: "complete_dunning" };
  assert.equal((await post(pause, { path: "/hooks/pause_collection" })).status, 200);
  assert.equal((await post(complete, { path: "/hooks/complete_dunning?x=1" })).status, 200);
  assert.equal((await post({ ...pause, id: "d" }, { path: "/hooks/complete_dunning" })).status, 400);
  await settled();
  assert.deepEqual(handled, [pause, complete]);
});

test("a test event is acknowledged in either shape, again and again, and never handled", async (t) => {
  const { post, handled, exchanges } = await receiver(t, { store: memoryEventStore({ openMax: 0 }) });
  for (const body of [
    { ...retry, test: true },
    { ...retry, test: true },
    { requestId: "t", ...retry.data, test: true },
  ])
    assert.deepEqual((await post(body)).body, { success: true, message: "test event taken" });
  await settled();
  assert.deepEqual(handled, []);
  assert.deepEqual(
    exchanges.map(({ test: isTest }) => isTest),
    [true, true, true],
  );
});

test("the reply does not wait for the handling", async (t) => {
  let end = () => {};
  const { post, handled } = await receiver(t, {
    handle: (event) =>
      new Promise<void>((resolve) => {
        end = () => resolve(void handled.push(event));
      }),
  });
  assert.equal((await post(retry)).status, 200);
  await settled();
  assert.deepEqual(handled, []);
  end();
  await settled();
  assert.deepEqual(handled, [retry]);
});

test("wrong credentials are a 401 before anything else is looked at", async (t) => {
  const { post, handled } = await receiver(t);
  const wrong = [
    "",
    "Bearer wrong",
    "Bearer hook-token2",
    "Basic hook-token",
    "Bearer",
    "hook-token",
    "Bearer hook-token x",
  ];
  for (const authorization of wrong) {
    const { status, body } = await post("not json", { headers: { authorization } });
    assert.deepEqual([status, body.success, body.error_code], [401, false, "unauthorized"], authorization);
  }
  const twice = await post(retry, { headers: { authorization: ["Bearer hook-token", "Bearer hook-token"] } });
  assert.equal(twice.status, 401);
  await settled();
  assert.deepEqual(handled, []);
});

test("basic credentials are taken, with colons in the password and any case of the scheme", async (t) => {
  const { post } = await receiver(t, { auth: { basic: { username: "dunlin", password: "pä:ss" } } });
  const basic = (text: string) => ({ headers: { authorization: `basic ${Buffer.from(text).toString("base64")}` } });
  assert.equal((await post(retry, basic("dunlin:pä:ss"))).status, 200);
  assert.equal((await post(retry, basic("dunlin:other"))).status, 401);
  assert.equal((await post(retry)).status, 401);
});

test("with a secret only signed events are taken, with either secret during a rotation, and each attempt at its own time", async (t) => {
  const [old, current] = [1, 2].map((byte) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`) as [string, string];
  const { post, handled } = await receiver(t, { secrets: [old, current] });
  const signed = (secret: string, body: string, agoS = 0, id = retry.id) => {
    const timestamp = String(Math.floor(Date.now() / 1_000) - agoS);
    const key = Buffer.from(secret.slice(6), "base64");
    const digest = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
    return { headers: { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${digest}` } };
  };
  // Spaces that a parser would drop: what is signed are the bytes.
  const body = JSON.stringify(retry, null, 2);
  const unknown = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
  for (const sent of [
    {},
    signed(unknown, body),
    signed(old, `${body} `),
    signed(old, body, 310),
    signed(old, body, -310),
  ]) {
    const { status, body: reply } = await post(body, sent);
    assert.deepEqual([status, reply.error_code], [401, "unauthorized"]);
  }
  assert.deepEqual(handled, []);
  for (const sent of [signed(old, body), signed(current, body), signed(current, body, 200)])
    assert.equal((await post(body, sent)).status, 200);
  await settled();
  assert.equal(handled.length, 1);
});

test("a secret that is none is refused when the receiver is made", () => {
  assert.throws(() => createWebhookReceiver({ auth: { bearer: "t" }, secrets: "", handle() {} }), TypeError);
});

test("what is not an event is a 400 that says why", async (t) => {
  const { post, handled } = await receiver(t);
  const bad: [unknown, RegExp][] = [
    ["{", /not JSON/],
    ["[]", /JSON object/],
    [Buffer.from([0x7b, 0xff, 0x7d]), /UTF-8/],
    [{ ...retry, id: "" }, /^id/],
    [{ ...retry, type: "other" }, /^type/],
    [{ ...retry, created: "yesterday" }, /^created/],
    [{ ...retry, data: null }, /^data/],
    [{ ...retry, data: { ...retry.data, invoiceId: 7 } }, /^data\.invoiceId/],
    [{ ...retry, data: { ...retry.data, actionSuggestion: "RETRY" } }, /^data\.actionSuggestion/],
    [{ ...retry, data: { ...retry.data, idealRetryTime: "2026-03-06" } }, /^data\.idealRetryTime/],
    [{ requestId: "x", ...retry.data, invoiceId: undefined }, /^invoiceId/],
  ];
  for (const [sent, message] of bad) {
    const { status, body } = await post(sent);
    assert.deepEqual([status, body.success, body.error_code], [400, false, "invalid_request"]);
    assert.match(String(body.message), message);
  }
  await settled();
  assert.deepEqual(handled, []);
});

test("other methods, other content types and large bodies are a 400: the interface has no other status for them", async (t) => {
  const { post } = await receiver(t, { bodyLimit: 1000 });
  for (const method of ["GET", "PUT", "DELETE"]) assert.equal((await post("", { method })).status, 400);
  assert.equal((await post(retry, { headers: { "content-type": "text/plain" } })).status, 400);
  assert.equal((await post(retry, { headers: { "content-type": "application/json; charset=utf-8" } })).status, 200);
  const chunked: Record<string, string> = { "transfer-encoding": "chunked" };
  for (const headers of [{}, chunked]) {
    const { status, body } = await post(`"${"x".repeat(100_000)}"`, { headers });
    assert.deepEqual([status, body.message], [400, "the body is larger than 1000 bytes"]);
  }
  assert.equal((await post(retry)).status, 200, "the endpoint still answers");
});

test("an event that could not be kept is a 500, and is handled when it comes again", async (t) => {
  let keeps = 0;
  const store = memoryEventStore();
  const failing = {
    ...store,
    async keep(event: WebhookEvent, now: Date) {
      if (keeps++ === 0) throw new Error("disk full");
      return store.keep(event, now);
    },
  };
  const { post, handled, errors } = await receiver(t, { store: failing });
  const { status, body } = await post(retry);
  assert.deepEqual([status, body.error_code], [500, "server_error"]);
  assert.doesNotMatch(String(body.message), /disk/);
  assert.match(String(errors[0]), /disk full/);
  assert.equal((await post(retry)).status, 200);
  await settled();
  assert.equal(handled.length, 1);
});

test("a bug while answering is a 500, too", async (t) => {
  const now = () => {
    throw new Error("no clock");
  };
  const { post } = await receiver(t, { secrets: `whsec_${Buffer.alloc(32).toString("base64")}`, now });
  const { status, body } = await post(retry);
  assert.deepEqual([status, body], [500, { success: false, error_code: "server_error", message: "unexpected error" }]);
});

test("a full store is a 429", async (t) => {
  const store = memoryEventStore({ openMax: 1 });
  const { post } = await receiver(t, { store, handle: () => new Promise(() => {}), concurrency: 0 });
  assert.equal((await post(retry)).status, 200);
  const { status, body, headers } = await post({ ...retry, id: "b" });
  assert.deepEqual([status, body.error_code, headers["retry-after"]], [429, "rate_limit_exceeded", "1"]);
});

test("what failed is handled again, and what was left in the store is handled by the next process", async (t) => {
  const store = memoryEventStore();
  const first = await receiver(t, {
    store,
    handle() {
      throw new Error("not now");
    },
  });
  assert.equal((await first.post(retry)).status, 200);
  await settled();
  assert.match(String(first.errors[0]), /not now/);
  // It would go on taking the event whenever that is due, and fail with it.
  await first.stop();
  const second = await receiver(t, { store });
  for (let tries = 0; second.handled.length === 0 && tries < 100; tries++) await sleep(50);
  assert.deepEqual(second.handled, [retry]);
});

test("a request that no web handler could be given ends without an answer, and nothing else", async (t) => {
  const { post, url, ca } = await receiver(t);
  await assert.rejects(
    new Promise((resolve, reject) => {
      request(url, { method: "TRACE", ca }, resolve).on("error", reject).end();
    }),
    /socket hang up/,
  );
  assert.equal((await post(retry)).status, 200);
});
