import type { Database, Statement, Tx } from "../../src/postgres/database.ts";

/** Rewrites every statement before it runs. */
export function withRewrittenStatements(db: Database, change: (statement: Statement) => Statement): Database {
  const changed = (tx: Tx): Tx => ({ run: (statement, values) => tx.run(change(statement), values) });
  return { ...db, ...changed(db), transaction: (work) => db.transaction((tx) => work(changed(tx))) };
}

const MERCHANT_CONDITION = /(\w+\.)?merchant_id = (\$1(::uuid)?(?!\d)|\w+\.merchant_id)/g;

/** Returns the statement without its merchant condition, as if its author had forgotten it. */
export const withoutMerchantCondition = ({ name, text }: Statement): Statement => ({
  name: name === "" ? "" : `${name}_forgetful`,
  text: text.replace(MERCHANT_CONDITION, (_all, _alias, other: string) =>
    other.startsWith("$") ? "$1::uuid is not null" : "true",
  ),
});

export const hasMerchantCondition = ({ text }: Statement) => text.match(MERCHANT_CONDITION) !== null;
