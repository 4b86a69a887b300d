import { type Connection, LOCK_TIMEOUT_MS, prepared, type Tx } from "./database.ts";
import { DATABASE_ROLES, listRoleStatements } from "./roles.ts";

/** The database cannot be spread over several servers as it is. */
export class CannotDistribute extends Error {}

/**
 * They stay on the coordinator. They have few rows, and are found by a key of their own, locked for several merchants at once,
 * joined with people, or guarded by a rule of PostgreSQL.
 */
export const COORDINATOR_TABLES = [
  "api_keys",
  "audit_log",
  "invites",
  "jobs",
  "member_notices",
  "members",
  "notices",
  "rate_buckets",
  "saved_views",
  "sessions",
];

/** Every server has a copy, because statements about merchants' rows join them. */
const COPIED_TABLES = ["bucket_leases"];

const HAS_CITUS = prepared("has_citus", "select to_regclass('pg_catalog.pg_dist_partition') is not null as has");
const SPREAD_TABLES = prepared(
  "spread_tables",
  "select c.relname::text as name from pg_dist_partition d join pg_class c on c.oid = d.logicalrelid where d.partmethod = 'h' or d.repmodel = 't'",
);
const TENANT_TABLES = prepared(
  "tables_to_spread",
  `select c.relname::text as name from pg_class c
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and c.relforcerowsecurity and c.relname::text <> all($1::text[])
   order by c.relname <> 'merchants', c.relname`,
);
const REFERENCES_TO_MERCHANTS = prepared(
  "references_to_merchants",
  `select conrelid::regclass::text as table, quote_ident(conname) as name from pg_constraint
   where contype = 'f' and confrelid = 'merchants'::regclass and conrelid::regclass::text = any($1::text[])`,
);
const DATABASE_NAME = prepared("name_of_database", "select quote_ident(current_database()) as name");

/** Names of the tables that Citus spreads over servers or copies to all; null if the database has no Citus. */
async function listSpreadTables(tx: Tx): Promise<Set<string> | null> {
  if (!(await tx.run<{ has: boolean }>(HAS_CITUS)).rows[0]!.has) return null;
  return new Set((await tx.run<{ name: string }>(SPREAD_TABLES)).rows.map(({ name }) => name));
}

export const readIsDistributed = async (tx: Tx): Promise<boolean> =>
  (await listSpreadTables(tx))?.has("merchants") ?? false;

/**
 * Spreads the tables of merchants over the servers of a Citus cluster, so that all rows of one merchant are on one server. A table
 * that is spread stays as it is.
 *
 * @param connection  to the coordinator, as a superuser, with the migration lock
 * @returns the tables that were spread
 * @throws CannotDistribute if the database has no Citus, or if Citus refuses
 */
export async function distributeTables(connection: Connection): Promise<string[]> {
  const existing = await listSpreadTables(connection);
  if (existing === null)
    throw new CannotDistribute(
      'The database has no extension "citus". Create it on the coordinator and on all workers.',
    );
  const missingRoles = await listRoleStatements(connection);
  if (missingRoles.length > 0)
    throw new CannotDistribute(`Roles are missing. As a superuser, run: ${missingRoles.join("; ")};`);
  const run = (text: string) => runOrRefuse(connection, text);
  if (!existing.has("merchants")) await spreadMerchants(connection);
  for (const name of COPIED_TABLES.filter((name) => !existing.has(name)))
    await run(`select create_reference_table('${name}')`);
  const spread: string[] = [];
  for (const { name } of (await connection.run<{ name: string }>(TENANT_TABLES, [COORDINATOR_TABLES])).rows) {
    if (existing.has(name)) continue;
    // Merchants were first.
    if (name !== "merchants")
      await run(`select create_distributed_table('${name}', 'merchant_id', colocate_with => 'merchants')`);
    spread.push(name);
  }
  return spread;
}

/** Servers that hold tables are reached as the roles themselves, and start-up options do not travel. All or nothing. */
async function spreadMerchants(connection: Connection) {
  const run = (text: string) => runOrRefuse(connection, text);
  await run("begin");
  const database = (await connection.run<{ name: string }>(DATABASE_NAME)).rows[0]!.name;
  for (const role of DATABASE_ROLES) {
    await run(`alter role ${role} login`);
    await run(`alter role ${role} in database ${database} set lock_timeout = ${LOCK_TIMEOUT_MS}`);
  }
  await run(`alter role dunlin_worker in database ${database} set dunlin.every_merchant = 'on'`);
  // A table on the coordinator cannot refer to one that is spread. The deletion of a merchant names these tables itself.
  const { rows } = await connection.run<{ table: string; name: string }>(REFERENCES_TO_MERCHANTS, [COORDINATOR_TABLES]);
  for (const { table, name } of rows) await run(`alter table ${table} drop constraint ${name}`);
  await run("select create_distributed_table('merchants', 'id')");
  await run("commit");
}

async function runOrRefuse(connection: Connection, text: string) {
  try {
    await connection.run(prepared("", text));
  } catch (error) {
    // The connection is closed next, which rolls back.
    throw new CannotDistribute(`"${text}" failed: ${(error as Error).message}`, { cause: error });
  }
}
