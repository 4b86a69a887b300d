import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { memoryEventStore } from "./event-store.ts";
import { RETRY_EVENT, startTestReceiver, waitUntilSettled } from "./receiver.fixture.ts";
import { createWebhookReceiver } from "./receiver.ts";
import type { WebhookEvent } from "./webhook-event.ts";

test("an event that could not be stored gets a 500, and is handled when it arrives again", async (t) => {
  let keeps = 0;
  const store = memoryEventStore();
  const failing = {
    ...store,
    async keep(event: WebhookEvent, now: Date) {
      if (keeps++ === 0) throw new Error("disk full");
      return store.keep(event, now);
    },
  };
  const { post, handled, errors } = await startTestReceiver(t, { store: failing });
  const { status, body } = await post(RETRY_EVENT);
  // Only onError receives the cause.
  const refusal = { success: false, error_code: "server_error", message: "the event could not be stored" };
  assert.deepEqual([status, body], [500, refusal]);
  assert.match(String(errors[0]), /disk full/);
  assert.equal((await post(RETRY_EVENT)).status, 200);
  await waitUntilSettled();
  assert.equal(handled.length, 1);
});

test("a bug while answering gets a 500, and is reported to onError", async (t) => {
  const now = () => {
    throw new Error("no clock");
  };
  const secrets = `whsec_${Buffer.alloc(32).toString("base64")}`;
  const { post, errors } = await startTestReceiver(t, { secrets, now, concurrency: 0 });
  const { status, body } = await post(RETRY_EVENT);
  assert.deepEqual([status, body], [500, { success: false, error_code: "server_error", message: "unexpected error" }]);
  assert.deepEqual(errors.map(String), ["Error: no clock"]);
});

test("a full store gets a 429", async (t) => {
  const store = memoryEventStore({ openMax: 1 });
  const { post } = await startTestReceiver(t, { store, handle: () => new Promise(() => {}), concurrency: 0 });
  assert.equal((await post(RETRY_EVENT)).status, 200);
  const { status, body, headers } = await post({ ...RETRY_EVENT, id: "b" });
  const message = "too many events wait to be handled";
  assert.deepEqual([status, body], [429, { success: false, error_code: "rate_limit_exceeded", message }]);
  assert.equal(headers["retry-after"], "1");
});

test("a failed event is handled again, and the next process handles events that were left in the store", async (t) => {
  const store = memoryEventStore();
  const first = await startTestReceiver(t, {
    store,
    handle() {
      throw new Error("not now");
    },
  });
  assert.equal((await first.post(RETRY_EVENT)).status, 200);
  await waitUntilSettled();
  assert.match(String(first.errors[0]), /not now/);
  // Otherwise, it would claim the event whenever it is due, and fail with it.
  await first.stop();
  const second = await startTestReceiver(t, { store });
  for (let tries = 0; second.handled.length === 0 && tries < 100; tries++) await sleep(50);
  assert.deepEqual(second.handled, [RETRY_EVENT]);
});

test("a store without full has room", async (t) => {
  const { full: _, ...store } = memoryEventStore();
  const { post } = await startTestReceiver(t, { store });
  assert.equal((await post(RETRY_EVENT)).status, 200);
});

test("an event that is given up is reported to onGiveUp, or else to onError", async (t) => {
  for (const hasOwn of [true, false]) {
    const givenUp: string[] = [];
    const callbacks = { onGiveUp: (error: unknown, { id }: WebhookEvent) => void givenUp.push(`${id}: ${error}`) };
    const { post, errors } = await startTestReceiver(t, {
      triesMax: 1,
      handle: () => Promise.reject(new Error("no such invoice")),
      ...(hasOwn ? callbacks : {}),
    });
    await post(RETRY_EVENT);
    await waitUntilSettled();
    assert.deepEqual(givenUp, hasOwn ? ["0190-a: Error: no such invoice"] : []);
    assert.deepEqual(errors.map(String), hasOwn ? [] : ["Error: no such invoice"]);
  }
});

/** Collects the lines on standard error until the test ends. */
function standardError(t: TestContext) {
  const lines: unknown[][] = [];
  const write = console.error;
  console.error = (...line: unknown[]) => void lines.push(line);
  t.after(() => {
    console.error = write;
  });
  return lines;
}

test("errors and their events are written to standard error when there is no onError", async (t) => {
  const lines = standardError(t);
  const [failure, lost] = [new Error("not now"), new Error("connection lost")];
  const memory = memoryEventStore();
  let claims = 0;
  const { post } = await startTestReceiver(t, {
    store: {
      ...memory,
      claim(limit, now, until) {
        if (++claims === 1) throw lost;
        return memory.claim(limit, now, until);
      },
    },
    onError: undefined,
    handle: () => Promise.reject(failure),
  });
  assert.equal((await post(RETRY_EVENT)).status, 200);
  await waitUntilSettled();
  assert.deepEqual(lines, [
    ["dunlin webhook", undefined, lost],
    ["dunlin webhook", "0190-a", failure],
  ]);
});

test("a receiver reports whether it needs the bytes of a body", async (t) => {
  const common = { auth: { bearer: "hook-token" }, handle() {} };
  const plain = createWebhookReceiver(common);
  const signed = createWebhookReceiver({ ...common, secrets: `whsec_${Buffer.alloc(32).toString("base64")}` });
  t.after(() => Promise.all([plain.stop(), signed.stop()]));
  assert.deepEqual([plain.signed, signed.signed], [false, true]);
});
