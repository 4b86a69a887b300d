import { arrays, type Column, columnValues } from "./batch.ts";
import { prepared, type Tx } from "./database.ts";

/** An attempt that ended, and under which lease it was made. */
export interface EndedAttempt {
  merchantId: string;
  eventId: string;
  caseId: string;
  bucket: number;
  epoch: number;
  round: number;
  number: number;
  /** When the next attempt is due; null when this one was the last. */
  dueAt: Date | null;
  startedAt: Date;
  endedAt: Date;
  durationMs: number;
  success: boolean;
  /** Set when this attempt was the event's last, with how the event ended. */
  ends: "delivered" | "exhausted" | null;
  status: number | null;
  error: string | null;
  response: string | null;
}

const LEASE: readonly Column<EndedAttempt>[] = [
  ["merchant_id", "uuid", "merchantId"],
  ["bucket", "int2", "bucket"],
  ["epoch", "int8", "epoch"],
];
const CASES: readonly Column<EndedAttempt>[] = [...LEASE, ["case_id", "uuid", "caseId"]];
const LOGGED: readonly Column<EndedAttempt>[] = [
  ["event_id", "uuid", "eventId"],
  ["round", "int4", "round"],
  ["number", "int2", "number"],
  ["started_at", "timestamptz", "startedAt"],
  ["ended_at", "timestamptz", "endedAt"],
  ["duration_ms", "int4", "durationMs"],
  ["success", "bool", "success"],
  ["status", "int4", "status"],
  ["error", "text", "error"],
  ["response", "text", "response"],
];
const ENDED: readonly Column<EndedAttempt>[] = [
  ...LEASE,
  ...LOGGED,
  ["ends", "text", "ends"],
  ["due_at", "timestamptz", "dueAt"],
];

const names = (columns: readonly Column<EndedAttempt>[]) => columns.map(([name]) => name).join(", ");
/** Those of the batch that were made under a lease that still holds. */
const fenced = (columns: readonly Column<EndedAttempt>[], first: number) =>
  `select e.* from unnest(${arrays(columns, first)}) as e (${names(columns)})
   join bucket_leases l on l.bucket = e.bucket and l.epoch = e.epoch`;
const LOG = `delivery_attempts (merchant_id, ${names(LOGGED)}, ends)`;
const LOG_VALUES = `e.merchant_id, ${LOGGED.map(([name]) => `e.${name}`).join(", ")}`;

// Sorted, so that two batches take their row locks in the same order.
const POKE = prepared(
  "poke_cases_of_ended",
  `insert into due_cases (merchant_id, case_id, due_at)
   select distinct merchant_id, case_id, $1::timestamptz from (${fenced(CASES, 2)}) f order by 1, 2
   on conflict (merchant_id, case_id) do update set due_at = least(due_cases.due_at, excluded.due_at)`,
);

/** Make the deciding loop look at the cases of these events. Comes before the deliveries: that is everybody's order of locks. */
export async function pokeCases(tx: Tx, ended: readonly EndedAttempt[], now: Date) {
  await tx.run(POKE, [now, ...columnValues(ended, CASES)]);
}

// Both branches return whole log lines. Joined to the batch once more they would be, by a generic plan that knows no sizes,
// compared pair by pair: 70 ms in place of 8 for 500 attempts.
const RECORD = prepared(
  "record_attempts",
  `with e as (${fenced(ENDED, 1)}),
   gone as (
     delete from deliveries d using e
     where d.merchant_id = e.merchant_id and d.event_id = e.event_id
       and d.round = e.round and d.attempts = e.number - 1 and e.ends is not null
     returning ${LOG_VALUES}, e.ends
   ),
   moved as (
     update deliveries d set attempts = e.number, due_at = e.due_at from e
     where d.merchant_id = e.merchant_id and d.event_id = e.event_id
       and d.round = e.round and d.attempts = e.number - 1 and e.ends is null
     returning ${LOG_VALUES}, e.ends
   )
   insert into ${LOG}
   select * from gone union all select * from moved
   returning event_id as "eventId"`,
);

/**
 * Log attempts, and end or move their deliveries, in one statement. Left out are attempts whose lease was lost, whose
 * number was recorded already, and whose delivery was withdrawn.
 *
 * @param ended  no event twice
 * @returns the events that were recorded
 */
export async function recordAttempts(tx: Tx, ended: readonly EndedAttempt[]) {
  const { rows } = await tx.run<{ eventId: string }>(RECORD, columnValues(ended, ENDED));
  return rows.map((row) => row.eventId);
}

const RECORD_WITHDRAWN = prepared(
  "record_attempts_of_withdrawn",
  `with e as (${fenced([...LEASE, ...LOGGED], 1)})
   insert into ${LOG}
   select ${LOG_VALUES}, case when e.success then 'delivered' end
   from e join events v on v.merchant_id = e.merchant_id and v.id = e.event_id
   where v.withdrawn_at is not null
   on conflict do nothing
   returning event_id as "eventId"`,
);

/**
 * Log attempts whose event was withdrawn while they were on the wire: the merchant did see it. A statement of its own
 * after `recordAttempts`, because only a later snapshot surely sees the withdrawal that it ran into.
 */
export async function recordWithdrawnAttempts(tx: Tx, ended: readonly EndedAttempt[]) {
  const { rows } = await tx.run<{ eventId: string }>(RECORD_WITHDRAWN, columnValues(ended, [...LEASE, ...LOGGED]));
  return rows.map((row) => row.eventId);
}

/** A line of the delivery log. */
export type LoggedAttempt = Omit<EndedAttempt, "merchantId" | "caseId" | "bucket" | "epoch" | "dueAt">;

const LIST = prepared(
  "list_attempts",
  `select ${[...LOGGED, ["ends", "text", "ends"] as const].map(([name, , field]) => `${name} as "${field}"`).join(", ")}
   from delivery_attempts where merchant_id = $1 and event_id = $2 order by round, number`,
);

/** The delivery log of one event, first attempt first. */
export async function attemptsOf(tx: Tx, merchantId: string, eventId: string) {
  return (await tx.run<LoggedAttempt>(LIST, [merchantId, eventId])).rows;
}
