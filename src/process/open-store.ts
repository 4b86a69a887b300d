import { randomBytes } from "node:crypto";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger as Log } from "pino";
import { ConfigError, type Settings } from "../config/config.ts";
import { readSecretKeys } from "../config/read-secret-keys.ts";
import type { Ports } from "../domain/ports.ts";
import { type Address, type Database, openDatabase } from "../postgres/database.ts";
import { errorFields } from "../postgres/database-errors.ts";
import { readIsDistributed } from "../postgres/distribute.ts";
import { startEmbedded } from "../postgres/embedded/start.ts";
import { migrate } from "../postgres/migrate.ts";
import { describeRefusal } from "../postgres/reachability.ts";
import { roleAddresses, rolesAreUsable } from "../postgres/roles.ts";
import { openTenantDatabase, type TenantDatabase } from "../postgres/tenant-database.ts";
import { claimInstallation, keyCheck } from "../tables/installation.ts";
import type { SecretKeys } from "../tables/secret-box.ts";
import { startAutoAnalyze } from "./auto-analyze.ts";
import { anchorClock, createMachineClock, createRealPorts } from "./clock.ts";
import { syncWithDatabase } from "./clock-sync.ts";
import type { WallClock } from "./wall-clock.ts";

export interface Store {
  address: Address;
  /** All merchants. */
  db: Database;
  /** One merchant at a time. */
  tenantDb: TenantDatabase;
  /** Creates and drops partitions. */
  owner: Database;
  ports: Ports;
  clock: WallClock;
  secretKeys: SecretKeys;
  close(): Promise<void>;
}

interface OpenOptions {
  /** May throw to leave the database unchanged. */
  beforeMigrated?(): Promise<void>;
  /** For tests: accepts a server that may lose acknowledged records. */
  allowDataLoss?: boolean | undefined;
}

/**
 * @param mode  `own` for the service, which anchors the clock and keeps the embedded server running; `borrow` for a
 * short command beside it
 * @param onFatal  called if the embedded server died and cannot be restarted
 */
export async function openStore(
  settings: Settings,
  mode: "own" | "borrow",
  connections: number,
  log: Log,
  onFatal: (error: Error) => void,
  { beforeMigrated = async () => {}, allowDataLoss = false }: OpenOptions = {},
): Promise<Store> {
  ensureFolder(settings.dataDir);
  const embedded = settings.databaseUrl
    ? null
    : await startEmbedded({ dataDir: join(settings.dataDir, "postgres"), log, mode, onFatal });
  const opened: { close(): Promise<void> }[] = [];
  const open = <Pool extends { close(): Promise<void> }>(pool: Pool) => {
    opened.push(pool);
    return pool;
  };
  try {
    const address: Address = embedded?.address ?? { url: settings.databaseUrl! };
    await beforeMigrated();
    await migrate(address, log, { allowDataLoss });
    const onError = (error: Error) => log.warn(errorFields(error), "database.connection_lost");
    const owner = open(openDatabase(roleAddresses(address, false).owner, 1, onError));
    const isDistributed = await readIsDistributed(owner);
    const { worker, api } = roleAddresses({ ...address, isDistributed }, await rolesAreUsable(owner));
    const db = open(openDatabase(worker, connections, onError));
    const tenantDb = open(openTenantDatabase(api, connections, onError));
    const clock = createMachineClock();
    await syncWithDatabase(clock, db, log);
    const rate = mode === "own" ? (settings.clockRate ?? 1) : null;
    const anchor = await anchorClock(db, rate, new Date(clock.nowMs()));
    const secretKeys = settings.secretKeys ?? loadSecretKeys(settings.dataDir);
    await checkSecretKeys(db, secretKeys, settings);
    const ports = createRealPorts(anchor, clock);
    const stopStatistics = startAutoAnalyze(owner, ports, log);
    return {
      address,
      db,
      tenantDb,
      owner,
      ports,
      clock,
      secretKeys,
      async close() {
        await stopStatistics();
        await Promise.all(opened.map((each) => each.close()));
        await embedded?.stop();
      },
    };
  } catch (error) {
    // An open pool keeps the process alive for half a minute.
    await Promise.allSettled(opened.map((each) => each.close()));
    await embedded?.stop();
    const refusal = embedded ? null : describeRefusal((error as Error).cause ?? error);
    throw refusal === null ? error : new ConfigError("DATABASE_URL", `${refusal}.`);
  }
}

