import { prepared, type Tx } from "./database.ts";

// relpages is what it was at the last ANALYZE or VACUUM; a table that is new has 0, and is read once it has four pages: a hundred cases. What is read
// while its first rows are not committed yet is taken to be empty, so it counts as new again.
const GROWN_TABLES = prepared(
  "grown_tables",
  `select quote_ident(relname) as name from pg_class
   where relnamespace = current_schema()::regnamespace and relkind = 'r' and pg_has_role(relowner, 'usage') and quote_ident(relname) <> all($1::text[])
     and pg_relation_size(oid) > 8 * greatest(case when reltuples > 0 then relpages else 0 end, 0.5) * current_setting('block_size')::int8
   order by 1`,
);

/**
 * Tables that grew eightfold since their statistics were read. PostgreSQL looks at its tables once a minute, and until then works by plans
 * that were made when they were empty: of the first import of a merchant each batch reads all batches before it.
 *
 * @param owner  owns the tables
 * @param but  names of tables that are not asked about
 * @returns their names, as SQL
 */
export async function findGrownTables(owner: Tx, but: readonly string[]): Promise<string[]> {
  return (await owner.run<{ name: string }>(GROWN_TABLES, [but])).rows.map(({ name }) => name);
}

/** Read statistics of one of `findGrownTables` anew, unless somebody else is at it. Any number of processes may, any number of times. */
export async function analyzeTable(owner: Tx, table: string) {
  await owner.run(prepared("", `analyze (skip_locked) ${table}`));
}
