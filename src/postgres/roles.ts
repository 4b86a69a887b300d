import type { Logger as Log } from "pino";
import { type Address, type Connection, prepared, type Tx } from "./database.ts";
import { sqlState } from "./database-errors.ts";

/**
 * Besides the login, which owns the tables: `dunlin_api` sees one merchant's rows at a time, `dunlin_worker` all. Neither can
 * change the schema.
 */
export const DATABASE_ROLES = ["dunlin_api", "dunlin_worker"] as const;
export type DatabaseRole = (typeof DATABASE_ROLES)[number];

const EVERY_MERCHANT = "-c dunlin.every_merchant=on";
/**
 * PostgreSQL would plan each run of the loops' statements, far longer than it runs, because an array of one element looks cheaper
 * than one of unknown length.
 */
const GENERIC_PLANS = "-c plan_cache_mode=force_generic_plan";

/** Citus: the servers that hold the tables also learn which merchant the transaction names. */
const SETTINGS_REACH_SERVERS = "-c citus.propagate_set_commands=local";

export interface RoleAddresses {
  /** For one merchant at a time. */
  api: Address;
  /** For all merchants. */
  worker: Address;
  /** For schema changes. */
  owner: Address;
}

/** @param usable  whether the login can act as both roles; otherwise it works as the owner */
export function roleAddresses(address: Address, usable: boolean): RoleAddresses {
  const as = (role: DatabaseRole) => (usable ? [`-c role=${role}`] : []);
  const session = (...options: string[]): Address => ({ ...address, session: options.join(" ") });
  if (address.isDistributed) {
    return {
      api: session(...as("dunlin_api"), SETTINGS_REACH_SERVERS),
      worker: session(...as("dunlin_worker"), EVERY_MERCHANT, SETTINGS_REACH_SERVERS),
      owner: session(EVERY_MERCHANT),
    };
  }
  return {
    api: usable ? session(...as("dunlin_api")) : address,
    worker: session(...as("dunlin_worker"), EVERY_MERCHANT, GENERIC_PLANS),
    owner: session(EVERY_MERCHANT),
  };
}

const ROLES_ARE_USABLE = prepared(
  "usable_roles",
  `select rolname as name from pg_roles where rolname = any($1::name[]) and pg_has_role(session_user, oid, 'member')`,
);

export async function rolesAreUsable(tx: Tx): Promise<boolean> {
  return (await tx.run(ROLES_ARE_USABLE, [DATABASE_ROLES])).rowCount === DATABASE_ROLES.length;
}

const MISSING_STATEMENTS = prepared(
  "missing_roles",
  `select wanted.name, quote_ident(session_user) as login, not exists (select from pg_roles r where r.rolname = wanted.name) as "isNew"
   from unnest($1::name[]) as wanted (name)
   where not exists (select from pg_roles r where r.rolname = wanted.name and pg_has_role(session_user, r.oid, 'member'))
   order by wanted.name`,
);

/** In order. Empty if this login can already act as both roles. */
export async function listRoleStatements(tx: Tx): Promise<string[]> {
  const missing = (
    await tx.run<{ name: DatabaseRole; login: string; isNew: boolean }>(MISSING_STATEMENTS, [DATABASE_ROLES])
  ).rows;
  return missing.flatMap(({ name, login, isNew }) => [
    ...(isNew ? [`create role ${name} nologin`] : []),
    `grant ${name} to ${login}`,
  ]);
}

const MAY_CREATE = prepared(
  "may_create_roles",
  "select rolsuper or rolcreaterole as may from pg_roles where rolname = current_user",
);
/** Roles belong to the whole server, so another process may have created or granted one concurrently. */
const CREATED_CONCURRENTLY = /^(42710|23505|XX000)$/;

/** As far as this login is allowed to. */
async function createRoles(connection: Connection): Promise<void> {
  if (!(await connection.run<{ may: boolean }>(MAY_CREATE)).rows[0]!.may) return;
  for (const text of await listRoleStatements(connection))
    await connection.run(prepared("", text)).catch((error) => {
      // 42501: since PostgreSQL 16, a role created by another login cannot be granted.
      if (!CREATED_CONCURRENTLY.test(sqlState(error) ?? "") && sqlState(error) !== "42501") throw error;
    });
}

