import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger as Log } from "pino";
import { type Address, type Connection, openDatabase, prepared, type Tx } from "./database.ts";
import { prepareRoles } from "./roles.ts";

interface Migration {
  number: number;
  name: string;
  checksum: string;
  sql: string;
}

export interface MigrateOptions {
  folder?: string;
  /** Accepts a server that may lose acknowledged writes; for tests. */
  allowDataLoss?: boolean;
  /** The migrations of another database: applies only those, and requires that all are known. */
  upTo?: readonly Pick<Migration, "name" | "checksum">[];
}

const FOLDER = join(import.meta.dirname, "../../migrations");
const NO_TRANSACTION = /^-- no-transaction\s*$/m;

/**
 * Migrates the schema to the latest version, each file `NNNN_name.sql` in one transaction. Any number of processes can call it at
 * once.
 *
 * A file that starts with `-- no-transaction` runs outside of one. It must contain a single repeatable statement, because it may
 * be interrupted before it is recorded.
 */
export async function migrate(address: Address, log: Log, options: MigrateOptions = {}): Promise<{ applied: number }> {
  const files = migrationsUpTo(await readMigrations(options.folder ?? FOLDER), options.upTo);
  const connection = await openDatabase(address, 1, () => {}).connect();
  try {
    await checkServer(connection, options.allowDataLoss === true);
    await connection.run(EVERY_MERCHANT);
    await acquireMigrationLock(connection);
    await connection.run(CREATE_TABLE);
    const applied = (await connection.run<AppliedMigration>(READ)).rows;
    checkHistory(applied, files);
    const pending = files.slice(applied.length);
    // For a new database, a line per file would say nothing.
    const isNew = applied.length === 0;
    for (const migration of pending) {
      await applyMigration(connection, migration);
      if (!isNew) log.info({ migration: migration.name }, "migration.applied");
    }
    if (isNew) log.info({ migrations: pending.length }, "schema.created");
    await prepareRoles(connection, log);
    return { applied: pending.length };
  } finally {
    // Releases the lock too.
    await connection.close();
  }
}

/** The database has a migration that this version does not know. */
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
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith(".sql")).length;
  const [newer] = (await owner.run<{ name: string }>(NEWER, [files])).rows;
  if (newer) throw new UnknownMigration(outdatedError(newer.name));
}

function migrationsUpTo(files: Migration[], upTo: MigrateOptions["upTo"]): Migration[] {
  for (const [index, { name, checksum }] of (upTo ?? []).entries())
    if (files[index]?.name !== name || files[index].checksum !== checksum)
      throw new UnknownMigration(
        `it has migration ${name}, which this version does not know: use the version that made it, or a newer one`,
      );
  return files.slice(0, upTo?.length);
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^(\d{4})_/.exec(name)?.[1]);
      if (number !== index + 1) throw new Error(`migration ${name}: its number must be ${index + 1}, with four digits`);
      const sql = await readFile(join(folder, name), "utf8");
      return { number, name, checksum: createHash("sha256").update(sql).digest("hex"), sql };
    }),
  );
}

/** Row-level security applies to an owner that is no superuser, but a migration changes rows of all merchants. */
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

/** Polls, because a waiting statement would hold a snapshot that `create index concurrently` waits for. */
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
// The server's clock; only for people.
const RECORD = prepared(
  "migrate_record",
  "insert into schema_migrations (number, name, checksum, applied_at) values ($1, $2, $3, clock_timestamp())",
);

type AppliedMigration = Pick<Migration, "number" | "name" | "checksum">;

function checkHistory(applied: AppliedMigration[], files: Migration[]): void {
  for (const [index, row] of applied.entries()) {
    const file = files[index];
    if (!file) {
      throw new UnknownMigration(outdatedError(row.name));
    }
    if (row.number !== file.number || row.checksum !== file.checksum) {
      throw new Error(
        `migration ${file.name} was changed after it was applied (as ${row.name}): restore it, and write a new one`,
      );
    }
  }
}

/** Without a name and values, the simple protocol is used, which accepts several statements. */
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
