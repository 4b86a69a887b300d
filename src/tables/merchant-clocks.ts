import { prepared, type Tx } from "../postgres/database.ts";

const READ = prepared("merchant_clock", "select last_at as at from merchant_clocks where merchant_id = $1");

/** All of the merchant's listed rows up to it are committed. */
export async function merchantClock(tx: Tx, merchantId: string): Promise<Date | null> {
  return (await tx.run<{ at: Date }>(READ, [merchantId])).rows[0]?.at ?? null;
}

/** Of the tables that a writer of listed rows keeps. Processes of another version fail before they write. */
export const LISTS_VERSION = 1;

// Citus refuses to add an interval to a time in a zone that the session sets.
const ADVANCE = prepared(
  "advance_merchant_clock",
  `insert into merchant_clocks (merchant_id, last_at, lists) values ($1, $2, ${LISTS_VERSION})
   on conflict (merchant_id) do update
     set last_at = greatest(excluded.last_at, (merchant_clocks.last_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
   returning last_at as at`,
);
/** Citus passes only this form on to the merchant's server. */
const setLockTimeout = (waitMs: number) => prepared("", `set local lock_timeout = ${Math.round(waitMs)}`);

/**
 * `now`, or just after the latest listed row. Locks the clock until the commit: times are in commit order, and a reader of one
 * time has seen all earlier rows.
 *
 * @param waitMs  for the lock; by default as for any lock
 * @throws after that, see `isLockTimeout`
 */
export async function advanceMerchantClock(tx: Tx, merchantId: string, now: Date, waitMs?: number): Promise<Date> {
  const [, { rows }] = await Promise.all([
    waitMs === undefined ? null : tx.run(setLockTimeout(waitMs)),
    tx.run<{ at: Date }>(ADVANCE, [merchantId, now]),
  ]);
  return rows[0]!.at;
}
