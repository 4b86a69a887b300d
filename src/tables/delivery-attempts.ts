import { type Column, columnNames, columnValues, STORED, unnestColumns } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export interface EndedAttempt {
  merchantId: string;
  eventId: string;
  /** Null unless it is a recovery action. */
  caseId: string | null;
  bucket: number;
  epoch: number;
  round: number;
  number: number;
  /** Null if this was the last. */
  dueAt: Date | null;
  startedAt: Date;
  endedAt: Date;
  durationMs: number;
  success: boolean;
  /** Null unless the last. */
  ends: "delivered" | "exhausted" | null;
  status: number | null;
  error: string | null;
  response: string | null;
  /** Id of the `RequestHead`. */
  headId: number | null;
  /** From the start. Null on a reused connection: the first three. */
  lookUpMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
}

const LOGGED_COLUMNS: readonly Column<EndedAttempt>[] = [
  ["event_id", "uuid", "eventId"],
  ["round", "int4", "round"],
  ["number", "int2", "number"],
  ["started_at", "timestamptz", "startedAt"],
  ["ended_at", "timestamptz", "endedAt"],
  ["duration_ms", "int4", "durationMs"],
  ["status", "int4", "status"],
  ["error", "text", "error"],
  ["response", "text", "response"],
  ["head_id", "int8", "headId"],
  ["look_up_ms", "int4", "lookUpMs"],
  ["connect_ms", "int4", "connectMs"],
  ["tls_ms", "int4", "tlsMs"],
  ["first_byte_ms", "int4", "firstByteMs"],
  ["ends", "text", "ends"],
];
const ENDED_COLUMNS: readonly Column<EndedAttempt>[] = [
  ["merchant_id", "uuid", "merchantId"],
  ["bucket", "int2", "bucket"],
  ["epoch", "int8", "epoch"],
  ...LOGGED_COLUMNS,
  ["case_id", "uuid", "caseId"],
];
const RECORDED_COLUMNS: readonly Column<EndedAttempt>[] = [...ENDED_COLUMNS, ["due_at", "timestamptz", "dueAt"]];

const LOG = `merchant_id, ${columnNames(LOGGED_COLUMNS)}`;
const LOG_OF_ATTEMPT = `e.merchant_id, ${LOGGED_COLUMNS.map(([name]) => `e.${name}`).join(", ")}`;

// In the statements below:
// - `e`: attempts whose lease still holds. A former owner records nothing.
// - $2 holds the merchants of the batch. If it is one, Citus changes rows on that merchant's server alone.
// - `ended` and `moved` return whole log lines. A generic plan would compare all pairs in a second join to the batch.
// - The result is one row of ids, because many rows are expensive; no row if every attempt was recorded.
const RECORD_ENDS = prepared(
  "record_ends",
  `with e as (
     select e.*
     from (select ${unnestColumns(ENDED_COLUMNS, 3)}) e
     join bucket_leases l on l.bucket = e.bucket and l.epoch = e.epoch
   ), ended as (
     delete from deliveries d using e
     where d.merchant_id = any($2::uuid[]) and d.merchant_id = e.merchant_id and d.event_id = e.event_id and d.round = e.round and d.attempts = e.number - 1
       and e.ends is not null
     returning ${LOG_OF_ATTEMPT}, e.case_id
   ), queued as (
     insert into case_pokes (merchant_id, id, part, case_ids)
     select merchant_id, $1::uuid, 0, array_agg(distinct case_id) from ended where case_id is not null group by merchant_id ${STORED}
   ), exhausted as (
     update events v set exhausted_at = ended.ended_at from ended
     where v.merchant_id = any($2::uuid[]) and ended.ends = 'exhausted' and v.merchant_id = ended.merchant_id and v.id = ended.event_id
   ), logged as (
     insert into delivery_attempts (${LOG}) select ${LOG} from ended returning event_id
   )
   select json_agg(event_id) as recorded from logged having count(*) < cardinality($3::uuid[])`,
);
const RECORD = prepared(
  "record_attempts",
  `with e as (
     select e.*
     from (select ${unnestColumns(RECORDED_COLUMNS, 3)}) e
     join bucket_leases l on l.bucket = e.bucket and l.epoch = e.epoch
   ), ended as (
     delete from deliveries d using e
     where d.merchant_id = any($2::uuid[]) and d.merchant_id = e.merchant_id and d.event_id = e.event_id and d.round = e.round and d.attempts = e.number - 1
       and e.ends is not null
     returning ${LOG_OF_ATTEMPT}, e.case_id
   ), queued as (
     insert into case_pokes (merchant_id, id, part, case_ids)
     select merchant_id, $1::uuid, 0, array_agg(distinct case_id) from ended where case_id is not null group by merchant_id ${STORED}
   ), exhausted as (
     update events v set exhausted_at = ended.ended_at from ended
     where v.merchant_id = any($2::uuid[]) and ended.ends = 'exhausted' and v.merchant_id = ended.merchant_id and v.id = ended.event_id
   ), moved as (
     update deliveries d set attempts = e.number, due_at = e.due_at from e
     where d.merchant_id = any($2::uuid[]) and d.merchant_id = e.merchant_id and d.event_id = e.event_id and d.round = e.round and d.attempts = e.number - 1
       and e.ends is null
     returning ${LOG_OF_ATTEMPT}
   ), logged as (
     insert into delivery_attempts (${LOG}) select ${LOG} from ended union all select * from moved returning event_id
   )
   select json_agg(event_id) as recorded from logged having count(*) < cardinality($3::uuid[])`,
);

