import type { EventType } from "../domain/event.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export interface DueDelivery {
  eventId: string;
  caseId: string;
  type: EventType;
  body: string;
  round: number;
  /** In this round. */
  attempts: number;
  attemptsMax: number;
  /** Service time; a Date per row would be expensive. */
  dueMs: number;
}

export interface DueRequest {
  merchantId: string;
  /** Skips dead index entries, which are expensive while an old transaction may still see them. */
  from: Date;
  limit: number;
  /** In flight, read ahead, or ended and not recorded. */
  busy: readonly string[];
}

// Reads each list of busy events once; the lateral subqueries keep one lookup per row, where a hash join would read all events.
const DUE = prepared(
  "due_deliveries",
  `with requests as materialized (
     select merchant_id, due_from, max_rows, busy::uuid[] as busy, position
     from unnest($2::uuid[], $3::timestamptz[], $4::int4[], $5::text[]) with ordinality
       as r (merchant_id, due_from, max_rows, busy, position)
   )
   select r.position::int4, d.event_id as "eventId", e.case_id as "caseId", e.type, e.body, d.round, d.attempts,
     d.attempts_max as "attemptsMax", round(date_part('epoch', d.due_at) * 1000) as "dueMs"
   from requests r
   cross join lateral (
     select * from deliveries
     where merchant_id = r.merchant_id and due_at <= $1 and due_at >= r.due_from and event_id <> all(r.busy)
     order by due_at, event_id limit r.max_rows
   ) d
   cross join lateral (select case_id, type, body from events where merchant_id = r.merchant_id and id = d.event_id limit 1) e
   order by d.due_at, d.event_id`,
);

/**
 * Oldest first. No claim: the caller owns the merchants' buckets.
 *
 * @returns each request's rows, in order
 */
export async function dueDeliveries(tx: Tx, now: Date, requests: readonly DueRequest[]): Promise<DueDelivery[][]> {
  const { rows } = await tx.run<DueDelivery & { position: number }>(DUE, [
    now,
    requests.map(({ merchantId }) => merchantId),
    requests.map(({ from }) => from),
    requests.map(({ limit }) => limit),
    requests.map(({ busy }) => `{${busy.join(",")}}`),
  ]);
  const due = requests.map((): DueDelivery[] => []);
  for (const row of rows) due[row.position - 1]!.push(row);
  return due;
}

const FIRST_DUE = prepared(
  "first_deliveries_due",
  `select
     m.id as "merchantId",
     (select min(d.due_at) from deliveries d where d.merchant_id = m.id and d.due_at >= m.due_from) as "dueAt"
   from unnest($1::uuid[], $2::timestamptz[]) as m (id, due_from)`,
);

/** Null if there is none. `from` as in `DueRequest`. */
export async function firstDeliveriesDue(tx: Tx, merchants: readonly { id: string; from: Date }[]) {
  const values = [merchants.map(({ id }) => id), merchants.map(({ from }) => from)];
  return (await tx.run<{ merchantId: string; dueAt: Date | null }>(FIRST_DUE, values)).rows;
}
