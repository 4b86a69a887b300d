import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { AllowedAddress } from "./address-guard.ts";
import type { Reply } from "./exchange.ts";
import { createSender, type Sender } from "./https-sender.ts";
import type { Receiver } from "./receiver.fixture.ts";

export const LIMITS = { replyMs: 2_500, bodyMs: 150, bodyBytes: 65_536 };

export const OK_STATUS_LINE = "HTTP/1.1 200 OK\r\n";
export const WHOLE_REPLY = `${OK_STATUS_LINE}content-length: 2\r\n\r\nhi`;

/** Tolerance for a busy machine. */
const BUSY_MS = 10_000;

/** A new sender reads all certificate authorities, which takes 50 ms. */
const freeSenders: { sender: Sender; allow: AllowedAddress[] }[] = [];

function newSender(extraCa: string) {
  const allow: AllowedAddress[] = [];
  return { allow, sender: createSender({ allow, extraCa, monotonicMs: () => performance.now(), limits: LIMITS }) };
}

/**
 * Posts once and closes the receiver. Asserts that the deadline holds, the reply can be recorded, and no connection stays in use.
 */
export async function sendOneAttempt(receiver: Receiver, origin = receiver.origin): Promise<Reply> {
  const pooled = freeSenders.pop() ?? newSender(receiver.ca);
  const { sender, allow } = pooled;
  allow.splice(0, allow.length, ...receiver.allow);
  try {
    const startedMs = performance.now();
    const reply = await sender.send({ origin, path: "/", authorization: null, body: "{}" });
    const tookMs = performance.now() - startedMs;
    assert.ok(tookMs < LIMITS.replyMs + LIMITS.bodyMs + BUSY_MS, `one deadline holds: ${tookMs} ms`);
    if (reply.outcome === "response") assert.ok(reply.status >= 200 && reply.status <= 999, String(reply.status));
    else assert.ok(reply.error.length > 0 && reply.error.length < 600);
    await sleep(20);
    assert.equal(sender.connections().open - sender.connections().idle, 0);
    return reply;
  } finally {
    // An open server would keep the process alive after a failed test.
    await receiver.close();
    sender.close();
    freeSenders.push(pooled);
  }
}
