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
  traceparent: string | null;
}

export interface DueRequest {
  merchantId: string;
  /** Skips dead index entries, which are expensive while an old transaction may still see them. */
  from: Date;
  limit: number;
  /** In flight, read ahead, or ended and not recorded. */
  busy: readonly string[];
}

// Grouping reads each list of busy events once. The lateral subqueries keep one lookup per row, where a hash join would read all
// events. Merchants lead, because Citus sends a statement to the servers only if its outer rows are spread like the inner ones.
const DUE = prepared(
  "due_deliveries",
  `select r.position, d.event_id as "eventId", e.case_id as "caseId", e.type, e.body, d.round, d.attempts,
     d.attempts_max as "attemptsMax", round(date_part('epoch', d.due_at) * 1000) as "dueMs", d.traceparent
   from (
     select id, array_position($2::uuid[], id) as position,
       (($5::text[])[array_position($2::uuid[], id)])::uuid[] as busy
     from merchants where id = any($2::uuid[]) group by id
   ) r
   cross join lateral (
     select * from deliveries
     where merchant_id = r.id and due_at <= $1 and due_at >= ($3::timestamptz[])[r.position] and event_id <> all(r.busy)
     order by due_at, event_id limit ($4::int4[])[r.position]
   ) d
   cross join lateral (select case_id, type, body from events where merchant_id = r.id and id = d.event_id limit 1) e
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
  `select m.id as "merchantId",
     (select min(d.due_at) from deliveries d
      where d.merchant_id = m.id and d.due_at >= ($2::timestamptz[])[array_position($1::uuid[], m.id)]) as "dueAt"
   from merchants m where m.id = any($1::uuid[])`,
);
/** Each merchant's place in the list is searched from its start. */
const PROBES_MAX = 500;

/** Null if there is none. `from` as in `DueRequest`. */
export async function firstDeliveriesDue(tx: Tx, merchants: readonly { id: string; from: Date }[]) {
  const found: { merchantId: string; dueAt: Date | null }[] = [];
  for (let start = 0; start < merchants.length; start += PROBES_MAX) {
    const part = merchants.slice(start, start + PROBES_MAX);
    const values = [part.map(({ id }) => id), part.map(({ from }) => from)];
    found.push(...(await tx.run<{ merchantId: string; dueAt: Date | null }>(FIRST_DUE, values)).rows);
  }
  return found;
}
