import { arrayParameters, type Column, columnValues } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** By the merchant's system; Dunlin only observes. */
export interface ObservedRetry {
  /** Time-ordered. */
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

/** The caller holds the merchant's clock lock at `now`. */
export async function recordObservedRetries(tx: Tx, merchantId: string, retries: readonly ObservedRetry[], now: Date) {
  await tx.run(RECORD, [merchantId, now, ...columnValues(retries, COLUMNS)]);
}
