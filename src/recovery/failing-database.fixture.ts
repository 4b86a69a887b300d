import type { Database } from "../postgres/database.ts";

/** A database connection that is lost after this many statements. */
export function createFailingDatabase(db: Database, dieAfter: number): { db: Database; made(): number } {
  let made = 0;
  const count = () => {
    if (made >= dieAfter) throw new Error("dead");
    made++;
  };
  const dying: Database = {
    ...db,
    run: (statement, values) => {
      count();
      return db.run(statement, values);
    },
    transaction: (work) =>
      db.transaction((tx) =>
        work({
          run: (statement, values) => {
            count();
            return tx.run(statement, values);
          },
        }),
      ),
  };
  return { db: dying, made: () => made };
}
