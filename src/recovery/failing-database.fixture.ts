import type { Database, Statement } from "../postgres/database.ts";

/** Also matches a lock (`for update`), which does no harm. */
const CHANGES = /\b(insert|update|delete|merge)\b/i;

export interface FailingDatabase {
  db: Database;
  /** How many statements ran. */
  made(): number;
  /** After how many statements a crash can leave different rows: right before and right after each change. */
  crashPoints(): number[];
}

/** A database connection that is lost after this many statements. */
export function createFailingDatabase(db: Database, dieAfter: number): FailingDatabase {
  let made = 0;
  const points = new Set<number>();
  const count = ({ text }: Statement) => {
    if (made >= dieAfter) throw new Error("dead");
    made++;
    if (CHANGES.test(text)) points.add(made - 1).add(made);
  };
  // Asynchronous, because a statement that throws would leave the promises of those before it without a handler.
  const dying: Database = {
    ...db,
    async run(statement, values) {
      count(statement);
      return db.run(statement, values);
    },
    transaction: (work) =>
      db.transaction((tx) =>
        work({
          async run(statement, values) {
            count(statement);
            return tx.run(statement, values);
          },
        }),
      ),
  };
  return { db: dying, made: () => made, crashPoints: () => [...points] };
}
