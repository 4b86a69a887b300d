import { globSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { type Address, openDatabase, prepared } from "../src/postgres/database.ts";
import { type EmbeddedDatabase, startEmbedded } from "../src/postgres/embedded/start.ts";
import { migrate } from "../src/postgres/migrate.ts";

/** Holds the address of the run's server, as JSON, for the processes of the test files. */
export const TEST_SERVER_VARIABLE = "DUNLIN_TEST_SERVER";

/** A migrated database that is only ever copied. */
export const TEMPLATE_DATABASE = "dunlin_template";

export interface TestServer {
  address: Address;
  stop(): Promise<void>;
}

/** Starts a server in a temporary folder, with a migrated database to copy. stop() ends it and removes the folder. */
export async function startTestServer(): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), "dunlin-test-"));
  removeAtExit(dataDir);
  const log = pino({ level: "error" }, pino.destination(2));
  let server: EmbeddedDatabase | undefined;
  const stop = async () => {
    await server?.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    // These data need not survive a power failure, and the tests are faster without waiting for the disk.
    const volatile = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };
    // Autovacuum visits all databases in turn, and most of them are dropped after some seconds.
    const short = { wal_level: "minimal", max_wal_senders: "0", max_wal_size: "8GB", bgwriter_lru_maxpages: "0" };
    const settings = { ...volatile, ...short, autovacuum: "off", max_connections: "200" };
    server = await startEmbedded({ dataDir, log, settings });
    await runOnServer(server.address, `create database ${TEMPLATE_DATABASE}`);
    await migrate(withDatabaseName(server.address, TEMPLATE_DATABASE), log, { allowDataLoss: true });
    return { address: server.address, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Returns the address of another database on the same server. */
export const withDatabaseName = (server: Address, database: string): Address => ({
  ...(server as Exclude<Address, { url: string }>),
  database,
});

/** Runs one statement outside every test database. */
export async function runOnServer(server: Address, sql: string): Promise<void> {
  const connection = await openDatabase(server, 1, () => {}).connect();
  await connection.run(prepared("", sql)).finally(() => connection.close());
}

/** At process exit, except by SIGKILL, ends the servers that still run in this folder and removes it. */
export function removeAtExit(folder: string): void {
  process.on("exit", () => {
    for (const path of globSync("**/cluster/postmaster.pid", { cwd: folder })) {
      const pid = Number(readFileSync(join(folder, path), "utf8").split("\n")[0]);
      try {
        if (pid > 0) process.kill(pid, "SIGQUIT");
      } catch {
        // It had already ended.
      }
      // Nothing else runs in an exiting process, so it can sleep while the server writes its last files.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
}

/** On Ctrl-C, ends the process normally, with its exit handlers. */
export function exitWhenInterrupted(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));
}
