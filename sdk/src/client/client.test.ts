import assert from "node:assert/strict";
import { test } from "node:test";
import { type AnswerRequest, acceptedAnswer, createTestClient, invoice, sendJson } from "./client.fixture.ts";
import { createClient } from "./client.ts";
import { DunlinError, type DunlinErrorKind } from "./dunlin-error.ts";

test("a 429, a 500, a 503 and a cut connection are retried with growing delays, never sooner than Retry-After", async (t) => {
  const { client, requests, delays } = await createTestClient(t, (_, response, count) => {
    if (count === 1) sendJson(response, 429, { code: 429, message: "slow down", details: [] }, { "retry-after": "7" });
    else if (count === 2) sendJson(response, 503, { code: 503, message: "later", details: [] });
    else if (count === 3) response.socket?.destroy();
    else if (count === 4) sendJson(response, 500, { code: 500, message: "oh", details: [] });
    else sendJson(response, 200, { requestId: "r" });
  });
  assert.deepEqual(await client.ingest.invoices([invoice(1)]), { records: 1, requests: 1 });
  assert.deepEqual(delays, [7000, 250, 500, 1000]);
  assert.equal(new Set(requests.map(({ body }) => body)).size, 1);
});

test("a Retry-After can be a date, gets jitter added, and is reported instead of waited for when it is hours", async (t) => {
  const date = "Wed, 04 Mar 2026 09:00:00 GMT";
  const { client, delays } = await createTestClient(
    t,
    (_, response, count) => {
      const after = count === 1 ? "Wed, 04 Mar 2026 09:00:20 GMT" : "7200";
      sendJson(response, 429, { code: 429, message: "slow down", details: [] }, { date, "retry-after": after });
    },
    { jitter: () => 1 },
  );
  await assert.rejects(client.recoveryActions.page(), {
    code: 429,
    kind: "rate_limit_exceeded",
    retryAfterMs: 7_200_000,
  });
  assert.deepEqual(delays, [20_125]);
});

test("attempts are limited, and the last answer is the error", async (t) => {
  const refuse: AnswerRequest = (_, response) =>
    sendJson(response, 503, { code: 503, message: "down", details: [] }, { "x-request-id": "req_9" });
  const { client, requests } = await createTestClient(t, refuse, { triesMax: 3 });
  await assert.rejects(client.ingest.invoices([invoice(1)]), (error: unknown) => {
    assert.ok(error instanceof DunlinError);
    assert.deepEqual([error.code, error.kind, error.message, error.requestId], [503, "server_error", "down", "req_9"]);
    return true;
  });
  assert.equal(requests.length, 3);
});

test("a refusal has its kind, request id and details, and is not retried", async (t) => {
  const details = [{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [] }];
  let status = 0;
  const { client, requests } = await createTestClient(t, (_, response) =>
    sendJson(response, status, { code: status, message: "no", details }, { "x-request-id": "req_1" }),
  );
  const kinds: [number, DunlinErrorKind][] = [
    [400, "invalid_request"],
    [401, "unauthorized"],
    [403, "forbidden"],
    [413, "invalid_request"],
  ];
  for (const [code, kind] of kinds) {
    status = code;
    await assert.rejects(client.recoveryActions.page(), { code, kind, message: "no", requestId: "req_1", details });
  }
  assert.equal(requests.length, kinds.length);
});

test("a server that never answers causes a timeout", async (t) => {
  const { client, requests } = await createTestClient(t, () => {}, { triesMax: 2, timeoutMs: 1000 });
  await assert.rejects(client.recoveryActions.page(), { name: "DunlinError", code: 0, kind: "no_answer" });
  assert.equal(requests.length, 2);
});

test("an abort cuts off a request, ends a delay, and rejects with its reason", async (t) => {
  const sendAbort = new AbortController();
  const silent = await createTestClient(t, () => sendAbort.abort(new Error("gone")));
  await assert.rejects(silent.client.recoveryActions.page({}, sendAbort), /gone/);
  assert.equal(silent.requests.length, 1);
  const waitAbort = new AbortController();
  const busy = await createTestClient(t, (_, response) => {
    sendJson(response, 503, { code: 503, message: "later", details: [] }, { "retry-after": "60" });
    setTimeout(() => waitAbort.abort(new Error("enough")), 20);
  });
  const real = createClient({ baseUrl: busy.server.url, apiKey: "k", ca: busy.server.ca });
  t.after(() => real.close());
  await assert.rejects(real.recoveryActions.page({}, waitAbort), /enough/);
  await assert.rejects(real.recoveryActions.page({}, waitAbort), /enough/);
  assert.equal(busy.requests.length, 1);
});

