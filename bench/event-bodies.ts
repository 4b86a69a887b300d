import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { buildEnvelope, type Event } from "../src/domain/event.ts";

const MINUTE_MS = 60_000;

/** An instruction to retry: 0.3 kB. */
export function makeEvent(createdAt: Date, newId: () => string): Event {
  const id = newId();
  const invoiceId = `in_${randomBytes(12).toString("base64url")}`;
  const body = buildEnvelope(id, "recovery_action", createdAt, {
    invoiceId,
    subscriptionId: `sub_${randomBytes(12).toString("base64url")}`,
    actionSuggestion: "RETRY",
    idealRetryTime: new Date(createdAt.getTime() + randomInt(1, 50) * MINUTE_MS),
  });
  return { id, caseId: newId(), invoiceId, type: "recovery_action", body, createdAt };
}

export const makeEventBodies = (count: number) =>
  Array.from({ length: count }, () => makeEvent(new Date(), randomUUID).body);
