import { setTimeout as sleep } from "node:timers/promises";
import { type Address, type Connection, openDatabase, prepared } from "../database.ts";
import { sqlState } from "../database-errors.ts";
import { DATABASE_OWNER } from "./initialize.ts";
import { type EmbeddedServer, ensureServer, type ServerOptions } from "./server.ts";
import type { ServerFolder } from "./server-folder.ts";

/** Who uses an embedded server: `own`, the one service on a data folder; `borrow`, a short command beside it. */
export type UsageMode = "own" | "borrow";

// Advisory locks belong to a connection, and so end with the process, however it ends. The first number keeps them
// apart from other advisory locks in the database.
const LOCK_NAMESPACE = 0x64756e6c;
const USE_LOCK = 1;
const OWNER_LOCK = 2;

const LOCK_USE_SHARED = prepared(
  "embedded_use",
  `select pg_try_advisory_lock_shared(${LOCK_NAMESPACE}, ${USE_LOCK}) as got`,
);
const LOCK_OWNER = prepared("embedded_own", `select pg_try_advisory_lock(${LOCK_NAMESPACE}, ${OWNER_LOCK}) as got`);
const UNLOCK_USE_SHARED = prepared(
  "embedded_leave",
  `select pg_advisory_unlock_shared(${LOCK_NAMESPACE}, ${USE_LOCK}) as got`,
);
const LOCK_USE_EXCLUSIVE = prepared(
  "embedded_last",
  `select pg_try_advisory_lock(${LOCK_NAMESPACE}, ${USE_LOCK}) as got`,
);
const DATA_DIRECTORY = prepared("embedded_data_directory", "select current_setting('data_directory') as path");

async function tryLock(connection: Connection, statement: typeof LOCK_USE_SHARED): Promise<boolean> {
  return (await connection.run<{ got: boolean }>(statement)).rows[0]?.got === true;
}

/** A place at a running server: as long as the connection lives, others see that it is in use. */
export interface UsageLock {
  server: EmbeddedServer;
  connection: Connection;
}

// A killed owner's connection ends a moment after it; a backend that is busy notices later.
const OWNER_WAIT_MS = 3_000;
const ACQUIRE_TIMEOUT_MS = 30_000;

/** Another service has this data folder. */
export class FolderInUse extends Error {}

/** Runs or finds the server and takes a seat at it. Throws when that did not succeed for 30 s. */
export async function acquireUsageLock(place: ServerOptions, mode: UsageMode, again: boolean): Promise<UsageLock> {
  let takenSince: number | undefined;
  let failingSince: number | undefined;
  let spawnedPid: number | undefined;
  for (;;) {
    const server = await ensureServer(place, again);
    if (server.spawned) spawnedPid = server.pid;
    let connection: Connection | undefined;
    try {
      connection = await connectTo(server, place.folder);
      const outcome = await tryUsageLock(connection, mode);
      if (outcome === "seated") return { server: { ...server, spawned: server.pid === spawnedPid }, connection };
      if (outcome === "taken") takenSince ??= performance.now();
    } catch (error) {
      failingSince ??= performance.now();
      if (performance.now() - failingSince > ACQUIRE_TIMEOUT_MS) throw error;
    }
    await connection?.close().catch(() => {});
    if (takenSince && performance.now() - takenSince > OWNER_WAIT_MS) {
      throw new FolderInUse(
        `another service runs on ${place.folder.root}: stop it, or give this one a data folder of its own`,
      );
    }
    await sleep(20);
  }
}

/** Where a server listens. */
export const addressOf = (socketDir: string, database = DATABASE_OWNER): Address => ({
  socketDir,
  user: DATABASE_OWNER,
  database,
});

async function connectTo(server: EmbeddedServer, folder: ServerFolder): Promise<Connection> {
  let connection: Connection;
  try {
    connection = await connect(addressOf(server.socketDir));
  } catch (error) {
    if (sqlState(error) !== NO_SUCH_DATABASE) throw error;
    await createDatabase(server);
    connection = await connect(addressOf(server.socketDir));
  }
  const found = await readDataDirectory(connection);
  if (found === folder.cluster) return connection;
  await connection.close();
  throw new Error(`the server at ${server.socketDir} belongs to ${found}, not to ${folder.cluster}`);
}

function connect(address: Address): Promise<Connection> {
  return openDatabase(address, 1, () => {}).connect();
}

const NO_SUCH_DATABASE = "3D000";
const CREATE_DATABASE = prepared("embedded_create_database", `create database ${DATABASE_OWNER}`);

async function createDatabase(server: EmbeddedServer): Promise<void> {
  const connection = await connect(addressOf(server.socketDir, "postgres"));
  try {
    await connection.run(CREATE_DATABASE);
  } catch (error) {
    // Somebody who started at the same moment was faster.
    if (!["42P04", "23505", "55006"].includes(sqlState(error) ?? "")) throw error;
  } finally {
    await connection.close();
  }
}

/**
 * Marks the server as used by us, for as long as the connection lives.
 *
 * @returns `closing` when its last user is about to stop it, `taken` when another service owns it
 */
async function tryUsageLock(connection: Connection, mode: UsageMode): Promise<"seated" | "closing" | "taken"> {
  if (!(await tryLock(connection, LOCK_USE_SHARED))) return "closing";
  if (mode === "own" && !(await tryLock(connection, LOCK_OWNER))) return "taken";
  return "seated";
}

/** Takes the mark away. True when nobody else uses the server: from then on nobody new can, and it may be stopped. */
export async function releaseUsageLock(connection: Connection): Promise<boolean> {
  await tryLock(connection, UNLOCK_USE_SHARED);
  return tryLock(connection, LOCK_USE_EXCLUSIVE);
}

/** The data directory of the server at the other end. */
async function readDataDirectory(connection: Connection): Promise<string> {
  return (await connection.run<{ path: string }>(DATA_DIRECTORY)).rows[0]!.path;
}
