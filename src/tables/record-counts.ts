import { prepared, type Tx } from "../postgres/database.ts";

/** Exact counting of more takes long. */
export const COUNT_MAX = 100_000;

const COUNTS = prepared(
  "record_counts",
  `select
     (select count(*) from (select from subscriptions where merchant_id = $1 limit ${COUNT_MAX + 1}) as found) as subscriptions,
     (select count(*) from (select from invoices where merchant_id = $1 limit ${COUNT_MAX + 1}) as found) as invoices,
     (select count(*) from (select from transactions where merchant_id = $1 limit ${COUNT_MAX + 1}) as found) as transactions`,
);

/** `COUNT_MAX + 1` means "more". */
export async function countRecords(tx: Tx, merchantId: string) {
  type Row = { subscriptions: number; invoices: number; transactions: number };
  return (await tx.run<Row>(COUNTS, [merchantId])).rows[0]!;
}
