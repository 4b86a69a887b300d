import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { SpanStatusCode } from "@opentelemetry/api";
import type { Merchant } from "../domain/merchant.ts";
import { seal } from "../tables/secret-box.ts";
import { startTracerSdk } from "../tracing/tracer-sdk.fixture.ts";
import { realPorts, SECRET_KEYS, START } from "./deliverer.fixture.ts";
import { createSender, type Sender } from "./https/https-sender.ts";
import { type Receiver, startReceiver } from "./https/receiver.fixture.ts";
import { createTarget, sendAttempt } from "./send-attempt.ts";

const SECRET = "a-token-that-nobody-sees";
const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const STEP = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

let receiver: Receiver;
let sender: Sender;
let received: (string | undefined)[] = [];
let sdk: ReturnType<typeof startTracerSdk> | undefined;
before(async () => {
  receiver = await startReceiver((request, reply) => {
    received.push(request.headers.traceparent as string | undefined);
    reply.writeHead(204).end();
  });
  sender = createSender({ allow: receiver.allow, extraCa: receiver.ca, monotonicMs: () => performance.now() });
});
after(async () => {
  await sdk?.stop();
  sender.close();
  await receiver.close();
});
beforeEach(() => {
  received = [];
});

async function attempt(origin: string, traceparent: string | null) {
  const merchant = {
    id: randomUUID(),
    bucket: 0,
    webhookUrl: `${origin}/hook?token=${SECRET}`,
    webhookAuth: "bearer",
    webhookCredential: seal(SECRET_KEYS, randomBytes(12), SECRET),
    webhookSecret: null,
  } as Merchant;
  const delivery = {
    ...{ eventId: randomUUID(), caseId: randomUUID(), type: "pause_collection" as const, body: "{}", traceparent },
    ...{ round: 1, attempts: 0, attemptsMax: 7, dueMs: START.getTime() },
  };
  return sendAttempt(merchant, createTarget(merchant, SECRET_KEYS)!, delivery, 1, sender.send, realPorts);
}

test("a delivery attempt has no header and no span without an SDK, and a stored context is passed on", async () => {
  await attempt(receiver.origin, null);
  await attempt(receiver.origin, STEP);
  assert.deepEqual(received, [undefined, STEP]);
});

test("the span of a delivery attempt names the endpoint without its secrets, and the receiver gets its context", async () => {
  sdk ??= startTracerSdk();
  sdk.reset();
  await attempt(receiver.origin, STEP);
  const [span] = sdk.spans();
  assert.deepEqual(received, [`00-${TRACE_ID}-${span!.spanContext().spanId}-01`]);
  assert.equal(span!.attributes["url.full"], `${receiver.origin}/hook`);
  assert.equal(span!.attributes["http.response.status_code"], 204);
  assert.equal(span!.attributes["http.request.resend_count"], undefined);
  assert.equal(span!.attributes["dunlin.action.id"], undefined);
  assert.doesNotMatch(JSON.stringify([span!.attributes, span!.status]), new RegExp(SECRET));
});

test("an attempt that no one answers is an error with its reason", async () => {
  sdk ??= startTracerSdk();
  sdk.reset();
  await attempt("https://127.0.0.1:1", STEP);
  const [span] = sdk.spans();
  assert.equal(span!.status.code, SpanStatusCode.ERROR);
  assert.ok(span!.status.message);
  assert.equal(span!.attributes["error.type"], "not_answered");
  assert.equal(span!.attributes["http.response.status_code"], undefined);
});
