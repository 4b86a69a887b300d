import { setTimeout as sleep } from "node:timers/promises";
import { type Database, prepared } from "../../src/postgres/database.ts";
import { readTreeCpuMs } from "../cpu-time.ts";
import type { Installation, Role, Tenant } from "./installation.ts";

/** Of one unit: milliseconds, and bytes. */
export interface UnitCost {
  serviceMs: number;
  databaseMs: number;
  walBytes: number;
  diskBytes: number;
}

interface Reading {
  atMs: number;
  serviceMs: Record<Role, number>;
  databaseMs: number;
  walBytes: number;
  diskBytes: number;
}

/** Per second, with nothing to do. */
export interface IdleCost {
  serviceMs: Record<Role, number>;
  databaseMs: number;
}

const POLL_MS = 20;
const WRITTEN = prepared(
  "capacity_written",
  `select pg_backend_pid() as "ownPid", (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as "walBytes",
     (select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and n.nspname = 'public')::float8 as "diskBytes"`,
);

async function read({ db, facts, processes }: Installation): Promise<Reading> {
  const { rows } = await db.run<Pick<Reading, "walBytes" | "diskBytes"> & { ownPid: number }>(WRITTEN);
  const { ownPid, ...written } = rows[0]!;
  const roles = Object.entries(processes).map(([role, { pid }]) => [role, readTreeCpuMs(pid)]);
  return {
    atMs: performance.now(),
    serviceMs: Object.fromEntries(roles),
    // Without the connection that measures and waits.
    databaseMs: readTreeCpuMs(facts.postmaster, [ownPid]),
    ...written,
  };
}

export async function measureIdle(installation: Installation, ms: number): Promise<IdleCost> {
  const before = await read(installation);
  await sleep(ms);
  const after = await read(installation);
  const seconds = (after.atMs - before.atMs) / 1_000;
  const perSecond = (role: string) => (after.serviceMs[role as Role] - before.serviceMs[role as Role]) / seconds;
  return {
    serviceMs: Object.fromEntries(Object.keys(after.serviceMs).map((role) => [role, perSecond(role)])) as Record<
      Role,
      number
    >,
    databaseMs: (after.databaseMs - before.databaseMs) / seconds,
  };
}

/**
 * CPU of the processes that do the work, less their idle cost meanwhile.
 *
 * @param roles  whose CPU counts
 */
export async function measureUnits(
  installation: Installation,
  roles: readonly Role[],
  idle: IdleCost,
  work: () => Promise<number>,
): Promise<UnitCost & { count: number; seconds: number }> {
  const before = await read(installation);
  const count = await work();
  const after = await read(installation);
  const seconds = (after.atMs - before.atMs) / 1_000;
  const serviceMs = roles.reduce(
    (sum, role) => sum + after.serviceMs[role] - before.serviceMs[role] - idle.serviceMs[role] * seconds,
    0,
  );
  return {
    count,
    seconds,
    serviceMs: serviceMs / count,
    databaseMs: (after.databaseMs - before.databaseMs - idle.databaseMs * seconds) / count,
    walBytes: (after.walBytes - before.walBytes) / count,
    diskBytes: (after.diskBytes - before.diskBytes) / count,
  };
}

const QUEUED = prepared(
  "capacity_queued",
  `select exists (select from case_pokes) or exists (select from due_cases where due_at <= now()) as "isBusy"`,
);
const WAITING = prepared(
  "capacity_waiting",
  `select exists (select from deliveries where merchant_id = any($1::uuid[])) as "isBusy"`,
);

async function waitWhile(db: Database, statement: typeof QUEUED, values: unknown[] = []) {
  while ((await db.run<{ isBusy: boolean }>(statement, values)).rows[0]!.isBusy) await sleep(POLL_MS);
}

/** No case is queued or due. */
export const untilDecided = ({ db }: Installation) => waitWhile(db, QUEUED);
export const untilDelivered = ({ db }: Installation, tenants: readonly Tenant[]) =>
  waitWhile(db, WAITING, [tenants.map(({ merchant }) => merchant.id)]);

export interface TableSize {
  name: string;
  rows: number;
  heapBytes: number;
  indexBytes: number;
}

const TABLE_ROWS = prepared("capacity_tables_analyze", "analyze");
const TABLES = prepared(
  "capacity_tables",
  `select coalesce(parent.relname, c.relname) as name, sum(greatest(c.reltuples, 0))::float8 as rows,
     sum(pg_table_size(c.oid))::float8 as "heapBytes", sum(pg_indexes_size(c.oid))::float8 as "indexBytes"
   from pg_class c
   left join pg_inherits i on i.inhrelid = c.oid
   left join pg_class parent on parent.oid = i.inhparent
   where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
   group by 1 having sum(pg_total_relation_size(c.oid)) > 1000000 order by 1`,
);

/** Tables that grew, partitions together. */
export async function readTableSizes({ db }: Installation): Promise<TableSize[]> {
  await db.run(TABLE_ROWS);
  return (await db.run<TableSize>(TABLES)).rows;
}