/** For commands that copy a whole database. */
export interface DatabaseServer {
  address: Address;
  sessions: number;
  close(): Promise<void>;
}

/** Does not migrate. Creates the embedded server if it is missing. */
export async function openServer(settings: Settings, log: Log): Promise<DatabaseServer> {
  if (settings.databaseUrl) return { address: { url: settings.databaseUrl }, sessions: 0, async close() {} };
  ensureFolder(settings.dataDir);
  const dataDir = join(settings.dataDir, "postgres");
  const { address, stop } = await startEmbedded({ dataDir, log, mode: "borrow" });
  return { address, sessions: 1, close: stop };
}

/** @throws ConfigError if the folder cannot be created or written */
function ensureFolder(dataDir: string) {
  try {
    mkdirSync(dataDir, { recursive: true });
    accessSync(dataDir, constants.W_OK);
  } catch (error) {
    throw new ConfigError(
      "DUNLIN_DATA",
      `${(error as Error).message}. The service needs a folder that it can write to.`,
    );
  }
}

export const demoFolderOf = (dataDir: string): string => join(dataDir, "demo");

/** Returns the reason, because a mistyped folder must not silently create a new database. */
export function findMissingInstallation(settings: Settings): string | null {
  const { dataDir, databaseUrl, secretKeys } = settings;
  if (databaseUrl === null) return findMissingDatabase(settings);
  return secretKeys !== null || existsSync(join(dataDir, "secret.key"))
    ? null
    : `There is no secret.key in ${describeDataDir(settings)}, and DUNLIN_SECRET_KEY is not set. "npx dunlin serve" creates one for a new database.`;
}

export const findMissingDatabase = (settings: Settings): string | null =>
  settings.databaseUrl !== null || existsSync(join(settings.dataDir, "postgres"))
    ? null
    : `There is no database in ${describeDataDir(settings)}, and DATABASE_URL is not set. "npx dunlin serve" creates one there.${demoDatabaseHint(settings.dataDir)}`;

const describeDataDir = ({ dataDir }: Settings) => `${dataDir} (DUNLIN_DATA, or ./data without it)`;

function demoDatabaseHint(dataDir: string): string {
  const folder = demoFolderOf(dataDir);
  return existsSync(join(folder, "postgres"))
    ? ` The demo's database is in ${folder}: to use it, set DUNLIN_DATA to that folder.`
    : "";
}

/** A process without the right keys cannot decrypt credentials. */
async function checkSecretKeys(db: Database, secretKeys: SecretKeys, { dataDir }: Settings) {
  const checks = secretKeys.map(keyCheck);
  const stored = await claimInstallation(db, checks[0]!);
  if (stored.every((storedCheck) => checks.some((each) => each.equals(storedCheck)))) return;
  throw new ConfigError(
    "DUNLIN_SECRET_KEY",
    stored.length === 1
      ? `does not contain the key of this database. Set it to that key, or restore secret.key in ${dataDir}. If the key is lost, see: npx dunlin secret-key reset --help`
      : `lacks a key of this database, because its rotation is not complete. Set it to all keys that you passed to "secret-key rotate".`,
  );
}

/** Creates the first key if there is none. */
function loadSecretKeys(dataDir: string): SecretKeys {
  const path = join(dataDir, "secret.key");
  try {
    writeSecretFile(path, randomBytes(32).toString("base64"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const result = readSecretKeys(readFileSync(path, "utf8"));
  if ("problem" in result) throw new ConfigError("DUNLIN_SECRET_KEY", `is not set, and ${path} ${result.problem}`);
  return result.keys;
}

/** Writes a new file that only its owner can read. */
export const writeSecretFile = (path: string, text: string) =>
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: "wx" });
