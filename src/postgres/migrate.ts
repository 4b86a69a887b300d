import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger as Log } from "pino";
import { type Address, type Connection, openDatabase, prepared, type Tx } from "./database.ts";
import { distributeTables, readIsDistributed } from "./distribute.ts";
import { prepareRoles } from "./roles.ts";

interface Migration {
  number: number;
  name: string;
  checksum: string;
  sql: string;
  /** The checksum of the last migration that this baseline replaces; null if it is no baseline. */
  replaces: string | null;
}

export interface MigrateOptions {
  folder?: string;
  /** For tests: accepts a server that may lose acknowledged writes. */
  allowDataLoss?: boolean;
  /** Another database's migrations: applies only those, and requires that all are known. */
  upTo?: readonly Pick<Migration, "name" | "checksum">[];
  /** Spreads the tables over the servers of a Citus cluster. A database that is spread needs no option: new tables follow. */
  distribute?: boolean;
}

export interface Migrated {
  applied: number;
  /** Names of the tables that were spread. */
  spread: string[];
}

const FOLDER = join(import.meta.dirname, "../../migrations");
const NO_TRANSACTION = /^-- no-transaction\s*$/m;
const REPLACES = /^-- replaces \S+ ([0-9a-f]{64})$/m;

/**
 * Applies each new file `NNNN_name.sql` in one transaction. Any number of processes can call it at once.
 *
 * A file that starts with `-- no-transaction` runs outside one. It must contain a single repeatable statement, because it may be
 * interrupted before it is recorded.
 *
 * The first file may be a baseline. Its first line `-- replaces NAME CHECKSUM` names the last migration that it replaces. A
 * database at that migration is taken over as it is; an older one is refused.
 */
export async function migrate(address: Address, log: Log, options: MigrateOptions = {}): Promise<Migrated> {
  const files = migrationsUpTo(await readMigrations(options.folder ?? FOLDER), options.upTo);
  const connection = await openDatabase(address, 1, () => {}).connect();
  try {
    await checkServer(connection, options.allowDataLoss === true);
    await connection.run(EVERY_MERCHANT);
    await acquireMigrationLock(connection);
    await connection.run(CREATE_TABLE);
    const applied = (await connection.run<AppliedMigration>(READ)).rows;
    checkHistory(applied, files);
    const last = applied.at(-1)?.number ?? 0;
    const pending = files.filter(({ number }) => number > last);
    // A line per file would say nothing about a new database.
    const isNew = applied.length === 0;
    for (const migration of pending) {
      await applyMigration(connection, migration);
      if (!isNew) log.info({ migration: migration.name }, "migration.applied");
    }
    if (isNew) log.info({ migrations: pending.length }, "schema.created");
    await prepareRoles(connection, log);
    const spreads = options.distribute === true || (await readIsDistributed(connection));
    return { applied: pending.length, spread: spreads ? await distributeTables(connection) : [] };
  } finally {
    // Releases the lock too.
    await connection.close();
  }
}

/** A newer version has migrated the database. */
export class UnknownMigration extends Error {}

const outdatedError = (name: string) =>
  `the database has migration ${name}, which this version does not know: run a newer version`;

const NEWER = prepared(
  "newer_migration",
  "select name from schema_migrations where number > $1 order by number limit 1",
);

/**
 * @param owner  a login that can read `schema_migrations`
 * @throws UnknownMigration if a newer version has migrated the database meanwhile
 */
export async function assertSchemaIsNewest(owner: Tx): Promise<void> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith(".sql")).sort();
  const [newer] = (await owner.run<{ name: string }>(NEWER, [numberOf(names.at(-1)!)])).rows;
  if (newer) throw new UnknownMigration(outdatedError(newer.name));
}

function migrationsUpTo(files: Migration[], upTo: MigrateOptions["upTo"]): Migration[] {
  const last = upTo?.at(-1);
  if (!last) return files;
  const index = files.findIndex(({ name }) => name === last.name);
  const isBaseline = files[0]?.replaces === last.checksum;
  if (index < 0 && !isBaseline)
    throw new UnknownMigration(
      `it has migration ${last.name}, which this version does not know: use its version, or a newer one`,
    );
  const wanted = files.slice(0, isBaseline ? 1 : index + 1);
  for (const { name, checksum } of wanted.slice(1))
    if (!upTo!.some((other) => other.name === name && other.checksum === checksum))
      throw new UnknownMigration(
        `it lacks migration ${name} as this version knows it: use its version, or a newer one`,
      );
  return wanted;
}

