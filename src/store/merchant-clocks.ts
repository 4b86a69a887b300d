import { prepared, type Tx } from "./database.ts";

const ADVANCE = prepared(
  "advance_merchant_clock",
  `insert into merchant_clocks (merchant_id, last_at) values ($1, $2)
   on conflict (merchant_id) do update
     set last_at = greatest(excluded.last_at, merchant_clocks.last_at + interval '1 millisecond')
   returning last_at as at`,
);

/**
 * The moment for what this transaction lists: `now`, or just after the last one given. The row stays locked until the
 * commit, so moments are in commit order, and a reader who sees one has seen all before it.
 */
export async function advanceMerchantClock(tx: Tx, merchantId: string, now: Date): Promise<Date> {
  return (await tx.run<{ at: Date }>(ADVANCE, [merchantId, now])).rows[0]!.at;
}
