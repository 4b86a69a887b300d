// A process of `delivery`: the deliverer over a new database.
import { randomBytes, randomUUID } from "node:crypto";
import { createDeliverer } from "../src/delivery/deliverer.ts";
import { parseAllowList } from "../src/delivery/https/address-guard.ts";
import { createSender } from "../src/delivery/https/https-sender.ts";
import type { Event } from "../src/domain/event.ts";
import type { Merchant } from "../src/domain/merchant.ts";
import { createMerchant } from "../src/merchants/merchant-settings.ts";
import { createMetrics } from "../src/metrics/metrics.ts";
import { prepared } from "../src/postgres/database.ts";
import { openStore } from "../src/process/open-store.ts";
import { openCases } from "../src/tables/cases.ts";
import { insertEvents } from "../src/tables/events.ts";
import type { Endpoint } from "./delivery-receiver.ts";
import { makeEvent } from "./event-bodies.ts";
import { createScratchSettings, readDatabaseFacts } from "./scratch-database.ts";
import { serveRequests } from "./worker-process.ts";

const CONNECTIONS = 10;
/** Processed by a step at once. */
const CHUNK = 100;
const HOUR_MS = 3_600_000;

const { settings, log, remove } = await createScratchSettings();
const store = await openStore(settings, "own", CONNECTIONS, log, (error) => {
  throw error;
});
const { db, ports, secretKeys } = store;
let deliverer: ReturnType<typeof createDeliverer> | undefined;
let merchants: Merchant[] = [];

/** A merchant per cap, and a deliverer that has seen them. */
async function begin({ endpoint, caps }: { endpoint: Endpoint; caps: number[] }) {
  const webhookUrl = `https://127.0.0.1:${endpoint.port}/hooks`;
  const credential = { auth: "bearer" as const, secret: randomBytes(24).toString("hex") };
  merchants = await Promise.all(
    caps.map((webhookCap, index) =>
      createMerchant(db, `Bench ${index}`, { webhookUrl, webhookCap, credential }, secretKeys, ports),
    ),
  );
  const allow = parseAllowList(`127.0.0.1/32:${endpoint.port}`);
  const { send } = createSender({ allow, extraCa: endpoint.ca, monotonicMs: ports.monotonicMs });
  deliverer = createDeliverer({
    db,
    ports,
    log,
    send,
    secretKeys,
    owner: randomUUID(),
    metrics: createMetrics(db, ports),
  });
  deliverer.start();
}

let preparedEvents: { merchantId: string; events: Event[] }[] = [];

/** Outside the measurement. */
async function prepare({ count, from, to }: { count: number; from: number; to: number }) {
  const chosen = merchants.slice(from, to);
  preparedEvents = [];
  for (const { id: merchantId } of chosen) {
    const now = ports.now();
    const events = Array.from({ length: count / chosen.length }, () => makeEvent(now, ports.newId));
    for (let at = 0; at < events.length; at += CHUNK) {
      const some = events.slice(at, at + CHUNK);
      const cases = some.map(({ caseId, invoiceId }) => ({
        id: caseId,
        invoiceId,
        customerId: `cus_${invoiceId.slice(3)}`,
        subscriptionId: null,
        amount: 900,
        currency: "EUR",
        unpaidAt: now,
        windowEndsAt: new Date(now.getTime() + 28 * 24 * HOUR_MS),
        budget: 8,
        arm: "dunlin" as const,
        openedAt: now,
      }));
      await openCases(db, merchantId, cases, ports.newId());
      preparedEvents.push({ merchantId, events: some });
    }
  }
}

/** Like the deciding loop, also notifies the sender after each commit. */
async function create() {
  for (const { merchantId, events } of preparedEvents) {
    await db.transaction((tx) => insertEvents(tx, merchantId, events));
    deliverer!.wake(merchantId);
  }
}

/**
 * Evenly, one by one; notifies the sender after each commit.
 *
 * @returns ids and commit times, in milliseconds since 1970, with a fraction
 */
async function trickle({ count, perSecond }: { count: number; perSecond: number }) {
  await prepare({ count, from: 0, to: merchants.length });
  const ready = preparedEvents.flatMap(({ merchantId, events }) => events.map((event) => ({ merchantId, event })));
  const startedMs = performance.now();
  const committed = ready.map(async ({ merchantId, event }, index): Promise<[string, number]> => {
    const turn =
      (index % (count / merchants.length)) * merchants.length + Math.floor(index / (count / merchants.length));
    const waitMs = Math.max(0, startedMs + (turn * 1_000) / perSecond - performance.now());
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    await db.transaction((tx) => insertEvents(tx, merchantId, [{ ...event, createdAt: ports.now() }]));
    const at = performance.timeOrigin + performance.now();
    deliverer!.wake(merchantId);
    return [event.id, at];
  });
  return Promise.all(committed);
}

const VACUUM = ["cases", "due_cases", "case_pokes", "events", "deliveries", "delivery_attempts"].map((table) =>
  prepared(`bench_vacuum_${table}`, `vacuum analyze ${table}`),
);
const WAITING = prepared("bench_waiting", "select 1 from deliveries limit 1");
const LOGGED = prepared(
  "bench_logged",
  "select count(*) as attempts from delivery_attempts where ends = 'delivered' and number = 1",
);

serveRequests(
  {
    facts: () => readDatabaseFacts(db, store.address, settings.dataDir),
    begin,
    prepare,
    create,
    trickle,
    // Autovacuum would do this later, at an unpredictable time.
    async tidy() {
      for (const statement of VACUUM) await db.run(statement);
    },
    async recorded() {
      while ((await db.run(WAITING)).rowCount > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    },
    logged: async () => (await db.run<{ attempts: number }>(LOGGED)).rows[0]!.attempts,
  },
  async () => {
    await deliverer?.stop(1_000);
    await store.close();
    await remove();
  },
);
