import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { request } from "node:https";
import { test } from "node:test";
import { memoryEventStore } from "./event-store.ts";
import { RETRY_EVENT, startTestReceiver, waitUntilSettled } from "./receiver.fixture.ts";
import { createWebhookReceiver } from "./receiver.ts";

test("an event is acknowledged every time, and handled once", async (t) => {
  const { post, handled, exchanges } = await startTestReceiver(t);
  const replies = await Promise.all([post(RETRY_EVENT), post(RETRY_EVENT), post(RETRY_EVENT)]);
  replies.push(await post(RETRY_EVENT));
  await waitUntilSettled();
  assert.ok(replies.every(({ status, body }) => status === 200 && body.success === true));
  const messages = replies.map(({ body }) => body.message);
  assert.deepEqual(messages.sort(), ["already accepted", "already accepted", "already accepted", undefined]);
  assert.deepEqual(handled, [RETRY_EVENT]);
  assert.equal(exchanges.filter(({ duplicate }) => !duplicate).length, 1);
  assert.equal(exchanges.length, 4);
});

test("the flat retry request yields the same event, with its requestId as the id", async (t) => {
  const { post, handled } = await startTestReceiver(t);
  const flat = { requestId: RETRY_EVENT.id, ...RETRY_EVENT.data };
  assert.equal((await post(flat, { path: "/hooks/recovery_action" })).status, 200);
  assert.equal((await post(RETRY_EVENT)).status, 200);
  await waitUntilSettled();
  const { created: _, ...withoutCreated } = RETRY_EVENT;
  assert.deepEqual(handled, [withoutCreated]);
});

test("the two events with only an invoice are accepted, also on their sub-paths", async (t) => {
  const { post, handled } = await startTestReceiver(t);
  const pause = { id: "p", type: "pause_collection", created: RETRY_EVENT.created, data: { invoiceId: "inv_1" } };
  const complete = { ...pause, id: "c", type: "complete_dunning" };
  assert.equal((await post(pause, { path: "/hooks/pause_collection" })).status, 200);
  assert.equal((await post(complete, { path: "/hooks/complete_dunning?x=1" })).status, 200);
  assert.equal((await post({ ...pause, id: "d" }, { path: "/hooks/complete_dunning" })).status, 400);
  await waitUntilSettled();
  assert.deepEqual(handled, [pause, complete]);
});

test("recovery_ended is accepted with its reason, also a reason that this version does not know, and refused without one", async (t) => {
  const { post, handled } = await startTestReceiver(t);
  const ended = (id: string, data: object) => ({ id, type: "recovery_ended", created: RETRY_EVENT.created, data });
  const known = ended("a", { invoiceId: "inv_1", endReason: "END_REASON_PAID" });
  const unknown = ended("b", { invoiceId: "inv_1", endReason: "END_REASON_OF_TOMORROW" });
  assert.equal((await post(known, { path: "/hooks/recovery_ended" })).status, 200);
  assert.equal((await post(unknown)).status, 200);
  assert.equal((await post(ended("c", { invoiceId: "inv_1" }))).status, 400);
  await waitUntilSettled();
  assert.deepEqual(handled, [known, unknown]);
});

test("a test event is acknowledged in either shape, every time, and never handled", async (t) => {
  const { post, handled, exchanges } = await startTestReceiver(t, { store: memoryEventStore({ openMax: 0 }) });
  for (const body of [
    { ...RETRY_EVENT, test: true },
    { ...RETRY_EVENT, test: true },
    { requestId: "t", ...RETRY_EVENT.data, test: true },
  ])
    assert.deepEqual((await post(body)).body, { success: true, message: "test event accepted" });
  await waitUntilSettled();
  assert.deepEqual(handled, []);
  const exchange = { type: "recovery_action", duplicate: false, test: true, status: 200 };
  assert.deepEqual(
    exchanges,
    [RETRY_EVENT.id, RETRY_EVENT.id, "t"].map((eventId) => ({ eventId, ...exchange })),
  );
});

test("the reply does not wait for the handler", async (t) => {
  let end = () => {};
  const { post, handled } = await startTestReceiver(t, {
    handle: (event) =>
      new Promise<void>((resolve) => {
        end = () => resolve(void handled.push(event));
      }),
  });
  assert.equal((await post(RETRY_EVENT)).status, 200);
  await waitUntilSettled();
  assert.deepEqual(handled, []);
  end();
  await waitUntilSettled();
  assert.deepEqual(handled, [RETRY_EVENT]);
});

test("wrong credentials get a 401 before anything else is checked", async (t) => {
  const { post, handled } = await startTestReceiver(t);
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
    const { status, body, headers } = await post("not json", { headers: { authorization } });
    const refusal = { success: false, error_code: "unauthorized", message: "credentials missing or invalid" };
    assert.deepEqual([status, body], [401, refusal], authorization);
    assert.equal(headers["www-authenticate"], "Bearer, Basic");
  }
  const twice = await post(RETRY_EVENT, { headers: { authorization: ["Bearer hook-token", "Bearer hook-token"] } });
  assert.equal(twice.status, 401);
  await waitUntilSettled();
  assert.deepEqual(handled, []);
});

test("basic credentials are accepted with colons in the password and any case of the scheme", async (t) => {
  const { post } = await startTestReceiver(t, { auth: { basic: { username: "dunlin", password: "pä:ss" } } });
  const basic = (text: string) => ({ headers: { authorization: `basic ${Buffer.from(text).toString("base64")}` } });
  assert.equal((await post(RETRY_EVENT, basic("dunlin:pä:ss"))).status, 200);
  assert.equal((await post(RETRY_EVENT, basic("dunlin:other"))).status, 401);
  assert.equal((await post(RETRY_EVENT)).status, 401);
});

