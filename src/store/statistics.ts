import { type Database, prepared } from "./database.ts";

// relpages is what it was at the last ANALYZE or VACUUM; a table that is new has 0. 16 pages are 128 kB.
const GROWN = prepared(
  "grown_tables",
  `select relname as name, quote_ident(relname) as quoted from pg_class
   where relnamespace = current_schema()::regnamespace and relkind = 'r'
     and pg_relation_size(oid) > 8 * greatest(relpages, 2) * current_setting('block_size')::int8
   order by 1`,
);

/**
 * Read statistics anew of tables that grew eightfold since the last time. PostgreSQL looks at its tables once a minute, and until then works by
 * plans that were made when they were empty: of the first import of a merchant each batch reads all batches before it. Any
 * number of processes may call this, any number of times.
 *
 * @param owner  owns the tables
 * @returns their names
 */
export async function refreshStatistics(owner: Database): Promise<string[]> {
  const { rows } = await owner.run<{ name: string; quoted: string }>(GROWN);
  for (const { quoted } of rows) await owner.run(prepared("", `analyze (skip_locked) ${quoted}`));
  return rows.map(({ name }) => name);
}