const numberOf = (name: string) => Number(/^(\d{4})_/.exec(name)?.[1]);

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = numberOf(name);
      const sql = await readFile(join(folder, name), "utf8");
      const replaces = index === 0 ? (REPLACES.exec(sql)?.[1] ?? null) : null;
      const expected = index === 0 ? 1 : numberOf(names[0]!) + index;
      if (number !== expected && replaces === null)
        throw new Error(`migration ${name}: its number must be ${expected}, with four digits`);
      return { number, name, checksum: createHash("sha256").update(sql).digest("hex"), sql, replaces };
    }),
  );
}

/** Row-level security applies to an owner that is no superuser, but migrations change all merchants' rows. */
const EVERY_MERCHANT = prepared("migrate_every_merchant", "select set_config('dunlin.every_merchant', 'on', false)");

const SERVER = prepared(
  "migrate_server",
  `select current_setting('server_version_num')::int4 as version, current_setting('server_version') as version_text,
     current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit`,
);
const OLDEST = 150_000;

interface ServerSettings {
  version: number;
  version_text: string;
  fsync: string;
  synchronous_commit: string;
}

async function checkServer(connection: Connection, volatile: boolean): Promise<void> {
  const server = (await connection.run<ServerSettings>(SERVER)).rows[0]!;
  if (server.version < OLDEST) throw new Error(`PostgreSQL ${server.version_text} is too old: 15 or newer is needed`);
  if (volatile) return;
  for (const name of ["fsync", "synchronous_commit"] as const) {
    if (server[name] !== "off") continue;
    throw new Error(`the database has ${name}=off and could lose acknowledged records: set it to on`);
  }
}

const LOCK_NAMESPACE = 0x64756e6d;
const TRY_LOCK = prepared("migrate_lock", `select pg_try_advisory_lock(${LOCK_NAMESPACE}, 0) as got`);
const LOCK_POLL_MS = 50;

/** Polls: a waiting statement would hold a snapshot that `create index concurrently` waits for. */
async function acquireMigrationLock(connection: Connection): Promise<void> {
  while (!(await connection.run<{ got: boolean }>(TRY_LOCK)).rows[0]!.got) await sleep(LOCK_POLL_MS);
}

const CREATE_TABLE = prepared(
  "migrate_create_table",
  `create table if not exists schema_migrations (
     number int4 primary key,
     name text not null,
     checksum text not null,
     applied_at timestamptz not null
   )`,
);
const READ = prepared("migrate_read", "select number, name, checksum from schema_migrations order by number");
// By the server's clock; only for people.
const RECORD = prepared(
  "migrate_record",
  "insert into schema_migrations (number, name, checksum, applied_at) values ($1, $2, $3, clock_timestamp())",
);

type AppliedMigration = Pick<Migration, "number" | "name" | "checksum">;

function checkHistory(applied: readonly AppliedMigration[], files: readonly Migration[]): void {
  const last = applied.at(-1);
  const [first] = files;
  if (!last || !first) return;
  if (last.number < first.number)
    throw new UnknownMigration(
      `the database is at migration ${last.name}, and this version begins after ${first.name}: start Dunlin 0.2.0 on it once, then this version`,
    );
  for (const row of applied) {
    // Replaced by the baseline.
    if (row.number < first.number) continue;
    const file = files[row.number - first.number];
    if (!file) throw new UnknownMigration(outdatedError(row.name));
    if (row.checksum !== file.checksum && row.checksum !== file.replaces)
      throw new Error(
        `migration ${file.name} was changed after it was applied (as ${row.name}): restore it, and write a new one`,
      );
  }
}

/** The simple protocol (no name, no values) accepts several statements. */
const rawStatement = (text: string) => prepared("", text);

async function applyMigration(connection: Connection, migration: Migration): Promise<void> {
  const { number, name, checksum, sql } = migration;
  const inTransaction = !NO_TRANSACTION.test(sql.split("\n", 1)[0]!);
  try {
    if (inTransaction) await connection.run(rawStatement("begin"));
    await connection.run(rawStatement(sql));
    await connection.run(RECORD, [number, name, checksum]);
    if (inTransaction) await connection.run(rawStatement("commit"));
  } catch (error) {
    if (inTransaction) await connection.run(rawStatement("rollback")).catch(() => {});
    throw new Error(`migration ${name} failed${errorLineOf(error, sql)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function errorLineOf(error: unknown, sql: string): string {
  const position = Number((error as { position?: unknown }).position);
  return position > 0 ? ` at line ${sql.slice(0, position).split("\n").length}` : "";
}
