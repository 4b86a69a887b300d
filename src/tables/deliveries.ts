import type { EventType } from "../domain/event.ts";
import { prepared, type Tx } from "../postgres/database.ts";

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
  /** Service time. A Date for each row would cost the client as much as its ids. */
  dueMs: number;
}

/** What to read of one merchant. */
export interface DueRequest {
  merchantId: string;
  /** Nothing older is looked for: rows that are gone leave dead index entries, which cost what live ones cost as long as some transaction might still see them. */
  from: Date;
  /** At most so many rows. */
  limit: number;
  /** Events left out: those on the wire, read already, or ended and not recorded yet. */
  busy: readonly string[];
}

// Each merchant's list of busy events is read once, not for each row: hence `materialized`. The lateral subqueries keep to one
// lookup per row, whatever the statistics say: a hash join would read all events.
const DUE = prepared(
  "due_deliveries",
  `with asks as materialized (
     select merchant_id, due_from, most, busy::uuid[] as busy, ask
     from unnest($2::uuid[], $3::timestamptz[], $4::int4[], $5::text[]) with ordinality as a (merchant_id, due_from, most, busy, ask)
   )
   select a.ask::int4, d.event_id as "eventId", e.case_id as "caseId", e.type, e.body, d.round, d.attempts,
     d.attempts_max as "attemptsMax", round(date_part('epoch', d.due_at) * 1000) as "dueMs"
   from asks a
   cross join lateral (
     select * from deliveries
     where merchant_id = a.merchant_id and due_at <= $1 and due_at >= a.due_from and event_id <> all(a.busy)
     order by due_at, event_id limit a.most
   ) d
   cross join lateral (select case_id, type, body from events where merchant_id = a.merchant_id and id = d.event_id limit 1) e
   order by d.due_at, d.event_id`,
);

/**
 * What is due for some merchants at once, each one's oldest first: a statement for each would cost more than its rows. Nothing is
 * claimed: the caller owns the merchants' buckets.
 *
 * @returns the rows of each ask, in the order of the asks
 */
export async function dueDeliveries(tx: Tx, now: Date, asks: readonly DueRequest[]): Promise<DueDelivery[][]> {
  const { rows } = await tx.run<DueDelivery & { ask: number }>(DUE, [
    now,
    asks.map(({ merchantId }) => merchantId),
    asks.map(({ from }) => from),
    asks.map(({ limit }) => limit),
    asks.map(({ busy }) => `{${busy.join(",")}}`),
  ]);
  const due = asks.map((): DueDelivery[] => []);
  for (const row of rows) due[row.ask - 1]!.push(row);
  return due;
}

const FIRST_DUE = prepared(
  "first_deliveries_due",
  `select m.id as "merchantId", (select min(d.due_at) from deliveries d where d.merchant_id = m.id and d.due_at >= m.due_from) as "dueAt"
   from unnest($1::uuid[], $2::timestamptz[]) as m (id, due_from)`,
);

/** When the first delivery of each of these merchants is due: one index probe per merchant, null when there is none. `from`: as of `DueRequest`. */
export async function firstDeliveriesDue(tx: Tx, merchants: readonly { id: string; from: Date }[]) {
  const values = [merchants.map(({ id }) => id), merchants.map(({ from }) => from)];
  return (await tx.run<{ merchantId: string; dueAt: Date | null }>(FIRST_DUE, values)).rows;
}
