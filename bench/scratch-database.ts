import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { createApiKey } from "../src/auth/api-keys.ts";
import type { Settings } from "../src/config/config.ts";
import { createMerchant } from "../src/merchants/merchant-settings.ts";
import { type Address, type Database, prepared } from "../src/postgres/database.ts";
import { batchLogLines } from "../src/process/log-output.ts";
import type { Store } from "../src/process/open-store.ts";

export interface DatabaseFacts {
  postmaster: number;
  address: Address;
  /** Version, fsync, synchronous_commit, full_page_writes. */
  server: string;
}

/** @param kept  a folder that stays; default a temporary one */
export async function createScratchSettings(over: Partial<Settings> = {}, kept?: string) {
  const dataDir = kept ?? (await mkdtemp(join(tmpdir(), "dunlin-bench-")));
  const port = await findFreePort();
  const settings: Settings = {
    databaseUrl: null,
    dataDir,
    host: "127.0.0.1",
    port,
    metricsPort: null,
    metricsHost: "127.0.0.1",
    logLevel: "info",
    baseUrl: `https://127.0.0.1:${port}`,
    authUrl: `https://127.0.0.1:${port}`,
    tls: "on",
    connectionsPerAddress: 5_000,
    databaseConnections: 10,
    certificate: null,
    trustedProxies: { ranges: [] },
    clockRate: null,
    clockSkewMs: 300_000,
    webhookAllow: "",
    webhookCa: null,
    webhookClientCertificate: null,
    egressRanges: [],
    deliveryLogDays: 180,
    decisionDays: 400,
    keepDays: { invoices: null, subscriptions: null, audit: null },
    rules: null,
    secretKeys: null,
    oidc: null,
    mail: null,
    pageTokenKeys: ["default"],
    ...over,
  };
  // `dunlin serve` writes to standard error.
  const file = pino.destination({ dest: join(dataDir, "dunlin.log"), sync: true, mkdir: true });
  const log = pino({ base: null }, batchLogLines({ write: (line) => file.write(line), end: async () => {} }));
  const remove = async () => (kept ? undefined : rm(dataDir, { recursive: true, force: true }));
  return { settings, log, remove };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const SERVER = prepared(
  "bench_server",
  `select format('PostgreSQL %s, fsync %s, synchronous_commit %s, full_page_writes %s', current_setting('server_version'),
     current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes')) as facts`,
);

export async function readDatabaseFacts(db: Database, address: Address, dataDir: string): Promise<DatabaseFacts> {
  const pidFile = await readFile(join(dataDir, "postgres/cluster/postmaster.pid"), "utf8");
  const { facts } = (await db.run<{ facts: string }>(SERVER)).rows[0]!;
  if (!/fsync on, synchronous_commit on/.test(facts)) throw new Error(`not durable: ${facts}`);
  return { postmaster: Number.parseInt(pidFile, 10), address, server: facts };
}

/** With an unlimited ingest rate. */
export async function createIngestKey({ owner, secretKeys, ports }: Pick<Store, "owner" | "secretKeys" | "ports">) {
  const limits = { ratePerSecond: 1_000_000, rateBurst: 1_000_000 };
  const merchant = await createMerchant(owner, "Bench", limits, secretKeys, ports);
  return (await createApiKey(owner, { merchantId: merchant.id, permissions: ["ingest:invoices"] }, ports)).apiKey;
}