/**
 * Also ends or reschedules deliveries, and queues the cases of actions whose event ended.
 *
 * @param ended  without duplicate events
 * @returns unrecorded attempts: lease lost, number recorded before, or event withdrawn
 */
export async function recordAttempts(
  tx: Tx,
  ended: readonly EndedAttempt[],
  entryId: string,
): Promise<readonly EndedAttempt[]> {
  const allEnd = ended.every(({ ends }) => ends !== null);
  const values = [entryId, merchantsOf(ended), ...columnValues(ended, allEnd ? ENDED_COLUMNS : RECORDED_COLUMNS)];
  const { rows } = await tx.run<{ recorded: string[] | null }>(allEnd ? RECORD_ENDS : RECORD, values);
  if (rows[0] === undefined) return [];
  const recorded = new Set(rows[0].recorded);
  return ended.filter(({ eventId }) => !recorded.has(eventId));
}

const merchantsOf = (ended: readonly EndedAttempt[]) => [...new Set(ended.map(({ merchantId }) => merchantId))];

const RECORD_WITHDRAWN = prepared(
  "record_attempts_of_withdrawn",
  `with late as (
     select e.*
     from (select ${unnestColumns(ENDED_COLUMNS, 3)}) e
     join bucket_leases l on l.bucket = e.bucket and l.epoch = e.epoch
     join events v on v.merchant_id = e.merchant_id and v.id = e.event_id
     where v.merchant_id = any($2::uuid[]) and v.withdrawn_at is not null
   ), queued as (
     insert into case_pokes (merchant_id, id, part, case_ids)
     select merchant_id, $1::uuid, 0, array_agg(distinct case_id) from late where case_id is not null group by merchant_id ${STORED}
   )
   insert into delivery_attempts (${LOG})
   select ${LOG_OF_ATTEMPT.replace("e.ends", "nullif(e.ends, 'exhausted')")} from late e
   on conflict do nothing
   returning event_id as "eventId"`,
);

/**
 * For events withdrawn in flight, which the merchant did receive. Queues actions' cases. Separate from `recordAttempts`, because
 * only a later snapshot is sure to see the withdrawal.
 */
export async function recordWithdrawnAttempts(tx: Tx, ended: readonly EndedAttempt[], entryId: string) {
  const values = [entryId, merchantsOf(ended), ...columnValues(ended, ENDED_COLUMNS)];
  const { rows } = await tx.run<{ eventId: string }>(RECORD_WITHDRAWN, values);
  return rows.map((row) => row.eventId);
}

export type LoggedAttempt = Omit<EndedAttempt, "merchantId" | "caseId" | "bucket" | "epoch" | "dueAt" | "headId"> & {
  /** With masked secrets. */
  head: string | null;
};

const LIST = prepared(
  "list_attempts",
  `select ${LOGGED_COLUMNS.map(([name, , field]) => `a.${name} as "${field}"`).join(", ")}, a.success, h.head
   from delivery_attempts a left join request_heads h on h.merchant_id = a.merchant_id and h.id = a.head_id
   where a.merchant_id = $1 and a.event_id = $2 order by a.round, a.number`,
);

export async function listAttemptsOfEvent(tx: Tx, merchantId: string, eventId: string) {
  return (await tx.run<LoggedAttempt>(LIST, [merchantId, eventId])).rows;
}