test("a receiver with secrets accepts only signed events, either secret during a rotation, and each attempt at its own time", async (t) => {
  const [old, current] = [1, 2].map((byte) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`) as [string, string];
  const { post, handled } = await startTestReceiver(t, { secrets: [old, current] });
  const signed = (secret: string, body: string, agoS = 0, id = RETRY_EVENT.id) => {
    const timestamp = String(Math.floor(Date.now() / 1_000) - agoS);
    const key = Buffer.from(secret.slice(6), "base64");
    const digest = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
    return { headers: { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${digest}` } };
  };
  // Spaces that a parser would drop: the signature covers the bytes.
  const body = JSON.stringify(RETRY_EVENT, null, 2);
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
  await waitUntilSettled();
  assert.equal(handled.length, 1);
});

test("an invalid secret is refused when the receiver is created", () => {
  assert.throws(() => createWebhookReceiver({ auth: { bearer: "t" }, secrets: "", handle() {} }), TypeError);
});

test("a body that is no event gets a 400 with the reason", async (t) => {
  const { post, handled } = await startTestReceiver(t);
  const bad: [unknown, RegExp][] = [
    ["{", /not JSON/],
    ["[]", /JSON object/],
    [Buffer.from([0x7b, 0xff, 0x7d]), /UTF-8/],
    [{ ...RETRY_EVENT, id: "" }, /^id/],
    [{ ...RETRY_EVENT, type: "other" }, /^type/],
    [{ ...RETRY_EVENT, created: "yesterday" }, /^created/],
    [{ ...RETRY_EVENT, data: null }, /^data/],
    [{ ...RETRY_EVENT, data: { ...RETRY_EVENT.data, invoiceId: 7 } }, /^data\.invoiceId/],
    [{ ...RETRY_EVENT, data: { ...RETRY_EVENT.data, actionSuggestion: "RETRY" } }, /^data\.actionSuggestion/],
    [{ ...RETRY_EVENT, data: { ...RETRY_EVENT.data, idealRetryTime: "2026-03-06" } }, /^data\.idealRetryTime/],
    [{ requestId: "x", ...RETRY_EVENT.data, invoiceId: undefined }, /^invoiceId/],
  ];
  for (const [sent, message] of bad) {
    const { status, body } = await post(sent);
    assert.deepEqual([status, body.success, body.error_code], [400, false, "invalid_request"]);
    assert.match(String(body.message), message);
  }
  await waitUntilSettled();
  assert.deepEqual(handled, []);
});

test("other methods, other content types and large bodies get a 400, because the API allows no other status", async (t) => {
  const { post, exchanges } = await startTestReceiver(t, { bodyLimit: 1000 });
  for (const [method, sent] of [
    ["GET", ""],
    ["DELETE", ""],
    ["PUT", RETRY_EVENT],
  ] as const) {
    const { status, body } = await post(sent, { method });
    assert.deepEqual([status, body.message], [400, "only POST is accepted"]);
  }
  for (const type of ["text/plain", "application/jsonp", "x-application/json"]) {
    const { status, body } = await post(RETRY_EVENT, { headers: { "content-type": type } });
    assert.deepEqual([status, body.message], [400, "the content type must be application/json"], type);
  }
  const chunked: Record<string, string> = { "transfer-encoding": "chunked" };
  for (const headers of [{}, chunked]) {
    const { status, body } = await post(`"${"x".repeat(100_000)}"`, { headers });
    assert.deepEqual([status, body.message], [400, "the body is larger than 1000 bytes"]);
  }
  assert.equal(exchanges.length, 8);
  for (const each of exchanges) assert.deepEqual(each, { eventId: null, type: null, duplicate: false, status: 400 });
  assert.equal((await post(RETRY_EVENT)).status, 200, "the endpoint still answers");
});

test("a body of the maximum size and a content type with parameters are accepted", async (t) => {
  const { post, handled } = await startTestReceiver(t, { bodyLimit: 1000 });
  for (const type of ["application/json; charset=utf-8", "Application/JSON ;charset=utf-8"])
    assert.equal((await post(RETRY_EVENT, { headers: { "content-type": type } })).status, 200, type);
  assert.equal((await post(JSON.stringify({ ...RETRY_EVENT, id: "0190-b" }).padEnd(1000))).status, 200);
  assert.equal((await post(JSON.stringify({ ...RETRY_EVENT, id: "0190-c" }).padEnd(1001))).status, 400);
  await waitUntilSettled();
  assert.deepEqual(
    handled.map(({ id }) => id),
    [RETRY_EVENT.id, "0190-b"],
  );
});

test("a request without a body gets a 400", async (t) => {
  const made = createWebhookReceiver({ auth: { bearer: "hook-token" }, handle: () => assert.fail("no event came") });
  t.after(() => made.stop());
  const headers = { authorization: "Bearer hook-token", "content-type": "application/json" };
  const reply = await made.receive(new Request("https://shop.example/hooks", { method: "POST", headers }));
  assert.equal(reply.status, 400);
});

test("a request that the web API cannot represent ends without an answer", async (t) => {
  const { post, url, ca } = await startTestReceiver(t);
  await assert.rejects(
    new Promise((resolve, reject) => {
      request(url, { method: "TRACE", ca }, resolve).on("error", reject).end();
    }),
    /socket hang up/,
  );
  assert.equal((await post(RETRY_EVENT)).status, 200);
});