test("the list walks all pages with the same filters, by action and by page", async (t) => {
  const { client, requests } = await createTestClient(t, ({ url }, response) => {
    const token = new URL(url, "https://x").searchParams.get("pageToken");
    const page = token === null ? ["a", "b"] : ["c"];
    sendJson(response, 200, {
      recoveryActions: page.map((id) => ({ id })),
      nextPageToken: token === null ? "n+/=" : "",
      totalSize: 3,
    });
  });
  const ids: string[] = [];
  for await (const { id } of client.recoveryActions.list({ currency: "EUR", pageSize: 2 })) ids.push(id);
  assert.deepEqual(ids, ["a", "b", "c"]);
  assert.deepEqual(
    requests.map(({ url }) => url),
    [
      "/v1/recovery_actions?currency=EUR&pageSize=2",
      "/v1/recovery_actions?currency=EUR&pageSize=2&pageToken=n%2B%2F%3D",
    ],
  );
  const sizes: number[] = [];
  for await (const page of client.recoveryActions.list().pages()) sizes.push(page.recoveryActions.length);
  assert.deepEqual(sizes, [2, 1]);
  const rest: string[] = [];
  for await (const { id } of client.recoveryActions.list({ pageToken: "n+/=" })) rest.push(id);
  assert.deepEqual(rest, ["c"]);
});

test("a list that is left early reads no further page", async (t) => {
  const { client, requests } = await createTestClient(t, (_, response) =>
    sendJson(response, 200, { recoveryActions: [{ id: "a" }], nextPageToken: "more", totalSize: 9 }),
  );
  for await (const { id } of client.recoveryActions.list()) if (id === "a") break;
  assert.equal(requests.length, 1);
});

test("a certificate of an unknown CA is not trusted", async (t) => {
  const { server } = await createTestClient(t, acceptedAnswer);
  const untrusting = createClient({ baseUrl: server.url, apiKey: "k", triesMax: 1 });
  await assert.rejects(untrusting.recoveryActions.page(), /self-signed certificate/);
});

test("an invalid address, key or count is refused", () => {
  const good = { baseUrl: "https://localhost", apiKey: "k" };
  const unset = process.env.DUNLIN_NO_SUCH_SETTING as string;
  for (const wrong of [
    { baseUrl: "http://localhost" },
    { apiKey: "" },
    { apiKey: unset },
    { apiKey: "two words" },
    { triesMax: 0 },
    { requestsPerSecond: 0.5 },
    { inFlightMax: Number.NaN },
  ])
    assert.throws(() => createClient({ ...good, ...wrong }), TypeError, JSON.stringify(wrong));
});

test("a request is retried for five minutes, or for the configured time", async (t) => {
  const down: AnswerRequest = (_, response) => sendJson(response, 503, { code: 503, message: "down", details: [] });
  const { client, requests, delays } = await createTestClient(t, down);
  await assert.rejects(client.ingest.invoices([invoice(1)]), { code: 503 });
  const waitedMs = delays.reduce((sum, ms) => sum + ms, 0);
  assert.ok(waitedMs > 4 * 60_000 && waitedMs <= 5 * 60_000, `${waitedMs}`);
  assert.equal(requests.length, delays.length + 1);
  const short = await createTestClient(t, down, { retryForMs: 1_000 });
  await assert.rejects(short.client.ingest.invoices([invoice(1)]), { code: 503 });
  assert.deepEqual(short.delays, [125, 250, 500]);
  const once = await createTestClient(t, down, { retryForMs: 0 });
  await assert.rejects(once.client.ingest.invoices([invoice(1)]), { code: 503 });
  assert.equal(once.requests.length, 1);
});

test("the next address is used when one fails or does not answer, and the one that answered is kept", async (t) => {
  const [first, second] = [
    await createTestClient(t, (_, response, count) => {
      if (count === 1) sendJson(response, 503, { code: 503, message: "restarts", details: [] });
      else response.socket?.destroy();
    }),
    await createTestClient(t, (_, response, count) => {
      if (count === 2) sendJson(response, 429, { code: 429, message: "slow down", details: [] });
      else sendJson(response, 200, { requestId: "r" });
    }),
  ];
  const sleep = async () => {};
  // The CA of both servers: each certificate is self-signed.
  const ca = [first.server.ca, second.server.ca].join("\n");
  const client = createClient({ baseUrl: [first.server.url, second.server.url], apiKey: "k", ca, sleep });
  t.after(() => client.close());
  for (let n = 0; n < 3; n++) await client.ingest.invoices([invoice(n)]);
  assert.deepEqual([first.requests.length, second.requests.length], [1, 4]);
  const failover = createClient({ baseUrl: ["https://127.0.0.1:1", second.server.url], apiKey: "k", ca, sleep });
  t.after(() => failover.close());
  await failover.ingest.invoices([invoice(9)]);
  assert.equal(second.requests.length, 5);
});

test("invalid addresses and times are refused", () => {
  for (const options of [
    { baseUrl: [] },
    { baseUrl: ["https://a.example", "http://b.example"] },
    { baseUrl: "https://a.example", retryForMs: -1 },
  ])
    assert.throws(() => createClient({ apiKey: "k", ...options }), TypeError);
});
