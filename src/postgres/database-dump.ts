import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import type { Logger as Log } from "pino";
import { type Address, openClient } from "./database.ts";
import { migrate } from "./migrate.ts";
import { partitionStatements } from "./partitions.ts";

export interface DumpHeader {
  /** Applied migrations: file names, and SHA-256 of their texts. */
  migrations: { name: string; checksum: string }[];
  partitions: { table: string; name: string; bound: string }[];
  tables: CopiedTable[];
}

/** `columns` excludes generated columns. */
export interface CopiedTable {
  name: string;
  columns: string[];
  /** Whether row-level security applies to the owner too. */
  isWalled: boolean;
}

/** `sum` adds up hashes of the rows, independent of their order. */
export interface TableChecksum {
  rows: number;
  sum: string;
}

/** The header, then for each table its name, its rows in COPY text format, and its checksum. */
export type DumpPiece =
  | { kind: "whole"; whole: DumpHeader }
  | { kind: "table"; table: string }
  | { kind: "rows"; bytes: Buffer }
  | { kind: "end"; check: TableChecksum };

/** Nothing was written: the dump is incomplete, or the target is not empty. */
export class RestoreRefused extends Error {}

/** Makes every server write rows the same way, and shows all rows to an owner that is no superuser. */
const DUMP_SETTINGS = `set local timezone = 'UTC'; set local datestyle = 'ISO'; set local bytea_output = 'hex'; set local row_security = on;
  select set_config('dunlin.every_merchant', 'on', true)`;

/** One snapshot of all tables. */
export async function* readDump(address: Address): AsyncGenerator<DumpPiece> {
  const client = await openClient(address);
  try {
    await client.query(`begin isolation level repeatable read read only; ${DUMP_SETTINGS}`);
    const header = await describeDatabase(client);
    yield { kind: "whole", whole: header };
    for (const table of header.tables) {
      yield { kind: "table", table: table.name };
      const rows = client.query(copyTo(`copy (select ${quoteColumns(table.columns)} from "${table.name}") to stdout`));
      for await (const bytes of rows) yield { kind: "rows", bytes };
      yield { kind: "end", check: await computeTableChecksum(client, table.name) };
    }
  } finally {
    await client.end();
  }
}

/**
 * Restores a dump into an empty database, entirely or not at all, compares the checksums, and migrates the schema.
 *
 * @throws RestoreRefused, or UnknownMigration if the dump is from a newer version
 */
export async function restoreDump(
  address: Address,
  pieces: AsyncIterable<DumpPiece>,
  log: Log,
  onTable: (table: string, rows: number) => void,
): Promise<void> {
  const all = pieces[Symbol.asyncIterator]();
  const first = await nextPiece(all);
  if (first.kind !== "whole") throw new RestoreRefused("it has no header");
  const { whole: header } = first;
  await migrate(address, log, { upTo: header.migrations });
  const client = await openClient(address);
  try {
    await client.query(`begin; ${DUMP_SETTINGS}`);
    const target = await describeDatabase(client);
    await assertEmpty(client, target);
    for (const { table, name, bound } of header.partitions)
      if (!target.partitions.some((existing) => existing.name === name))
        await createPartition(client, target, table, name, bound);
    for (const table of target.tables) {
      await expectTable(all, table.name);
      onTable(table.name, await writeTable(client, table, all));
    }
    await client.query("commit");
    await client.query("analyze");
  } finally {
    await client.end();
  }
  await migrate(address, log);
}

/** Counts other Dunlin sessions. */
export async function countOtherSessions(address: Address): Promise<number> {
  const client = await openClient(address);
  try {
    const { rows } = await client.query<{ sessions: number }>(
      `select count(*)::int4 as sessions from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and application_name like 'dunlin%'`,
    );
    return rows[0]!.sessions;
  } finally {
    await client.end();
  }
}

const quoteColumns = (columns: readonly string[]) => columns.map((name) => `"${name}"`).join(", ");

