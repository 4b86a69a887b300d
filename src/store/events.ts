import type { Event, EventType } from "../domain/event.ts";
import { arrays, type Column, columnValues } from "./batch.ts";
import { prepared, type Tx } from "./database.ts";

const COLUMNS: readonly Column<Event>[] = [
  ["id", "uuid", "id"],
  ["case_id", "uuid", "caseId"],
  ["invoice_id", "text", "invoiceId"],
  ["type", "text", "type"],
  ["body", "text", "body"],
  ["created_at", "timestamptz", "createdAt"],
];
const NAMES = COLUMNS.map(([name]) => name).join(", ");

const INSERT = prepared(
  "insert_events",
  `with e as (
     insert into events (merchant_id, ${NAMES})
     select $1::uuid, n.* from unnest(${arrays(COLUMNS, 2)}) as n (${NAMES})
     returning id, type, created_at
   )
   insert into deliveries (merchant_id, event_id, attempts_max, due_at)
   select $1, id, case type when 'recovery_action' then 6 else 7 end, created_at from e`,
);

/** Record decisions and queue them for delivery at once. The keys refuse a second event for the same decision. */
export async function insertEvents(tx: Tx, merchantId: string, events: readonly Event[]) {
  await tx.run(INSERT, [merchantId, ...columnValues(events, COLUMNS)]);
}

const WITHDRAW = prepared(
  "withdraw_events",
  `with gone as (
     delete from deliveries d using events e
     where d.merchant_id = $1 and e.merchant_id = $1 and e.id = d.event_id
       and (e.case_id = any($2::uuid[]) or e.id = any($3::uuid[]))
     returning d.event_id
   )
   update events set withdrawn_at = $4 from gone where merchant_id = $1 and id = gone.event_id
   returning id`,
);

/**
 * Take back what has not been delivered: all events of `caseIds`, and the events `eventIds`; returns those taken back.
 * An attempt that is on the wire right now still ends, and is logged.
 */
export async function withdrawEvents(
  tx: Tx,
  merchantId: string,
  caseIds: readonly string[],
  eventIds: readonly string[],
  now: Date,
) {
  const { rows } = await tx.run<{ id: string }>(WITHDRAW, [merchantId, caseIds, eventIds, now]);
  return rows.map((row) => row.id);
}

const ONCE = prepared(
  "events_once_per_case",
  `select case_id as "caseId", type from events
   where merchant_id = $1 and case_id = any($2::uuid[]) and type <> 'recovery_action'`,
);

/** Which of these cases have had their `pause_collection` and `complete_dunning`, as `case:type`. */
export async function casesTold(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  const { rows } = await tx.run<{ caseId: string; type: EventType }>(ONCE, [merchantId, caseIds]);
  return new Set(rows.map((row) => `${row.caseId}:${row.type}`));
}
