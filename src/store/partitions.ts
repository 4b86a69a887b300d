import { type Database, prepared, sqlState } from "./database.ts";

const IMPATIENT = prepared("partition_lock_timeout", "set local lock_timeout = '1s'");
// Two that change partitions at once end in errors from deep inside PostgreSQL.
const ONE_BY_ONE = prepared("partition_lock", "select pg_advisory_xact_lock(hashtext('partitions'))");
const IS_THERE = prepared("partition_there", "select to_regclass($1) is not null as there");

/** Rows of the range lie in the default partition already, where they are found as well. */
const LIES_IN_DEFAULT = "23514";

/**
 * Make a partition; any number of processes may, and one does.
 *
 * @param from  the lowest value in it
 * @param to  the lowest value beyond it
 * @returns false when it was there already, or must not be because the default holds its rows
 */
export async function makePartition(db: Database, table: string, name: string, from: string, to: string) {
  try {
    const text = `create table ${name} partition of ${table} for values from ('${from}') to ('${to}')`;
    return await alter(db, name, false, text);
  } catch (error) {
    if (sqlState(error) === LIES_IN_DEFAULT) return false;
    throw error;
  }
}

/** Drop a partition with all that is in it; false when it was gone already. */
export const dropPartition = (db: Database, name: string) => alter(db, name, true, `drop table ${name}`);

/** The whole table waits behind a change that waits for a lock, so it waits for no longer than a second. */
const alter = (db: Database, name: string, there: boolean, text: string): Promise<boolean> =>
  db.transaction(async (tx) => {
    await tx.run(IMPATIENT);
    await tx.run(ONE_BY_ONE);
    if ((await tx.run<{ there: boolean }>(IS_THERE, [name])).rows[0]!.there !== there) return false;
    await tx.run(prepared(`${there ? "drop" : "make"}_${name}`, text));
    return true;
  });
