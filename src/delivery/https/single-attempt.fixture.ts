import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { AllowedAddress } from "./address-guard.ts";
import type { Reply } from "./exchange.ts";
import { createSender, type Sender } from "./https-sender.ts";
import type { Receiver } from "./receiver.fixture.ts";

/** The limits of the interface on a scale on which tests are quick. */
export const LIMITS = { replyMs: 2_500, bodyMs: 150, bodyBytes: 65_536 };

export const OK_STATUS_LINE = "HTTP/1.1 200 OK\r\n";
/** A whole reply. */
export const WHOLE_REPLY = `${OK_STATUS_LINE}content-length: 2\r\n\r\nhi`;

/** What other work on the machine may add: what has no end is noticed all the same. */
const BUSY_MS = 10_000;

/** Senders that nobody uses right now: a new one reads all authorities, which takes 50 ms. */
const freeSenders: { sender: Sender; allow: AllowedAddress[] }[] = [];

function newSender(extraCa: string) {
  const allow: AllowedAddress[] = [];
  return { allow, sender: createSender({ allow, extraCa, monotonicMs: () => performance.now(), limits: LIMITS }) };
}

/**
 * Posts once to a receiver of this process that is made for this, and closes it. Whatever it does, one deadline holds, the reply is one
 * that can be recorded, and no connection is left in use.
 */
export async function sendOneAttempt(receiver: Receiver, origin = receiver.origin): Promise<Reply> {
  const lent = freeSenders.pop() ?? newSender(receiver.ca);
  const { sender, allow } = lent;
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
    // Also of a test that fails: its server would keep the process.
    await receiver.close();
    sender.close();
    freeSenders.push(lent);
  }
}
