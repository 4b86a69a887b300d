import { type Event, type EventType, maxAttempts } from "../domain/event.ts";
import { type Column, columnValues, STORED, selectList } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";

const COLUMNS: readonly Column<Event>[] = [
  ["id", "uuid", "id"],
  ["case_id", "uuid", "caseId"],
  ["invoice_id", "text", "invoiceId"],
  ["type", "text", "type"],
  ["body", "text", "body"],
  ["created_at", "timestamptz", "createdAt"],
];

interface QueuedEvent extends Event {
  attemptsMax: number;
}
const QUEUED_COLUMNS: readonly Column<QueuedEvent>[] = [
  ...COLUMNS,
  ["attempts_max", "int2", "attemptsMax"],
  ["traceparent", "text", "traceparent"],
];

const INSERT = prepared(
  "insert_events",
  `with decided as (
     select * from unnest(
       $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::int2[], $9::text[]
     ) as decided (id, case_id, invoice_id, type, body, created_at, attempts_max, traceparent)
   ), inserted as (
     insert into events (merchant_id, id, case_id, invoice_id, type, body, created_at)
     select $1::uuid, id, case_id, invoice_id, type, body, created_at from decided ${STORED}
   )
   insert into deliveries (merchant_id, event_id, attempts_max, due_at, traceparent)
   select $1, id, attempts_max, created_at, traceparent from decided ${STORED}`,
);

/** Also queues them. Fails on a second event for a decision. */
export async function insertEvents(tx: Tx, merchantId: string, events: readonly Event[]) {
  const queued = events.map((event) => ({ ...event, attemptsMax: maxAttempts(event.type) }));
  await tx.run(INSERT, [merchantId, ...columnValues(queued, QUEUED_COLUMNS)]);
}

const FIND = prepared("find_event", `select ${selectList(COLUMNS)} from events where merchant_id = $1 and id = $2`);

export async function findEvent(tx: Tx, merchantId: string, eventId: string) {
  return (await tx.run<Event>(FIND, [merchantId, eventId])).rows[0] ?? null;
}

const OWNERS = prepared(
  "merchants_with_event",
  `select m.id from merchants m where exists (select from events e where e.merchant_id = m.id and e.id = $1) order by m.id`,
);

export async function merchantsWithEvent(tx: Tx, eventId: string): Promise<string[]> {
  return (await tx.run<{ id: string }>(OWNERS, [eventId])).rows.map((merchant) => merchant.id);
}

const WITHDRAW = prepared(
  "withdraw_events",
  `with dropped as (
     delete from deliveries d using events e
     where d.merchant_id = $1 and e.merchant_id = $1 and e.id = d.event_id
       and (e.case_id = any($2::uuid[]) and e.type <> 'recovery_ended' or e.id = any($3::uuid[]))
     returning d.event_id
   )
   update events set withdrawn_at = $4 from dropped where merchant_id = $1 and id = dropped.event_id
   returning id`,
);
const WITHDRAW_RETRIES = prepared(
  "withdraw_retries",
  `with dropped as (
     delete from deliveries d using events e
     where d.merchant_id = $1 and e.merchant_id = $1 and e.id = d.event_id
       and e.case_id = any($2::uuid[]) and e.type = 'recovery_action'
       and exists (select from recovery_actions r where r.merchant_id = $1 and r.id = e.id and r.type = 'RETRY')
     returning d.event_id
   )
   update events set withdrawn_at = $3 from dropped where merchant_id = $1 and id = dropped.event_id
   returning id`,
);

/** Like `withdrawEvents`. */
export async function withdrawRetries(tx: Tx, merchantId: string, caseIds: readonly string[], now: Date) {
  const { rows } = await tx.run<{ id: string }>(WITHDRAW_RETRIES, [merchantId, encodeTextArray(caseIds, "uuid"), now]);
  return rows.map((row) => row.id);
}

/**
 * If undelivered: all of `caseIds` but the notice that the case ended, and `eventIds`. Returns the withdrawn ones. An attempt in flight still ends and is logged.
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

const UNDELIVERED_ACTIONS = prepared(
  "waiting_actions_of_cases",
  `select e.id from events e join deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
   where e.merchant_id = $1 and e.case_id = any($2::uuid[]) and e.type = 'recovery_action'`,
);

export async function undeliveredActions(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  return (await tx.run<{ id: string }>(UNDELIVERED_ACTIONS, [merchantId, encodeTextArray(caseIds, "uuid")])).rows.map(
    ({ id }) => id,
  );
}

const SENT_ONCE_EVENTS = prepared(
  "events_once_per_case",
  `select case_id as "caseId", type from events
   where merchant_id = $1 and case_id = any($2::uuid[]) and type <> 'recovery_action'`,
);

/** `case:type` for all but `recovery_action`. */
export async function sentOnceEventKeys(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  const { rows } = await tx.run<{ caseId: string; type: EventType }>(SENT_ONCE_EVENTS, [
    merchantId,
    encodeTextArray(caseIds, "uuid"),
  ]);
  return new Set(rows.map((row) => `${row.caseId}:${row.type}`));
}
