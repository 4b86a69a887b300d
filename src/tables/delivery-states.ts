import type { EventType } from "../domain/event.ts";
import { type ActionType, OUTCOME_WAIT_MS } from "../domain/recovery-action.ts";
import { prepared, type Statement, type Tx } from "../postgres/database.ts";

export const DELIVERY_STATES = ["waiting", "delivered", "exhausted", "withdrawn"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** An event as `dunlin delivery list` shows it. */
export interface ListedDelivery {
  eventId: string;
  caseId: string;
  invoiceId: string;
  type: EventType;
  state: DeliveryState;
  createdAt: Date;
  withdrawnAt: Date | null;
  /** Of the present or last round; 0 before the first attempt ended. */
  round: number;
  attempts: number;
  /** Of the next attempt; null when none is to come. */
  dueAt: Date | null;
  /** Of the latest attempt. */
  endedAt: Date | null;
  status: number | null;
  error: string | null;
}

// The log goes when it is old, so it may not be needed to tell the state; but what was withdrawn too late is known from it alone.
const SOURCES = `events e
  left join deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
  left join lateral (
    select round, number, ended_at, status, error, ends from delivery_attempts
    where merchant_id = e.merchant_id and event_id = e.id order by round desc, number desc limit 1
  ) a on true`;
const STATE = `case when d.event_id is not null then 'waiting' when a.ends = 'delivered' then 'delivered'
  when e.withdrawn_at is not null then 'withdrawn' when e.exhausted_at is not null then 'exhausted' else 'delivered' end`;

const LISTED = `e.id as "eventId", e.case_id as "caseId", e.invoice_id as "invoiceId", e.type, ${STATE} as state,
  e.created_at as "createdAt", e.withdrawn_at as "withdrawnAt", coalesce(d.round, a.round, 1) as round,
  coalesce(d.attempts, a.number, 0) as attempts, d.due_at as "dueAt", a.ended_at as "endedAt", a.status, a.error`;

// Events are found by their cases: an index by invoice would be paid for by every event.
const OF_INVOICE = "e.case_id in (select k.id from cases k where k.merchant_id = $1 and k.invoice_id = $3)";
const ANY = "$3::text is null";

const listSql = (condition: string, ofInvoice: string): Statement =>
  prepared(
    "", // planned for the filters that are there
    `select ${LISTED} from ${SOURCES}
     where e.merchant_id = $1 and ($2::text is null or e.type = $2) and ${ofInvoice}
       and e.id < $5 and ($6::timestamptz is null or e.created_at >= $6) and ($7::timestamptz is null or e.created_at <= $7)
       and ($8::int4 is null or a.status = $8) and ${condition}
     order by e.id desc limit $4`,
  );

const CONDITIONS: Record<DeliveryState | "all", string> = {
  all: "true",
  waiting: "d.event_id is not null",
  delivered: `${STATE} = 'delivered'`,
  exhausted: `e.exhausted_at is not null and ${STATE} = 'exhausted'`,
  withdrawn: `e.withdrawn_at is not null and ${STATE} = 'withdrawn'`,
};

export interface DeliveryFilter {
  state?: DeliveryState | undefined;
  type?: EventType | undefined;
  invoiceId?: string | undefined;
  /** Only events whose id comes before this one. */
  before?: string | undefined;
  /** Both inclusive. */
  createdFrom?: Date | undefined;
  createdTo?: Date | undefined;
  /** Status of the latest attempt. */
  code?: number | undefined;
}

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** A merchant's events with how their delivery stands, the latest plan first: ids are in the order of their making. */
export async function listDeliveries(tx: Tx, merchantId: string, filter: DeliveryFilter & { limit: number }) {
  const { state = "all", type = null, invoiceId = null, limit, before = LAST_ID } = filter;
  const { createdFrom = null, createdTo = null, code = null } = filter;
  const values = [merchantId, type, invoiceId, limit, before, createdFrom, createdTo, code];
  const statement = listSql(CONDITIONS[state], invoiceId === null ? ANY : OF_INVOICE);
  return (await tx.run<ListedDelivery>(statement, values)).rows;
}

/**
 * What the list is ordered by: an id begins with the milliseconds of its making, and an instruction has the id of its plan. The id of
 * what is created at once is made a moment later than that which its step goes by; on the clock of a demo these are minutes.
 */
export const planMadeAt = ({ eventId, createdAt }: Pick<ListedDelivery, "eventId" | "createdAt">) =>
  new Date(Math.min(Number.parseInt(eventId.replace("-", "").slice(0, 12), 16), createdAt.getTime()));

const ONE = prepared("find_delivery", `select ${LISTED} from ${SOURCES} where e.merchant_id = $1 and e.id = $2`);

/** How the delivery of one event stands; null when the merchant has no such event. */
export async function findDelivery(tx: Tx, merchantId: string, eventId: string) {
  return (await tx.run<ListedDelivery>(ONE, [merchantId, eventId])).rows[0] ?? null;
}

interface ReplayCandidate {
  eventId: string;
  type: EventType;
  state: DeliveryState;
  paid: boolean;
  ended: boolean;
  superseded: boolean;
  /** A transaction says that it was carried out, though nobody answered. */
  executed: boolean;
  /** Its log is gone, and with it how many attempts it had. */
  forgotten: boolean;
  /** Of a recovery action: its type, and the moment it was for. */
  actionType: ActionType | null;
  idealRetryTime: Date | null;
}

const candidatesStatement = (name: string, condition: string): Statement =>
  prepared(
    `replay_candidates_${name}`,
    `select e.id as "eventId", e.type, ${STATE} as state, c.ended_at is not null as ended,
       a.ends is null as forgotten,
       -- The reason of an end is no answer: what was given up may have been paid since.
       coalesce(i.state not in ('UNPAID', 'PARTIALLY_PAID'), false) or c.end_reason is not distinct from 'paid' as paid,
       t.executed_at is not null as executed, t.type as "actionType", t.ideal_retry_time as "idealRetryTime",
       exists (
         select 1 from recovery_actions r join recovery_actions later on later.merchant_id = r.merchant_id and later.case_id = r.case_id
         where r.merchant_id = $1 and r.id = e.id and later.decided_at > r.decided_at) as superseded
     from ${SOURCES}
       join cases c on c.merchant_id = e.merchant_id and c.id = e.case_id
       left join invoices i on i.merchant_id = e.merchant_id and i.id = e.invoice_id
       left join recovery_actions t on t.merchant_id = e.merchant_id and t.id = e.id
     where e.merchant_id = $1 and ${condition}`,
  );

const BY_ID = candidatesStatement("by_id", "e.id = any($2::uuid[]) order by e.id");
const BY_FILTER = candidatesStatement(
  "by_filter",
  `e.exhausted_at is not null and ${STATE} = 'exhausted' and ($2::text is null or e.type = $2)
   and ($3::timestamptz is null or e.created_at >= $3) and ($4::timestamptz is null or e.created_at <= $4) and e.id > $5 order by e.id limit $6`,
);
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

export interface ReplayFilter {
  type?: EventType | undefined;
  /** Inclusive. */
  createdFrom?: Date | undefined;
  /** Inclusive. */
  createdTo?: Date | undefined;
  /** Only events whose id comes after this one, and at most so many of them. */
  after?: string | undefined;
  limit?: number | undefined;
}

/** Whether an event may be sent again; `skip` says in words why not. */
export interface ReplayVerdict {
  eventId: string;
  skip: string | null;
}

export type ReplaySelection = { eventIds: readonly string[] } | ReplayFilter;

/** Which of these events may be replayed now, or which of the exhausted ones that the filter picks; oldest first. */
export async function findReplayable(tx: Tx, merchantId: string, which: ReplaySelection, now: Date) {
  if (!("eventIds" in which)) {
    const { type = null, createdFrom = null, createdTo = null, after = FIRST_ID, limit = null } = which;
    const values = [merchantId, type, createdFrom, createdTo, after, limit];
    return (await tx.run<ReplayCandidate>(BY_FILTER, values)).rows.map((row) => judgeCandidates(row, now));
  }
  const found = (await tx.run<ReplayCandidate>(BY_ID, [merchantId, which.eventIds])).rows.map((row) =>
    judgeCandidates(row, now),
  );
  const known = new Set(found.map(({ eventId }) => eventId));
  const unknown = which.eventIds.filter((id) => !known.has(id));
  return [...found, ...unknown.map((eventId): ReplayVerdict => ({ eventId, skip: "there is no such event" }))];
}

function judgeCandidates(
  { eventId, type, state, paid, ended, superseded, executed, forgotten, ...action }: ReplayCandidate,
  now: Date,
): ReplayVerdict {
  if (state === "waiting") return { eventId, skip: "it is still being sent" };
  if (state === "delivered") return { eventId, skip: "it was delivered" };
  if (state === "withdrawn") return { eventId, skip: "it was withdrawn" };
  if (paid) return { eventId, skip: "the invoice was paid meanwhile" };
  if (type !== "complete_dunning" && ended) return { eventId, skip: "its case has ended" };
  if (executed) return { eventId, skip: "it was carried out" };
  if (type === "recovery_action" && superseded) return { eventId, skip: "a later action has taken its place" };
  const { actionType, idealRetryTime } = action;
  if (actionType && idealRetryTime && now.getTime() >= idealRetryTime.getTime() + OUTCOME_WAIT_MS[actionType])
    return { eventId, skip: "its time has passed" };
  if (forgotten) return { eventId, skip: "it is older than the delivery log" };
  return { eventId, skip: null };
}

const LOCK_CASES = prepared(
  "lock_cases_of_events",
  `select c.id from cases c
   where c.merchant_id = $1 and c.id in (select case_id from events where merchant_id = $1 and id = any($2::uuid[]))
   order by c.id for update`,
);

/** Until the transaction ends no payment and no decision comes between judging these events and replaying them. */
export async function lockCasesOfEvents(tx: Tx, merchantId: string, eventIds: readonly string[]) {
  await tx.run(LOCK_CASES, [merchantId, eventIds]);
}

// The number of the attempt that exhausted the last round is how many a round has.
const REPLAY = prepared(
  "replay_events",
  `with again as (insert into deliveries (merchant_id, event_id, round, attempts_max, due_at)
   select a.merchant_id, a.event_id, a.round + 1, a.number, $3
   from delivery_attempts a
   where a.merchant_id = $1 and a.event_id = any($2::uuid[]) and a.ends = 'exhausted'
     and not exists (
       select 1 from delivery_attempts later
       where later.merchant_id = a.merchant_id and later.event_id = a.event_id and later.round > a.round)
   on conflict (merchant_id, event_id) do nothing
   returning event_id)
   update events set exhausted_at = null from again where merchant_id = $1 and id = again.event_id
   returning id as "eventId"`,
);

/**
 * Begin a new round of the whole schedule for exhausted events, with the same id and the same bytes; returns those begun.
 * Ask `replayable` first, in the same transaction: this statement only knows what is exhausted.
 */
export async function replayEvents(tx: Tx, merchantId: string, eventIds: readonly string[], now: Date) {
  return (await tx.run<{ eventId: string }>(REPLAY, [merchantId, eventIds, now])).rows.map((row) => row.eventId);
}
