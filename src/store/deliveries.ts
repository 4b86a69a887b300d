import type { EventType } from "../domain/event.ts";
import { prepared, type Tx } from "./database.ts";

/** An event whose next attempt is due. */
export interface DueDelivery {
  eventId: string;
  caseId: string;
  type: EventType;
  body: string;
  round: number;
  /** Ended attempts of this round. */
  attempts: number;
  attemptsMax: number;
  dueAt: Date;
}

const LONG_AGO = new Date(0);

// The lateral subquery keeps to one lookup per row, whatever the statistics say: a hash join would read all events.
const DUE = prepared(
  "due_deliveries",
  `select d.event_id as "eventId", e.case_id as "caseId", e.type, e.body, d.round, d.attempts, d.attempts_max as "attemptsMax", d.due_at as "dueAt"
   from (
     select * from deliveries
     where merchant_id = $1 and due_at <= $2 and due_at >= $5 and event_id <> all($3::uuid[])
     order by due_at, event_id limit $4
   ) d
   cross join lateral (select case_id, type, body from events where merchant_id = $1 and id = d.event_id limit 1) e
   order by d.due_at, d.event_id`,
);

/**
 * What is due for a merchant, oldest first. Nothing is claimed: the caller owns the merchant's bucket.
 *
 * @param busy  events left out: those on the wire, or ended and not recorded yet
 * @param from  nothing older is looked for: rows that are gone leave dead index entries, which cost what live ones cost as long
 *   as some transaction might still see them
 */
export async function dueDeliveries(
  tx: Tx,
  merchantId: string,
  now: Date,
  busy: readonly string[],
  limit: number,
  from: Date = LONG_AGO,
) {
  return (await tx.run<DueDelivery>(DUE, [merchantId, now, busy, limit, from])).rows;
}

const NEXT = prepared(
  "next_delivery_due",
  "select min(due_at) as at from deliveries where merchant_id = $1 and due_at > $2",
);

/** When the first delivery after `after` is due, or null. */
export async function nextDeliveryDue(tx: Tx, merchantId: string, after: Date) {
  return (await tx.run<{ at: Date | null }>(NEXT, [merchantId, after])).rows[0]?.at ?? null;
}

const FIRST_DUE = prepared(
  "first_deliveries_due",
  `select m.id as "merchantId", (select min(d.due_at) from deliveries d where d.merchant_id = m.id and d.due_at >= m.due_from) as "dueAt"
   from unnest($1::uuid[], $2::timestamptz[]) as m (id, due_from)`,
);

/**
 * When the first delivery of each of these merchants is due: one index probe per merchant, null when there is none. `from`: as of
 * `dueDeliveries`.
 */
export async function firstDeliveriesDue(tx: Tx, merchants: readonly { id: string; from: Date }[]) {
  const values = [merchants.map(({ id }) => id), merchants.map(({ from }) => from)];
  return (await tx.run<{ merchantId: string; dueAt: Date | null }>(FIRST_DUE, values)).rows;
}
