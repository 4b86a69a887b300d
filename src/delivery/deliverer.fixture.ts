import { randomBytes, randomUUID } from "node:crypto";
import pino from "pino";
import { buildEnvelope, type EventType } from "../domain/event.ts";
import { MERCHANT_DEFAULTS, type Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { uuidV7 } from "../process/clock.ts";
import { openCases } from "../tables/cases.ts";
import { insertEvents } from "../tables/events.ts";
import { insertMerchant } from "../tables/merchants.ts";
import { seal } from "../tables/secret-box.ts";
import { createDeliverer, type DelivererOptions } from "./deliverer.ts";

export const SECRET_KEYS = [Buffer.alloc(32, 7)];
export const START = new Date("2026-03-02T10:00:00.000Z");

/** A clock that moves only when `wait` is called. */
export function createManualClock() {
  let nowMs = START.getTime();
  const ports: Ports = {
    now: () => new Date(nowMs),
    realNow: () => new Date(nowMs),
    monotonicMs: () => nowMs,
    clockRate: 1,
    randomBytes,
    newId: randomUUID,
  };
  const wait = (ms: number) => {
    nowMs += ms;
  };
  return { ports, wait };
}

export const realPorts: Ports = {
  now: () => new Date(),
  realNow: () => new Date(),
  monotonicMs: () => performance.now(),
  clockRate: 1,
  randomBytes,
  newId: randomUUID,
};

export async function makeMerchant(db: Database, over: Partial<Merchant> = {}): Promise<Merchant> {
  const merchant: Merchant = {
    ...MERCHANT_DEFAULTS,
    id: randomUUID(),
    name: "Shop",
    bucket: 0,
    webhookUrl: "https://shop.example/hooks",
    webhookAuth: "bearer",
    webhookCredential: seal(SECRET_KEYS, randomBytes(12), "webhook-token"),
    leadMs: 0,
    createdAt: START,
    ...over,
  };
  await insertMerchant(db, merchant);
  return merchant;
}

/** Inserts events that are due at `createdAt`, each with its own case. */
export async function makeEvents(
  db: Database,
  merchant: Merchant,
  count: number,
  createdAt: Date,
  type: EventType = "recovery_action",
) {
  const events = Array.from({ length: count }, () => {
    const id = uuidV7(createdAt, 0, randomBytes(8));
    const invoiceId = `inv_${id}`;
    return {
      id,
      caseId: randomUUID(),
      invoiceId,
      type,
      body: buildEnvelope(id, type, createdAt, { invoiceId }),
      createdAt,
    };
  });
  const windowEndsAt = new Date(createdAt.getTime() + 28 * 86_400_000);
  await db.transaction(async (tx) => {
    await openCases(
      tx,
      merchant.id,
      events.map(({ caseId, invoiceId }) => ({
        id: caseId,
        invoiceId,
        customerId: "cus_1",
        subscriptionId: null,
        amount: 900,
        currency: "EUR",
        unpaidAt: createdAt,
        windowEndsAt,
        budget: 8,
        arm: "dunlin" as const,
        openedAt: createdAt,
      })),
      randomUUID(),
    );
    await insertEvents(tx, merchant.id, events);
  });
  return events;
}

export const makeDeliverer = (options: Pick<DelivererOptions, "db" | "ports" | "send"> & Partial<DelivererOptions>) =>
  createDeliverer({ log: pino({ level: "silent" }), secretKeys: SECRET_KEYS, owner: randomUUID(), ...options });
