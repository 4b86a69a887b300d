import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { type Address, type Database, openDatabase, prepared } from "../../../src/postgres/database.ts";
import { type EmbeddedDatabase, startEmbedded } from "../../../src/postgres/embedded/start.ts";
import { openPostgresProcesses } from "../harness/postgres-processes.ts";

/** The PostgreSQL of a campaign, which can fail in many ways. */
export interface PostgresServer {
  address: Address;
  /** A connection that no network fault affects. */
  db: Database;
  /** Whether its disk can be filled: only if it has its own. */
  hasOwnDisk: boolean;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Sends SIGKILL to all of it; it starts again by itself. */
  crash(): void;
  /** Simulates a failover as clients see it: writes fail for a while, then all connections end. */
  failOver(ms: number): Promise<void>;
  fillDisk(): void;
  freeDisk(): void;
  isUp(): Promise<boolean>;
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

/** Starts a PostgreSQL in a folder, on its own disk if this user can mount one. */
export async function startPostgresServer(root: string): Promise<PostgresServer> {
  const dataDir = join(root, "postgres");
  mkdirSync(dataDir);
  const hasOwnDisk = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_SIZE}`, "tmpfs", dataDir]).status === 0;
  const log = pino({ level: "silent" });
  let embedded: EmbeddedDatabase = await startEmbedded({ dataDir, log });
  const { address } = embedded;
  const db = openDatabase(address, 4, () => {});
  const ballast = join(dataDir, "ballast");
  /** In a separate session, not the pool's. */
  const alone = async (...statements: (typeof PING)[]) => {
    const connection = await openDatabase(
      { ...address, session: "-c default_transaction_read_only=off" },
      1,
      () => {},
    ).connect();
    try {
      for (const statement of statements) await connection.run(statement);
    } finally {
      await connection.close();
    }
  };
  return {
    address,
    db,
    hasOwnDisk,
    stop: () => embedded.stop(),
    async start() {
      embedded = await startEmbedded({ dataDir, log });
    },
    crash: () => openPostgresProcesses(root).aim(true).fire(),
    async failOver(ms) {
      await alone(READ_ONLY, RELOAD);
      await sleep(ms);
      await alone(WRITABLE, RELOAD, TERMINATE_BACKENDS);
    },
    fillDisk() {
      for (;;)
        try {
          writeFileSync(ballast, FILL_CHUNK, { flag: "a" });
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
          return;
        }
    },
    freeDisk: () => rmSync(ballast, { force: true }),
    isUp: () =>
      db.run(PING).then(
        () => true,
        () => false,
      ),
    async close() {
      await db.close();
      await embedded.stop();
      if (hasOwnDisk) spawnSync("umount", ["--lazy", dataDir]);
    },
  };
}
