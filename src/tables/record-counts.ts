import { prepared, type Tx } from "../postgres/database.ts";

/** Beyond so many nobody needs to know how many exactly, and counting takes long. */
export const COUNT_MAX = 100_000;

const cappedCountSql = (table: string) =>
  `(select count(*) from (select from ${table} where merchant_id = $1 limit ${COUNT_MAX + 1}) as found) as ${table}`;
const COUNTS = prepared(
  "record_counts",
  `select ${cappedCountSql("subscriptions")}, ${cappedCountSql("invoices")}, ${cappedCountSql("transactions")}`,
);

/** How many records a merchant has pushed or imported; `COUNT_MAX + 1` is "more". */
export async function countRecords(tx: Tx, merchantId: string) {
  type Row = { subscriptions: number; invoices: number; transactions: number };
  return (await tx.run<Row>(COUNTS, [merchantId])).rows[0]!;
}
