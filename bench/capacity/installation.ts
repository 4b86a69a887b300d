import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createApiKey } from "../../src/auth/api-keys.ts";
import { beginSession } from "../../src/auth/sessions.ts";
import { SESSION_COOKIE } from "../../src/console/visit.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import { createMerchant } from "../../src/merchants/merchant-settings.ts";
import { type Database, openDatabase } from "../../src/postgres/database.ts";
import { startEmbedded } from "../../src/postgres/embedded/start.ts";
import { openStore, type Store } from "../../src/process/open-store.ts";
import { addMember } from "../../src/tables/members.ts";
import { insertPerson } from "../../src/tables/people.ts";
import { databaseUrlOf } from "../../test/database-url.ts";
import { createEnvironment, createServiceFleet, type ServiceProcess } from "../../test/faults/harness/service-fleet.ts";
import { findFreePort } from "../../test/free-port.ts";
import type { Endpoint } from "../delivery-receiver.ts";
import { createScratchSettings, type DatabaseFacts, readDatabaseFacts } from "../scratch-database.ts";

export const ROLES = ["api", "decide", "deliver", "console"] as const;
export type Role = (typeof ROLES)[number];

export interface Tenant {
  merchant: Merchant;
  apiKey: string;
}

/** Its own PostgreSQL, and a process for each role, so that each has its own CPU time. */
export interface Installation {
  store: Store;
  /** The owner's one connection, whose CPU does not count. */
  db: Database;
  facts: DatabaseFacts;
  ca: string;
  ports: Record<"api" | "console", number>;
  processes: Record<Role, ServiceProcess>;
  startDecider(): Promise<ServiceProcess>;
  /** Tenants whose deliveries are paused. */
  createTenants(count: number, webhookCap?: number): Promise<Tenant[]>;
  /** The cookie for a person who may see the merchant's pages. */
  signIn(merchant: Merchant): Promise<string>;
  close(): Promise<void>;
}

const CONNECTIONS = 4;
/** A retry within a day is requested at once, so a first decision makes an event. */
const LEAD_MS = 86_400_000;

export async function startInstallation(endpoint: Endpoint): Promise<Installation> {
  const { settings, log, remove } = await createScratchSettings();
  const fail = (error: Error) => {
    throw error;
  };
  // Commit times show when a row became visible.
  const commitTimes = { track_commit_timestamp: "on" };
  const embedded = await startEmbedded({
    ...{ dataDir: join(settings.dataDir, "postgres"), log, mode: "borrow", settings: commitTimes },
  });
  const store = await openStore(settings, "own", CONNECTIONS, log, fail);
  const db = openDatabase(store.address, 1, () => {});
  const facts = await readDatabaseFacts(db, store.address, settings.dataDir);
  const caFile = join(settings.dataDir, "receiver.pem");
  await writeFile(caFile, endpoint.ca);
  const listening = { api: await findFreePort(), console: await findFreePort() };
  const fleets: ReturnType<typeof createServiceFleet>[] = [];

  async function startProcess(role: Role): Promise<ServiceProcess> {
    const port = role === "api" || role === "console" ? listening[role] : await findFreePort();
    const env = createEnvironment({
      DUNLIN_DATA: settings.dataDir,
      DATABASE_URL: databaseUrlOf(store.address),
      DUNLIN_PORT: String(port),
      DUNLIN_LOG_LEVEL: "warn",
      DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${endpoint.port}`,
      DUNLIN_WEBHOOK_CA: caFile,
    });
    const fleet = createServiceFleet({
      environment: () => env,
      words: ["serve", "--roles", role],
      onEnd: (_process, how) => fail(new Error(`${role}: ${how}`)),
    });
    fleets.push(fleet);
    process.once("exit", fleet.abandon);
    return fleet.start();
  }

  const started = new Map<Role, ServiceProcess>();
  // One after another: the first makes the certificate that the others use.
  for (const role of ROLES) started.set(role, await startProcess(role));

  return {
    store,
    db,
    facts,
    ca: readFileSync(join(settings.dataDir, "tls", "ca.pem"), "utf8"),
    ports: listening,
    processes: Object.fromEntries(started) as Record<Role, ServiceProcess>,
    startDecider: () => startProcess("decide"),
    async createTenants(count, webhookCap = 20) {
      const tenants: Tenant[] = [];
      for (let n = 0; n < count; n++) {
        const given = {
          webhookUrl: `https://127.0.0.1:${endpoint.port}/hooks/${n}`,
          credential: { auth: "bearer", secret: "a-token-of-some-length" },
          webhookPaused: true,
          webhookCap,
          leadMs: LEAD_MS,
          explore: false,
          ratePerSecond: 1_000_000,
          rateBurst: 1_000_000,
        } as const;
        const merchant = await createMerchant(db, `Capacity ${n}`, given, store.secretKeys, store.ports);
        const permissions = ["ingest:invoices", "ingest:transactions", "read:recovery_actions"] as const;
        const { apiKey } = await createApiKey(
          db,
          { merchantId: merchant.id, permissions: [...permissions] },
          store.ports,
        );
        tenants.push({ merchant, apiKey });
      }
      return tenants;
    },
    async signIn(merchant) {
      const id = store.ports.newId();
      const profile = { name: "Owner", password: "-", zone: "Europe/Berlin", theme: "system" } as const;
      const person = { ...profile, id, email: `${id}@example.com`, createdAt: store.ports.now() };
      await insertPerson(db, person);
      await addMember(db, merchant.id, id, "owner", store.ports.now());
      return `${SESSION_COOKIE}=${await beginSession(db, person, undefined, store.ports)}`;
    },
    async close() {
      const running = fleets.flatMap((fleet) => fleet.running());
      // A stopped process cannot handle SIGTERM.
      for (const service of running) service.signal("SIGCONT");
      await Promise.all(running.map((service) => service.terminate()));
      for (const fleet of fleets) process.removeListener("exit", fleet.abandon);
      await db.close();
      await store.close();
      await embedded.stop();
      await remove();
    },
  };
}
