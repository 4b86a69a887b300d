import { arrayParameters, type Column, columnValues } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** A retry that the merchant's own system made on an invoice that Dunlin only watches, and that ended. */
export interface ObservedRetry {
  /** In the order of their making. */
  id: string;
  transactionId: string;
  caseId: string;
}

const COLUMNS: readonly Column<ObservedRetry>[] = [
  ["id", "uuid", "id"],
  ["transaction_id", "text", "transactionId"],
  ["case_id", "uuid", "caseId"],
];
const NAMES = COLUMNS.map(([name]) => name).join(", ");

const RECORD = prepared(
  "note_watched_retries",
  `insert into watched_retries (merchant_id, noted_at, ${NAMES})
   select $1::uuid, $2::timestamptz, w.* from unnest(${arrayParameters(COLUMNS, 3)}) as w (${NAMES})
   on conflict (merchant_id, transaction_id) do nothing`,
);

/** Note these, but for those that are noted already. The merchant's clock is locked, and stands at `now`: so the order is that of commits. */
export async function recordObservedRetries(tx: Tx, merchantId: string, retries: readonly ObservedRetry[], now: Date) {
  await tx.run(RECORD, [merchantId, now, ...columnValues(retries, COLUMNS)]);
}