// Partitions are accessed only through their table. The API needs only merchants' tables. The audit log is append-only.
const MISSING_GRANTS = prepared(
  "ungranted_tables",
  `select wanted.name, wanted.role, array_to_string(wanted.privileges, ', ') as privileges
   from (
     select c.oid, c.oid::regclass::text as name, r.oid as role_oid, r.rolname as role,
       case when c.relname = 'audit_log' then array['select', 'insert'] else array['select', 'insert', 'update', 'delete'] end as privileges
     from pg_class c cross join pg_roles r
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and r.rolname = any($1::name[]) and c.relname <> 'schema_migrations' and (r.rolname <> 'dunlin_api' or c.relforcerowsecurity)
   ) wanted
   where exists (select from unnest(wanted.privileges) p where not has_table_privilege(wanted.role_oid, wanted.oid, p))`,
);
const SCHEMA = prepared(
  "ungranted_schema",
  `select quote_ident(current_schema()) as name from pg_roles r
   where r.rolname = any($1::name[]) and not has_schema_privilege(r.oid, current_schema(), 'usage') limit 1`,
);

/** Row-level security of a table with a merchant_id, as its owner creates it. */
export const policyStatements = (table: string): string[] => [
  `create policy wall on ${table} using (merchant_id = nullif(current_setting('dunlin.merchant', true), '')::uuid)`,
  everyMerchantPolicy(table),
];

const everyMerchantPolicy = (table: string) =>
  `create policy every_merchant on ${table} to current_user
   using (case current_setting('dunlin.every_merchant', true) when 'on' then 1 else 0 end <> 0)`;

// The role of the loops may be younger than a table, and a dump by another owner may have lost the policy.
const INCOMPLETE_POLICIES = prepared(
  "incomplete_policies",
  `select c.oid::regclass::text as table, quote_ident(pg_get_userbyid(c.relowner)) as owner, p.oid is null as "isMissing"
   from pg_class c left join pg_policy p on p.polrelid = c.oid and p.polname = 'every_merchant'
   where c.relnamespace = current_schema()::regnamespace and c.relforcerowsecurity and not c.relispartition
     and (p.oid is null or not p.polroles @> array[c.relowner, 'dunlin_worker'::regrole]::oid[])`,
);

/**
 * Creates the roles and grants access to all tables, as far as this login is allowed to. Call it under the migration lock,
 * whenever tables may be new.
 */
export async function prepareRoles(connection: Connection, log: Log): Promise<void> {
  await createRoles(connection);
  const missing = await listRoleStatements(connection);
  if (missing.length > 0) return log.warn({ why: `as a superuser, run: ${missing.join("; ")};` }, "roles.missing");
  for (const { name } of (await connection.run<{ name: string }>(SCHEMA, [DATABASE_ROLES])).rows)
    await connection.run(prepared("", `grant usage on schema ${name} to ${DATABASE_ROLES.join(", ")}`));
  type Incomplete = { table: string; owner: string; isMissing: boolean };
  for (const { table, owner, isMissing } of (await connection.run<Incomplete>(INCOMPLETE_POLICIES)).rows) {
    if (isMissing) await connection.run(prepared("", everyMerchantPolicy(table)));
    await connection.run(prepared("", `alter policy every_merchant on ${table} to ${owner}, dunlin_worker`));
  }
  const ungranted = await connection.run<{ name: string; role: DatabaseRole; privileges: string }>(MISSING_GRANTS, [
    DATABASE_ROLES,
  ]);
  for (const { name, role, privileges } of ungranted.rows)
    await connection.run(prepared("", `grant ${privileges} on ${name} to ${role}`));
}

const TENANT_ISOLATION = prepared(
  "wall_facts",
  `select
     session_user as login,
     (select rolbypassrls and not rolsuper from pg_roles where rolname = session_user) as "bypassesRowSecurity",
     coalesce((
       select array_agg(c.relname::text order by c.relname)
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attname = 'merchant_id'
         and not (c.relrowsecurity and c.relforcerowsecurity)
     ), '{}') as "unprotectedTables"`,
);

export interface TenantIsolation {
  login: string;
  bypassesRowSecurity: boolean;
  /** With a merchant_id but without forced row-level security. */
  unprotectedTables: string[];
}

export async function readTenantIsolation(tx: Tx): Promise<TenantIsolation> {
  return (await tx.run<TenantIsolation>(TENANT_ISOLATION)).rows[0]!;
}
