import { type Database, prepared } from "./database.ts";
import { sqlState } from "./database-errors.ts";
import { policyStatements } from "./roles.ts";

/** Partitioned by ranges of time-ordered ids (UUIDv7), with a default partition. */
export interface PartitionedTable {
  /** Prefix of its partitions: `request_log_2026_11_03` (or `…_2026_11` for a month) and `request_log_default`. */
  name: string;
  /** When the row was written, in service time. */
  timeColumn: string;
  span: "day" | "month";
}

interface Partition {
  name: string;
  startMs: number;
  endMs: number;
}

function partitionOf({ name, span }: PartitionedTable, year: number, month: number, day: number): Partition {
  const startMs = Date.UTC(year, month, span === "day" ? day : 1);
  const endMs = span === "day" ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1);
  const date = new Date(startMs).toISOString().slice(0, span === "day" ? 10 : 7);
  return { name: `${name}_${date.replaceAll("-", "_")}`, startMs, endMs };
}

/** The time's lowest UUIDv7. */
export function firstIdOf(ms: number): string {
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

const LIST = prepared(
  "partitions",
  `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = $1::regclass order by 1`,
);

async function listPartitions(db: Database, table: PartitionedTable): Promise<Partition[]> {
  const { rows } = await db.run<{ name: string }>(LIST, [table.name]);
  return rows.flatMap(({ name }) => {
    const [year, month, day = 1] = name
      .slice(table.name.length + 1)
      .split("_")
      .map(Number);
    return Number.isNaN(year) ? [] : [partitionOf(table, year!, month! - 1, day)];
  });
}

/**
 * Creates the current and the next day's or month's partition, and drops those with only ids older than `keepFrom`, also such
 * rows in the default partition. Any number of processes can call it. Waits at most a second for the table; the next call does
 * the rest.
 *
 * @param now  service time
 * @returns names of created and dropped partitions
 */
export async function maintainPartitions(db: Database, table: PartitionedTable, now: Date, keepFrom: Date) {
  const existing = await listPartitions(db, table);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const current = partitionOf(table, year, month, day);
  const next = table.span === "day" ? partitionOf(table, year, month, day + 1) : partitionOf(table, year, month + 1, 1);
  const made: string[] = [];
  for (const partition of [current, next]) {
    if (existing.some(({ name }) => name === partition.name)) continue;
    if (await createPartition(db, table, partition)) made.push(partition.name);
  }
  const dropped: string[] = [];
  for (const { name, endMs } of existing) {
    if (endMs <= keepFrom.getTime() && (await dropPartition(db, name))) dropped.push(name);
  }
  const text = `delete from ${table.name}_default where ${table.timeColumn} < $1`;
  await db.run(prepared(`clean_${table.name}`, text), [keepFrom]);
  return { made, dropped };
}

/** Rows of the range stay in the default partition. */
const DEFAULT_HAS_ROWS = "23514";

/** False if it exists, or the default partition has its rows. */
async function createPartition(db: Database, table: PartitionedTable, { name, startMs, endMs }: Partition) {
  try {
    const bound = `for values from ('${firstIdOf(startMs)}') to ('${firstIdOf(endMs)}')`;
    return await alterPartitions(db, name, false, partitionStatements(table.name, name, bound));
  } catch (error) {
    if (sqlState(error) === DEFAULT_HAS_ROWS) return false;
    throw error;
  }
}

/** The table's row-level security is repeated for readers that access the partition directly, such as a dump. */
export const partitionStatements = (table: string, name: string, bound: string): string[] => [
  `create table ${name} partition of ${table} ${bound}`,
  `alter table ${name} enable row level security, force row level security`,
  ...policyStatements(name),
];

const dropPartition = (db: Database, name: string) => alterPartitions(db, name, true, [`drop table ${name}`]);

const SET_LOCK_TIMEOUT = prepared("partition_lock_timeout", "set local lock_timeout = '1s'");
// Concurrent changes to partitions fail inside PostgreSQL.
const LOCK_PARTITIONS = prepared("partition_lock", "select pg_advisory_xact_lock(hashtext('partitions'))");
const PARTITION_EXISTS = prepared("partition_there", "select to_regclass($1) is not null as there");

/** Waits at most a second for its lock, because waiting blocks the whole table. */
const alterPartitions = (
  db: Database,
  name: string,
  exists: boolean,
  statements: readonly string[],
): Promise<boolean> =>
  db.transaction(async (tx) => {
    await tx.run(SET_LOCK_TIMEOUT);
    await tx.run(LOCK_PARTITIONS);
    if ((await tx.run<{ there: boolean }>(PARTITION_EXISTS, [name])).rows[0]!.there !== exists) return false;
    for (const text of statements) await tx.run(prepared("", text));
    return true;
  });
