import pino from "pino";
import type { WebhookEvent } from "#sdk";
import { createDeliverer } from "../../src/delivery/deliverer.ts";
import type { Invoice } from "../../src/domain/invoice.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import type { Ports } from "../../src/domain/ports.ts";
import type { Subscription } from "../../src/domain/subscription.ts";
import type { Transaction } from "../../src/domain/transaction.ts";
import type { PretrainedModel } from "../../src/engine/learned/pretrained-model.ts";
import { ingestSubscriptions, ingestTransactions } from "../../src/ingest/ingest.ts";
import { ingestInvoices } from "../../src/ingest/ingest-invoices.ts";
import { createLearner } from "../../src/learning/learn-due.ts";
import { createModelCache } from "../../src/learning/model-cache.ts";
import { createMerchant, type MerchantSettings } from "../../src/merchants/merchant-settings.ts";
import type { Database } from "../../src/postgres/database.ts";
import { processDueCases } from "../../src/recovery/process-due-cases.ts";
import { numberedId } from "../numbered-id.ts";

/** Records that a merchant pushes together. */
export interface PushedRecords {
  subscriptions: Subscription[];
  transactions: Transaction[];
  invoices: Invoice[];
}

/** The service's own loops, run at given times, and its database. */
export interface ServiceLoops {
  merchant(name: string, settings: MerchantSettings): Promise<Merchant>;
  push(at: number, merchant: Merchant, records: PushedRecords): Promise<void>;
  /** Decides, delivers and learns until nothing is due. @returns the next due time; Infinity: none */
  work(at: number): Promise<number>;
  close(): Promise<void>;
}

const SECRET_KEYS = [Buffer.alloc(32, 3)];
/** The service learns more often. */
const LEARNING_INTERVAL_MS = 60 * 60_000;

/** @param receive  how merchants react to an event, which always arrives */
export function openServiceLoops(
  db: Database,
  prior: PretrainedModel,
  receive: (event: WebhookEvent) => void,
): ServiceLoops {
  const log = pino({ level: "warn" }, pino.destination(2));
  let nowMs = 0;
  let ids = 0;
  let learnedAt = Number.NEGATIVE_INFINITY;
  const ports: Ports = {
    now: () => new Date(nowMs),
    realNow: () => new Date(nowMs),
    monotonicMs: () => nowMs,
    clockRate: 1,
    randomBytes: (size) => Buffer.alloc(size, 7),
    newId: () => numberedId(nowMs, ++ids),
  };
  const pause = async () => {};
  const owner = numberedId(0, 1);
  const models = createModelCache({ db, ports, log, prior });
  const learner = createLearner({ db, ports, log, prior, owner, pause });
  const deliverer = createDeliverer({
    db,
    ports,
    log,
    secretKeys: SECRET_KEYS,
    owner,
    sleep: pause,
    async send({ body }) {
      receive(JSON.parse(body) as WebhookEvent);
      return { outcome: "response", status: 200, retryAfter: null, text: null };
    },
  });
  let hasEvents = false;
  const onEvents = () => {
    hasEvents = true;
  };
  const deciding = { db, ports, log, models, pause, onEvents, onWithdrawn: deliverer.dropWithdrawn };
  const moveTo = (at: number) => {
    nowMs = Math.max(nowMs + 1, at);
  };
  return {
    merchant(name, settings) {
      const endpoint = {
        webhookUrl: "https://merchant.example/dunlin",
        credential: { auth: "bearer", secret: "t" },
      } as const;
      return createMerchant(db, name, { ...endpoint, explore: true, ...settings }, SECRET_KEYS, ports);
    },
    async push(at, merchant, { subscriptions, transactions, invoices }) {
      moveTo(at);
      const told = () => {};
      if (subscriptions.length > 0) await ingestSubscriptions(db, merchant, [[...subscriptions]], ports, told);
      if (transactions.length > 0) await ingestTransactions(db, merchant, [[...transactions]], ports, told);
      if (invoices.length > 0) await ingestInvoices(db, merchant, [[...invoices]], ports, told);
    },
    async work(at) {
      moveTo(at);
      for (;;) {
        const { processedCount, nextDueAt } = await processDueCases(deciding);
        moveTo(nowMs);
        if (hasEvents) {
          hasEvents = false;
          await deliverer.deliverDue();
        }
        if (processedCount > 0) continue;
        if (nowMs - learnedAt >= LEARNING_INTERVAL_MS) {
          learnedAt = nowMs;
          await learner.learnDue();
        }
        return nextDueAt?.getTime() ?? Number.POSITIVE_INFINITY;
      }
    },
    close: () => deliverer.stop(0),
  };
}
