import { setTimeout as sleep } from "node:timers/promises";
import { type Address, type Connection, openDatabase, prepared } from "../database.ts";
import { sqlState } from "../database-errors.ts";
import type { Folder } from "./folder.ts";
import { USER } from "./initialize.ts";
import { ensureServer, type Server, type ServerPlace } from "./server.ts";

/** Who uses an embedded server: `own`, the one service on a data folder; `borrow`, a short command beside it. */
export type Mode = "own" | "borrow";

// Advisory locks belong to a connection, and so end with the process, however it ends. The first number keeps them
// apart from other advisory locks in the database.
const ASIDE = 0x64756e6c;
const USE = 1;
const OWN = 2;

const USE_SHARED = prepared("embedded_use", `select pg_try_advisory_lock_shared(${ASIDE}, ${USE}) as got`);
const OWN_ALONE = prepared("embedded_own", `select pg_try_advisory_lock(${ASIDE}, ${OWN}) as got`);
const LEAVE = prepared("embedded_leave", `select pg_advisory_unlock_shared(${ASIDE}, ${USE}) as got`);
const USE_ALONE = prepared("embedded_last", `select pg_try_advisory_lock(${ASIDE}, ${USE}) as got`);
const DATA_DIRECTORY = prepared("embedded_data_directory", "select current_setting('data_directory') as path");

async function got(connection: Connection, statement: typeof USE_SHARED): Promise<boolean> {
  return (await connection.run<{ got: boolean }>(statement)).rows[0]?.got === true;
}

/** A place at a running server: as long as the connection lives, others see that it is in use. */
export interface Seat {
  server: Server;
  connection: Connection;
}

// A killed owner's connection ends a moment after it; a backend that is busy notices later.
const OWNER_PATIENCE_MS = 3_000;
const PATIENCE_MS = 30_000;

/** Another service has this data folder. */
export class FolderTaken extends Error {}

/** Runs or finds the server and takes a seat at it. Throws when that did not succeed for 30 s. */
export async function takeSeat(place: ServerPlace, mode: Mode, again: boolean): Promise<Seat> {
  let takenSince: number | undefined;
  let failingSince: number | undefined;
  let spawnedPid: number | undefined;
  for (;;) {
    const server = await ensureServer(place, again);
    if (server.spawned) spawnedPid = server.pid;
    let connection: Connection | undefined;
    try {
      connection = await connectTo(server, place.folder);
      const outcome = await sit(connection, mode);
      if (outcome === "seated") return { server: { ...server, spawned: server.pid === spawnedPid }, connection };
      if (outcome === "taken") takenSince ??= performance.now();
    } catch (error) {
      failingSince ??= performance.now();
      if (performance.now() - failingSince > PATIENCE_MS) throw error;
    }
    await connection?.close().catch(() => {});
    if (takenSince && performance.now() - takenSince > OWNER_PATIENCE_MS) {
      throw new FolderTaken(
        `another service runs on ${place.folder.root}: stop it, or give this one a data folder of its own`,
      );
    }
    await sleep(20);
  }
}

/** Where a server listens. */
export const addressOf = (socketDir: string, database = USER): Address => ({ socketDir, user: USER, database });

async function connectTo(server: Server, folder: Folder): Promise<Connection> {
  let connection: Connection;
  try {
    connection = await connect(addressOf(server.socketDir));
  } catch (error) {
    if (sqlState(error) !== NO_SUCH_DATABASE) throw error;
    await createDatabase(server);
    connection = await connect(addressOf(server.socketDir));
  }
  const found = await dataDirectory(connection);
  if (found === folder.cluster) return connection;
  await connection.close();
  throw new Error(`the server at ${server.socketDir} belongs to ${found}, not to ${folder.cluster}`);
}

function connect(address: Address): Promise<Connection> {
  return openDatabase(address, 1, () => {}).connect();
}

const NO_SUCH_DATABASE = "3D000";
const CREATE_DATABASE = prepared("embedded_create_database", `create database ${USER}`);

async function createDatabase(server: Server): Promise<void> {
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
async function sit(connection: Connection, mode: Mode): Promise<"seated" | "closing" | "taken"> {
  if (!(await got(connection, USE_SHARED))) return "closing";
  if (mode === "own" && !(await got(connection, OWN_ALONE))) return "taken";
  return "seated";
}

/** Takes the mark away. True when nobody else uses the server: from then on nobody new can, and it may be stopped. */
export async function leave(connection: Connection): Promise<boolean> {
  await got(connection, LEAVE);
  return got(connection, USE_ALONE);
}

/** The data directory of the server at the other end. */
async function dataDirectory(connection: Connection): Promise<string> {
  return (await connection.run<{ path: string }>(DATA_DIRECTORY)).rows[0]!.path;
}
