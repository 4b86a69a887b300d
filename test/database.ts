import { randomBytes } from "node:crypto";
import { after } from "node:test";
import { type Address, type Database, openDatabase, prepared } from "../src/postgres/database.ts";
import { CITUS_URL, createCitusDatabase } from "./citus/citus-database.ts";
import {
  exitWhenInterrupted,
  runOnServer,
  startTestServer,
  TEMPLATE_DATABASE,
  TEST_SERVER_VARIABLE,
  type TestServer,
  withDatabaseName,
} from "./test-server.ts";

// A test file that runs alone starts its own server, and stops it when its tests have ended and its databases are dropped.
let standaloneServer: Promise<TestServer> | undefined;
let openDatabaseCount = 0;
let hasEnded = false;

after(() => {
  hasEnded = true;
  return stopStandaloneServer();
});

async function stopStandaloneServer(): Promise<void> {
  if (hasEnded && openDatabaseCount === 0) await (await standaloneServer)?.stop();
}

async function serverAddress(): Promise<Address> {
  const given = process.env[TEST_SERVER_VARIABLE];
  if (given) return JSON.parse(given) as Address;
  if (!standaloneServer) exitWhenInterrupted();
  standaloneServer ??= startTestServer();
  return (await standaloneServer).address;
}

export interface TestDatabase {
  db: Database;
  address: Address;
  /** Closes `db` and removes the database, even if connections are still open. */
  drop(): Promise<void>;
}

/** Creates a separate empty database with the whole schema. Drop it at the end, or the test process will not exit. */
export async function createTestDatabase(): Promise<TestDatabase> {
  openDatabaseCount++;
  try {
    if (CITUS_URL !== undefined) {
      const { address, drop } = await createCitusDatabase(CITUS_URL);
      return openTestDatabase({ ...address, isDistributed: true }, drop);
    }
    const server = await serverAddress();
    const name = `test_${randomBytes(8).toString("hex")}`;
    await runOnServer(server, `create database ${name} template ${TEMPLATE_DATABASE} strategy file_copy`);
    return openTestDatabase(withDatabaseName(server, name), () =>
      runOnServer(server, `drop database ${name} with (force)`),
    );
  } catch (error) {
    openDatabaseCount--;
    throw error;
  }
}

function openTestDatabase(address: Address, remove: () => Promise<void>): TestDatabase {
  const db = openDatabase(address, 5, () => {});
  let dropped = false;
  return {
    db,
    address,
    async drop() {
      if (dropped) return;
      dropped = true;
      await db.close();
      await remove();
      openDatabaseCount--;
      await stopStandaloneServer();
    },
  };
}

const LOCK_WAITS = prepared(
  "test_waiting",
  "select count(*)::int4 as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
);

/** Waits until a statement waits for another transaction. */
export async function waitForLockWait(db: Database) {
  for (let looks = 0; looks < 5_000; looks++) if ((await db.run<{ n: number }>(LOCK_WAITS)).rows[0]!.n > 0) return;
  throw new Error("no statement waits for a lock");
}

const TABLES_WITH_ROWS = prepared(
  "tables_of_rows",
  "select relname as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace",
);

const SUMMARIES = prepared(
  "summaries",
  `select i.relname as name from pg_class i join pg_am a on a.oid = i.relam
   where i.relkind = 'i' and a.amname = 'brin' and i.relnamespace = current_schema()::regnamespace`,
);

/**
 * Disables autovacuum for all present tables. Otherwise it might read statistics while they are filled, change plans between two
 * queries, or hold the lock of an ANALYZE while it merges pending pages of an index.
 */
export async function stopAutovacuum(db: Database) {
  for (const { name } of (await db.run<{ name: string }>(TABLES_WITH_ROWS)).rows)
    await db.run(prepared("", `alter table ${name} set (autovacuum_enabled = false)`));
  for (const { name } of (await db.run<{ name: string }>(SUMMARIES)).rows)
    await db.run(prepared("", `alter index ${name} set (autosummarize = off)`));
}
