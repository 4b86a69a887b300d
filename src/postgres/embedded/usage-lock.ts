import { setTimeout as sleep } from "node:timers/promises";
import { type Address, type Connection, openDatabase, prepared } from "../database.ts";
import { sqlState } from "../database-errors.ts";
import { DATABASE_OWNER } from "./initialize.ts";
import { type EmbeddedServer, ensureServer, type ServerOptions } from "./server.ts";
import type { ServerFolder } from "./server-folder.ts";

/** `own`: a data folder's one service. `borrow`: a short command beside it. */
export type UsageMode = "own" | "borrow";

// Advisory locks end with their connection, and so with the process. The namespace separates them from others.
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

/** While the connection lives, other processes see that the server is in use. */
export interface UsageLock {
  server: EmbeddedServer;
  connection: Connection;
}

// A killed owner's connection ends a little later, especially if its backend is busy.
const OWNER_WAIT_MS = 3_000;
const ACQUIRE_TIMEOUT_MS = 30_000;

export class FolderInUse extends Error {}

/** Throws if that fails for 30 s. */
export async function acquireUsageLock(
  options: ServerOptions,
  mode: UsageMode,
  isRestart: boolean,
): Promise<UsageLock> {
  let takenSince: number | undefined;
  let failingSince: number | undefined;
  let spawnedPid: number | undefined;
  for (;;) {
    const server = await ensureServer(options, isRestart);
    if (server.spawned) spawnedPid = server.pid;
    let connection: Connection | undefined;
    try {
      connection = await connectTo(server, options.folder);
      const outcome = await tryUsageLock(connection, mode);
      if (outcome === "locked") return { server: { ...server, spawned: server.pid === spawnedPid }, connection };
      if (outcome === "taken") takenSince ??= performance.now();
    } catch (error) {
      failingSince ??= performance.now();
      if (performance.now() - failingSince > ACQUIRE_TIMEOUT_MS) throw error;
    }
    await connection?.close().catch(() => {});
    if (takenSince && performance.now() - takenSince > OWNER_WAIT_MS) {
      throw new FolderInUse(
        `another service runs on ${options.folder.root}: stop it, or give this one a data folder of its own`,
      );
    }
    await sleep(20);
  }
}

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
    // Created concurrently.
    if (!["42P04", "23505", "55006"].includes(sqlState(error) ?? "")) throw error;
  } finally {
    await connection.close();
  }
}

/** @returns `closing` if its last user is about to stop it, `taken` if another service owns it */
async function tryUsageLock(connection: Connection, mode: UsageMode): Promise<"locked" | "closing" | "taken"> {
  if (!(await tryLock(connection, LOCK_USE_SHARED))) return "closing";
  if (mode === "own" && !(await tryLock(connection, LOCK_OWNER))) return "taken";
  return "locked";
}

/** Returns true if no other process uses the server; from then on none can, and it may be stopped. */
export async function releaseUsageLock(connection: Connection): Promise<boolean> {
  await tryLock(connection, UNLOCK_USE_SHARED);
  return tryLock(connection, LOCK_USE_EXCLUSIVE);
}

async function readDataDirectory(connection: Connection): Promise<string> {
  return (await connection.run<{ path: string }>(DATA_DIRECTORY)).rows[0]!.path;
}
