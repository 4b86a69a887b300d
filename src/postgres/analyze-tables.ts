import { prepared, type Tx } from "./database.ts";

// `relpages` dates from the last ANALYZE or VACUUM. A new table has 0 and counts as grown from four pages on. Uncommitted rows
// are analyzed as an empty table, which then counts as new again.
const GROWN_TABLES = prepared(
  "grown_tables",
  `select quote_ident(relname) as name from pg_class
   where relnamespace = current_schema()::regnamespace and relkind = 'r' and pg_has_role(relowner, 'usage') and quote_ident(relname) <> all($1::text[])
     and pg_relation_size(oid) > 8 * greatest(case when reltuples > 0 then relpages else 0 end, 0.5) * current_setting('block_size')::int8
   order by 1`,
);

/**
 * Returns tables that grew eightfold since their last ANALYZE, as SQL names. Autovacuum checks once a minute; until then, plans
 * made for empty tables would make each batch of a first import read all batches before it.
 */
export async function findGrownTables(owner: Tx, exceptTables: readonly string[]): Promise<string[]> {
  return (await owner.run<{ name: string }>(GROWN_TABLES, [exceptTables])).rows.map(({ name }) => name);
}

/** Does nothing if another process analyzes it. */
export async function analyzeTable(owner: Tx, table: string) {
  await owner.run(prepared("", `analyze (skip_locked) ${table}`));
}
