import { randomBytes } from "node:crypto";
import { after } from "node:test";
import { type Address, type Database, openDatabase, prepared } from "../src/store/database.ts";
import {
  at,
  atServer,
  exitWhenInterrupted,
  startTestServer,
  TEMPLATE,
  TEST_SERVER,
  type TestServer,
} from "./server.ts";

// A test file that runs alone starts a server of its own, and stops it when its tests have ended and its databases are dropped.
let alone: Promise<TestServer> | undefined;
let open = 0;
let ended = false;

after(() => {
  ended = true;
  return stopAlone();
});

async function stopAlone(): Promise<void> {
  if (ended && open === 0) await (await alone)?.stop();
}

async function serverAddress(): Promise<Address> {
  const given = process.env[TEST_SERVER];
  if (given) return JSON.parse(given) as Address;
  if (!alone) exitWhenInterrupted();
  alone ??= startTestServer();
  return (await alone).address;
}

export interface TestDatabase {
  db: Database;
  address: Address;
  /** Closes `db` and removes the database, also under connections that are still open. */
  drop(): Promise<void>;
}

/** A database of one's own with the whole schema and nothing in it. Drop it in the end, or the test process won't end. */
export async function testDatabase(): Promise<TestDatabase> {
  open++;
  try {
    const server = await serverAddress();
    const name = `test_${randomBytes(8).toString("hex")}`;
    await atServer(server, `create database ${name} template ${TEMPLATE} strategy file_copy`);
    const address = at(server, name);
    const db = openDatabase(address, 5, () => {});
    let dropped = false;
    return {
      db,
      address,
      async drop() {
        if (dropped) return;
        dropped = true;
        await db.close();
        await atServer(server, `drop database ${name} with (force)`);
        open--;
        await stopAlone();
      },
    };
  } catch (error) {
    open--;
    throw error;
  }
}

const WAITING = prepared(
  "test_waiting",
  "select count(*)::int4 as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
);

/** Until some statement waits for another transaction. */
export async function someoneWaits(db: Database) {
  for (let looks = 0; looks < 5_000; looks++) if ((await db.run<{ n: number }>(WAITING)).rows[0]!.n > 0) return;
  throw new Error("nobody waits");
}

const TABLES_OF_ROWS = prepared(
  "tables_of_rows",
  "select relname as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace",
);

const SUMMARIES = prepared(
  "summaries",
  `select i.relname as name from pg_class i join pg_am a on a.oid = i.relam
   where i.relkind = 'i' and a.amname = 'brin' and i.relnamespace = current_schema()::regnamespace`,
);

/**
 * Autovacuum leaves all tables that are there now alone: else it may read statistics in the middle of filling them, change plans between two
 * looks, or hold the lock of an ANALYZE while it sums up new pages for an index.
 */
export async function stopAutovacuum(db: Database) {
  for (const { name } of (await db.run<{ name: string }>(TABLES_OF_ROWS)).rows)
    await db.run(prepared("", `alter table ${name} set (autovacuum_enabled = false)`));
  for (const { name } of (await db.run<{ name: string }>(SUMMARIES)).rows)
    await db.run(prepared("", `alter index ${name} set (autosummarize = off)`));
}
