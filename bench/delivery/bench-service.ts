import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger as Log } from "pino";
import type { Event } from "../../src/domain/event.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import { createMerchant } from "../../src/merchants/merchant-settings.ts";
import { openDatabase } from "../../src/postgres/database.ts";
import { openStore, type Store } from "../../src/process/open-store.ts";
import { openCases } from "../../src/tables/cases.ts";
import { insertEvents } from "../../src/tables/events.ts";
import { createEnvironment, createServiceFleet, type ServiceProcess } from "../../test/faults/harness/service-fleet.ts";
import type { Endpoint } from "../delivery-receiver.ts";
import { makeEvent } from "../event-bodies.ts";
import { createScratchSettings, type DatabaseFacts, readDatabaseFacts } from "../scratch-database.ts";

/** `dunlin serve --roles deliver` on embedded PostgreSQL. */
export interface RunningBenchService {
  service: ServiceProcess;
  store: Store;
  log: Log;
  facts: DatabaseFacts;
  dataDir: string;
  port: number;
  /** As `measureRound` takes them. */
  pids(): { deliverer: number; PostgreSQL: number };
  /** Also removes the folder. */
  close(): Promise<void>;
}

const CONNECTIONS = 4;
const HOUR_MS = 3_600_000;
const CHUNK = 1_000;

/** @param settings  more environment variables */
export async function startBenchService(
  endpoint: Endpoint,
  settings: Record<string, string> = {},
  roles = "deliver",
): Promise<RunningBenchService> {
  const scratch = await createScratchSettings();
  const { dataDir, port } = scratch.settings;
  const caFile = join(dataDir, "receiver.pem");
  await writeFile(caFile, endpoint.ca);
  const env = createEnvironment({
    DUNLIN_DATA: dataDir,
    DUNLIN_PORT: String(port),
    DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${endpoint.port}`,
    DUNLIN_WEBHOOK_CA: caFile,
    ...settings,
  });
  const fleet = createServiceFleet({
    environment: () => env,
    words: ["serve", "--roles", roles],
    onEnd(_process, how) {
      throw new Error(`the service ended: ${how}`);
    },
  });
  const service = await fleet.start();
  // Only close() stops the service's PostgreSQL.
  process.once("exit", fleet.abandon);
  const opened = await openStore(scratch.settings, "borrow", CONNECTIONS, scratch.log, () => {});
  // The owner vacuums, makes checkpoints, and bypasses the service.
  const db = openDatabase(opened.address, CONNECTIONS, () => {});
  const store = { ...opened, db };
  const facts = await readDatabaseFacts(store.db, store.address, dataDir);
  return {
    service,
    store,
    log: scratch.log,
    facts,
    dataDir,
    port,
    pids: () => ({ deliverer: service.pid, PostgreSQL: facts.postmaster }),
    async close() {
      process.removeListener("exit", fleet.abandon);
      await service.terminate();
      await db.close();
      await store.close();
      await scratch.remove();
    },
  };
}

/** With their own paths and deliveries paused. */
export async function makeMerchants(
  { store }: RunningBenchService,
  { port }: Endpoint,
  count: number,
  webhookCap: number,
) {
  const merchants: Merchant[] = [];
  for (let index = 0; index < count; index++) {
    const webhookUrl = `https://127.0.0.1:${port}/hooks/${index}`;
    const credential = { auth: "bearer" as const, secret: randomBytes(24).toString("hex") };
    const given = { webhookUrl, webhookCap, credential, webhookPaused: true };
    merchants.push(await createMerchant(store.db, `Bench ${index}`, given, store.secretKeys, store.ports));
  }
  return merchants;
}

/**
 * Due at once, spread evenly over the merchants. Each has its own case, which is queued when delivery ends.
 *
 * @param at  creation time of event 0, 1, …, in service time; default now
 */
export async function commitEvents(
  { store }: RunningBenchService,
  merchants: readonly Merchant[],
  count: number,
  at?: (index: number) => Date,
) {
  const each = count / merchants.length;
  for (const [position, { id: merchantId }] of merchants.entries())
    for (let from = 0; from < each; from += CHUNK) {
      const events = Array.from({ length: Math.min(CHUNK, each - from) }, (_, index) =>
        makeEvent(at?.((from + index) * merchants.length + position) ?? store.ports.now(), store.ports.newId),
      );
      await store.db.transaction(async (tx) => {
        await openCases(tx, merchantId, buildCases(events, store), store.ports.newId());
        await insertEvents(tx, merchantId, events);
      });
    }
}

/** Has seven attempts. Resolves after the commit. */
export async function commitOne({ store }: RunningBenchService, { id: merchantId }: Merchant): Promise<string> {
  const event: Event = { ...makeEvent(store.ports.now(), store.ports.newId), type: "complete_dunning" };
  await store.db.transaction(async (tx) => {
    await openCases(tx, merchantId, buildCases([event], store), store.ports.newId());
    await insertEvents(tx, merchantId, [event]);
  });
  return event.id;
}

const buildCases = (events: readonly Event[], { ports }: Store) =>
  events.map(({ caseId, invoiceId }) => ({
    id: caseId,
    invoiceId,
    customerId: `cus_${invoiceId.slice(3)}`,
    subscriptionId: null,
    amount: 900,
    currency: "EUR",
    unpaidAt: ports.now(),
    windowEndsAt: new Date(ports.now().getTime() + 28 * 24 * HOUR_MS),
    budget: 8,
    arm: "dunlin" as const,
    openedAt: ports.now(),
  }));