async function describeDatabase(client: pg.ClientBase): Promise<DumpHeader> {
  const migrations = await client.query("select name, checksum from schema_migrations order by number");
  const partitions = await client.query(
    `select i.inhparent::regclass::text as "table", c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.relpartbound is not null order by 2`,
  );
  const tables = await client.query<CopiedTable & { references: string[] }>(
    `select c.relname as name, c.relforcerowsecurity as "isWalled",
       (select json_agg(a.attname order by a.attnum) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
       (select coalesce(json_agg(k.confrelid::regclass::text), '[]') from pg_constraint k
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as "references"
     from pg_class c
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace and c.relname <> 'schema_migrations'
     order by 1`,
  );
  return {
    migrations: migrations.rows,
    partitions: partitions.rows.filter(({ bound }) => bound !== "DEFAULT"),
    tables: sortByReferences(tables.rows).map(({ name, columns, isWalled }) => ({ name, columns, isWalled })),
  };
}

function sortByReferences<T extends { name: string; references: string[] }>(tables: readonly T[]): T[] {
  const ordered: T[] = [];
  let remaining = [...tables];
  while (remaining.length > 0) {
    const ready = remaining.filter(({ references }) => !remaining.some(({ name }) => references.includes(name)));
    if (ready.length === 0) throw new Error("the tables reference each other in a cycle");
    ordered.push(...ready);
    remaining = remaining.filter((table) => !ready.includes(table));
  }
  return ordered;
}

// Includes generated columns.
async function computeTableChecksum(client: pg.ClientBase, table: string): Promise<TableChecksum> {
  const { rows } = await client.query<TableChecksum>(
    `select count(*)::int8 as rows, coalesce(sum(('x' || substr(md5(t::text), 1, 15))::bit(60)::int8::numeric), 0)::text as sum from "${table}" t`,
  );
  return rows[0]!;
}

/** Migrations insert rows into these tables. */
const NEVER_EMPTY = ["bucket_leases", "learner_lease"];

async function assertEmpty(client: pg.ClientBase, { tables }: DumpHeader) {
  for (const { name } of tables)
    if (NEVER_EMPTY.includes(name)) await client.query(`delete from ${name}`);
    else if ((await client.query(`select from "${name}" limit 1`)).rowCount !== 0)
      throw new RestoreRefused(`the database is not empty: there are rows in ${name}`);
}

async function createPartition(client: pg.ClientBase, target: DumpHeader, table: string, name: string, bound: string) {
  const isValidName = target.tables.some((existing) => existing.name === table) && name.startsWith(`${table}_`);
  if (
    !isValidName ||
    !/^\w+$/.test(name) ||
    !/^FOR VALUES FROM \('[0-9a-f-]{36}'\) TO \('[0-9a-f-]{36}'\)$/.test(bound)
  )
    throw new RestoreRefused(`it contains an unknown partition ${name}`);
  for (const text of partitionStatements(table, name, bound)) await client.query(text);
}

async function expectTable(pieces: AsyncIterator<DumpPiece>, table: string) {
  const piece = await nextPiece(pieces);
  if (piece.kind !== "table" || piece.table !== table) throw new RestoreRefused(`the rows of ${table} are missing`);
}

async function writeTable(
  client: pg.ClientBase,
  { name, columns, isWalled }: CopiedTable,
  pieces: AsyncIterator<DumpPiece>,
) {
  let check: TableChecksum | undefined;
  async function* rows() {
    for (;;) {
      const piece = await nextPiece(pieces);
      if (piece.kind === "rows") {
        yield piece.bytes;
        continue;
      }
      if (piece.kind !== "end") throw new RestoreRefused(`the rows of ${name} are incomplete`);
      check = piece.check;
      return;
    }
  }
  // COPY fails with row-level security, which the owner may suspend in this transaction.
  if (isWalled) await client.query(`alter table "${name}" no force row level security`);
  await pipeline(Readable.from(rows()), client.query(copyFrom(`copy "${name}" (${quoteColumns(columns)}) from stdin`)));
  const found = await computeTableChecksum(client, name);
  if (found.rows !== check!.rows || found.sum !== check!.sum)
    throw new RestoreRefused(
      `the rows of ${name} differ from the backup: ${found.rows} arrived, and ${check!.rows} were backed up`,
    );
  if (isWalled) await client.query(`alter table "${name}" force row level security`);
  return found.rows;
}

async function nextPiece(pieces: AsyncIterator<DumpPiece>): Promise<DumpPiece> {
  const { value, done } = await pieces.next();
  if (done) throw new RestoreRefused("it is incomplete");
  return value;
}
