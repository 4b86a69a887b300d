import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { type Address, type Database, openDatabase, prepared } from "../../../src/postgres/database.ts";
import { type EmbeddedDatabase, startEmbedded } from "../../../src/postgres/embedded/start.ts";
import { CITUS_URL } from "../../citus/citus-database.ts";
import { openCitusServers } from "../../citus/citus-servers.ts";
import { openPostgresProcesses } from "../harness/postgres-processes.ts";

/** The PostgreSQL of a campaign, which can fail in many ways. On a cluster, each fault is for the next one of its servers. */
export interface PostgresServer {
  address: Address;
  /** A connection that no network fault affects. */
  db: Database;
  /** Whether its disk can be filled: only if it has its own. */
  hasOwnDisk: boolean;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Sends SIGKILL to all of it, and sees to it that it starts again. */
  crash(): Promise<void>;
  /** Simulates a failover as clients see it: writes fail for a while, then all connections end. */
  failOver(ms: number): Promise<void>;
  fillDisk(): void;
  /** Resolves when it answers again. */
  freeDisk(): Promise<void>;
  close(): Promise<void>;
}

const DISK_SIZE = "1g";
const FILL_CHUNK = Buffer.alloc(8 * 1024 * 1024);
const READ_ONLY = prepared("", "alter system set default_transaction_read_only = on");
const WRITABLE = prepared("", "alter system reset default_transaction_read_only");
const RELOAD = prepared("", "select pg_reload_conf()");
const TERMINATE_BACKENDS = prepared(
  "",
  "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
);
const PING = prepared("", "select 1");
const UP_MS_MAX = 60_000;

export const startPostgresServer = (root: string): Promise<PostgresServer> =>
  CITUS_URL === undefined ? startEmbeddedServer(root) : openCluster(CITUS_URL);

/** Starts a PostgreSQL in a folder, on its own disk if this user can mount one. */
async function startEmbeddedServer(root: string): Promise<PostgresServer> {
  const dataDir = join(root, "postgres");
  mkdirSync(dataDir);
  const hasOwnDisk = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_SIZE}`, "tmpfs", dataDir]).status === 0;
  const log = pino({ level: "silent" });
  let embedded: EmbeddedDatabase = await startEmbedded({ dataDir, log });
  const { address } = embedded;
  const db = openDatabase(address, 4, () => {});
  const ballast = join(dataDir, "ballast");
  return {
    address,
    db,
    hasOwnDisk,
    stop: () => embedded.stop(),
    async start() {
      embedded = await startEmbedded({ dataDir, log });
    },
    async crash() {
      openPostgresProcesses(root).aim(true).fire();
      await isUp(db);
    },
    failOver: (ms) => failOver(address, ms),
    fillDisk() {
      for (;;)
        try {
          writeFileSync(ballast, FILL_CHUNK, { flag: "a" });
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
          return;
        }
    },
    async freeDisk() {
      rmSync(ballast, { force: true });
      await isUp(db);
    },
    async close() {
      await db.close();
      await embedded.stop();
      if (hasOwnDisk) spawnSync("umount", ["--lazy", dataDir]);
    },
  };
}

/** A database on the cluster for tests. */
async function openCluster(clusterUrl: string): Promise<PostgresServer> {
  const cluster = await openCitusServers(clusterUrl);
  const address = { url: cluster.url, isDistributed: true };
  const db = openDatabase(address, 4, () => {});
  let stopped = cluster.servers[0]!;
  return {
    address,
    db,
    hasOwnDisk: false,
    async stop() {
      stopped = cluster.next();
      await stopped.stop();
    },
    start: () => stopped.start(),
    async crash() {
      const server = cluster.next();
      server.processes.aim(true).fire();
      await sleep(1_000);
      await server.start();
    },
    failOver: (ms) => failOver(cluster.next(), ms),
    fillDisk() {},
    async freeDisk() {},
    async close() {
      await db.close();
      await cluster.close();
    },
  };
}

async function failOver(address: Address, ms: number) {
  await runAlone(address, READ_ONLY, RELOAD);
  await sleep(ms);
  await runAlone(address, WRITABLE, RELOAD, TERMINATE_BACKENDS);
}

/** In a separate session, not the pool's. */
async function runAlone(address: Address, ...statements: (typeof PING)[]) {
  const writable = { ...address, session: "-c default_transaction_read_only=off" };
  const connection = await openDatabase(writable, 1, () => {}).connect();
  try {
    for (const statement of statements) await connection.run(statement);
  } finally {
    await connection.close();
  }
}

async function isUp(db: Database) {
  for (const deadline = Date.now() + UP_MS_MAX; Date.now() < deadline; await sleep(100))
    if ((await db.run(PING).catch(() => null)) !== null) return;
}
