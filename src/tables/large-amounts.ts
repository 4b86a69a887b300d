import { STORED } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** From which amount an invoice is large, in minor units. */
export interface LargeAmount {
  currency: string;
  amount: number;
}

const LIST = prepared(
  "list_large_amounts",
  "select currency, amount from large_amounts where merchant_id = $1 order by currency",
);

export const listLargeAmounts = async (tx: Tx, merchantId: string): Promise<LargeAmount[]> =>
  (await tx.run<LargeAmount>(LIST, [merchantId])).rows;

const CLEAR = prepared("clear_large_amounts", "delete from large_amounts where merchant_id = $1");
const INSERT = prepared(
  "insert_large_amounts",
  `insert into large_amounts (merchant_id, currency, amount)
   select $1::uuid, * from unnest($2::text[], $3::int8[]) ${STORED}`,
);

/** Needs a transaction that holds the merchant's row. @param amounts  at most one for each currency */
export async function replaceLargeAmounts(tx: Tx, merchantId: string, amounts: readonly LargeAmount[]) {
  await tx.run(CLEAR, [merchantId]);
  const values = [amounts.map(({ currency }) => currency), amounts.map(({ amount }) => amount)];
  await tx.run(INSERT, [merchantId, ...values]);
}
