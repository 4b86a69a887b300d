import type { EventType } from "../domain/event.ts";
import { type ActionType, OUTCOME_WAIT_MS } from "../domain/recovery-action.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { type Found, inIdRangeSql, uuidsWithPrefix } from "./id-prefix.ts";

export const DELIVERY_STATES = ["waiting", "delivered", "exhausted", "withdrawn"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface ListedDelivery {
  eventId: string;
  caseId: string;
  invoiceId: string;
  type: EventType;
  state: DeliveryState;
  createdAt: Date;
  withdrawnAt: Date | null;
  /** 1 before the first attempt ended. */
  round: number;
  attempts: number;
  /** Next attempt, if any. */
  dueAt: Date | null;
  endedAt: Date | null;
  status: number | null;
  error: string | null;
}

/** The log is deleted after a while; only it shows that a withdrawn event was delivered. */
const WITH_DELIVERY = `with delivery as (
     select e.merchant_id, e.id as event_id, e.case_id, e.invoice_id, e.type, e.created_at, e.withdrawn_at, e.exhausted_at,
       d.event_id as queued_event_id, d.due_at, coalesce(d.round, a.round, 1) as round,
       coalesce(d.attempts, a.number, 0) as attempts, a.ended_at, a.status, a.error, a.ends,
       case
         when d.event_id is not null then 'waiting'
         when a.ends = 'delivered' then 'delivered'
         when e.withdrawn_at is not null then 'withdrawn'
         when e.exhausted_at is not null then 'exhausted'
         else 'delivered'
       end as state
     from events e
     left join deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
     left join lateral (
       select round, number, ended_at, status, error, ends from delivery_attempts
       where merchant_id = e.merchant_id and event_id = e.id order by round desc, number desc limit 1
     ) a on true
   )`;

const LISTED = `event_id as "eventId", case_id as "caseId", invoice_id as "invoiceId", type, state, created_at as "createdAt",
     withdrawn_at as "withdrawnAt", round, attempts, due_at as "dueAt", ended_at as "endedAt", status, error`;

/** Find a state's events by index. */
const STATE_CONDITIONS: Record<DeliveryState | "all", string> = {
  all: "true",
  waiting: "queued_event_id is not null",
  delivered: "state = 'delivered'",
  exhausted: "exhausted_at is not null and state = 'exhausted'",
  withdrawn: "withdrawn_at is not null and state = 'withdrawn'",
};
// An index by invoice would cost every event.
const OF_INVOICE = "case_id in (select id from cases where merchant_id = $1 and invoice_id = $3)";
const OF_ANY_INVOICE = "$3::text is null";

export interface DeliveryFilter {
  state?: DeliveryState | undefined;
  type?: EventType | undefined;
  invoiceId?: string | undefined;
  before?: string | undefined;
  /** Both inclusive. */
  createdFrom?: Date | undefined;
  createdTo?: Date | undefined;
  code?: number | undefined;
  /** Events that a search for a prefix found. */
  found?: { prefix: string; events: Found } | undefined;
}

const FIRST_ID = "00000000-0000-0000-0000-000000000000";
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export interface DeliveryPage {
  /** Earliest first, and `after` instead of `before`. */
  isAscending?: boolean | undefined;
  after?: string | undefined;
  limit: number;
}

/** SQL for the rows of `delivery`, with its values. `$1` is the merchant. */
function deliveryConditions(merchantId: string, filter: DeliveryFilter) {
  const { state = "all", type = null, invoiceId = null, createdFrom = null, createdTo = null, code = null } = filter;
  const values: unknown[] = [merchantId, type, invoiceId, createdFrom, createdTo, code];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const where = `merchant_id = $1 and ${STATE_CONDITIONS[state]}
       and ($2::text is null or type = $2)
       and ${invoiceId === null ? OF_ANY_INVOICE : OF_INVOICE}
       and ($4::timestamptz is null or created_at >= $4)
       and ($5::timestamptz is null or created_at <= $5)
       and ($6::int4 is null or status = $6)
       ${filter.found === undefined ? "" : `and ${foundSql(filter.found, parameter)}`}`;
  return { where, values, parameter };
}

function foundSql({ prefix, events }: NonNullable<DeliveryFilter["found"]>, parameter: (value: unknown) => string) {
  if ("ids" in events) return `event_id = any(${parameter(events.ids)}::uuid[])`;
  const [first, last] = uuidsWithPrefix(prefix);
  const ofInvoice = inIdRangeSql("invoice_id", parameter(events.range.from), parameter(events.range.to));
  return `(event_id between ${parameter(first)}::uuid and ${parameter(last)}::uuid or (${ofInvoice}))`;
}

/** Latest decision first, unless the page is ascending. */
export async function listDeliveries(tx: Tx, merchantId: string, filter: DeliveryFilter & DeliveryPage) {
  const { before = LAST_ID, after = FIRST_ID, isAscending = false, limit } = filter;
  const { where, values, parameter } = deliveryConditions(merchantId, filter);
  // Unnamed, so planned for each call's filters.
  const list = prepared(
    "",
    `${WITH_DELIVERY}
     select ${LISTED}
     from delivery
     where ${where}
       and event_id ${isAscending ? `> ${parameter(after)}` : `< ${parameter(before)}`}
     order by event_id ${isAscending ? "asc" : "desc"} limit ${parameter(limit)}`,
  );
  return (await tx.run<ListedDelivery>(list, values)).rows;
}

/** Counts up to one more than `max`. Cheap for `waiting` and `exhausted`, which have indexes. */
export async function countDeliveries(tx: Tx, merchantId: string, filter: DeliveryFilter, max: number) {
  const { where, values, parameter } = deliveryConditions(merchantId, filter);
  const count = prepared(
    "",
    `${WITH_DELIVERY}
     select count(*) as n from (select from delivery where ${where} limit ${parameter(max + 1)}) first`,
  );
  return (await tx.run<{ n: number }>(count, values)).rows[0]!.n;
}

/** Orders the list. Ids begin with their creation's milliseconds, slightly after the step's time (minutes on a demo's clock). */
export const planMadeAt = ({ eventId, createdAt }: Pick<ListedDelivery, "eventId" | "createdAt">) =>
  new Date(Math.min(Number.parseInt(eventId.replace("-", "").slice(0, 12), 16), createdAt.getTime()));

const FIND = prepared(
  "find_delivery",
  `${WITH_DELIVERY}
   select ${LISTED} from delivery where merchant_id = $1 and event_id = $2`,
);

export async function findDelivery(tx: Tx, merchantId: string, eventId: string) {
  return (await tx.run<ListedDelivery>(FIND, [merchantId, eventId])).rows[0] ?? null;
}

interface ReplayCandidate {
  eventId: string;
  type: EventType;
  state: DeliveryState;
  paid: boolean;
  ended: boolean;
  superseded: boolean;
  /** By a transaction. */
  executed: boolean;
  /** Then the number of attempts is unknown. */
  isLogDeleted: boolean;
  actionType: ActionType | null;
  idealRetryTime: Date | null;
}

const candidatesStatement = (name: string, condition: string) =>
  prepared(
    `replay_candidates_${name}`,
    `${WITH_DELIVERY}
     select delivery.event_id as "eventId", delivery.type, delivery.state, c.ended_at is not null as ended,
       delivery.ends is null as "isLogDeleted",
       -- The end reason alone does not tell: an invoice that was given up may have been paid since.
       coalesce(i.state not in ('UNPAID', 'PARTIALLY_PAID'), false) or c.end_reason is not distinct from 'paid' as paid,
       action.executed_at is not null as executed, action.type as "actionType", action.ideal_retry_time as "idealRetryTime",
       exists (
         select 1
         from recovery_actions r
         join recovery_actions later on later.merchant_id = r.merchant_id and later.case_id = r.case_id
         where r.merchant_id = $1 and r.id = delivery.event_id and later.decided_at > r.decided_at) as superseded
     from delivery
     join cases c on c.merchant_id = delivery.merchant_id and c.id = delivery.case_id
     left join invoices i on i.merchant_id = delivery.merchant_id and i.id = delivery.invoice_id
     left join recovery_actions action on action.merchant_id = delivery.merchant_id and action.id = delivery.event_id
     where delivery.merchant_id = $1 and ${condition}`,
  );

const BY_ID = candidatesStatement("by_id", "delivery.event_id = any($2::uuid[]) order by delivery.event_id");
const BY_FILTER = candidatesStatement(
  "by_filter",
  `delivery.exhausted_at is not null and delivery.state = 'exhausted'
       and ($2::text is null or delivery.type = $2)
       and ($3::timestamptz is null or delivery.created_at >= $3)
       and ($4::timestamptz is null or delivery.created_at <= $4)
       and delivery.event_id > $5
     order by delivery.event_id limit $6`,
);

export interface ReplayFilter {
  type?: EventType | undefined;
  /** Both inclusive. */
  createdFrom?: Date | undefined;
  createdTo?: Date | undefined;
  after?: string | undefined;
  limit?: number | undefined;
}

/** `skip`: why it cannot be sent again now. */
export interface ReplayVerdict {
  eventId: string;
  skip: string | null;
}

export type ReplaySelection = { eventIds: readonly string[] } | ReplayFilter;

/** Oldest first. */
export async function findReplayable(tx: Tx, merchantId: string, selection: ReplaySelection, now: Date) {
  if (!("eventIds" in selection)) {
    const { type = null, createdFrom = null, createdTo = null, after = FIRST_ID, limit = null } = selection;
    const values = [merchantId, type, createdFrom, createdTo, after, limit];
    return (await tx.run<ReplayCandidate>(BY_FILTER, values)).rows.map((row) => judgeCandidate(row, now));
  }
  const found = (await tx.run<ReplayCandidate>(BY_ID, [merchantId, selection.eventIds])).rows.map((row) =>
    judgeCandidate(row, now),
  );
  const foundIds = new Set(found.map(({ eventId }) => eventId));
  const unknown = selection.eventIds.filter((id) => !foundIds.has(id));
  return [...found, ...unknown.map((eventId): ReplayVerdict => ({ eventId, skip: "there is no such event" }))];
}

function judgeCandidate(
  { eventId, type, state, paid, ended, superseded, executed, isLogDeleted, ...action }: ReplayCandidate,
  now: Date,
): ReplayVerdict {
  if (state === "waiting") return { eventId, skip: "it is still being sent" };
  if (state === "delivered") return { eventId, skip: "it was delivered" };
  if (state === "withdrawn") return { eventId, skip: "it was withdrawn" };
  if (paid && type !== "recovery_ended") return { eventId, skip: "the invoice was paid meanwhile" };
  if (type !== "complete_dunning" && type !== "recovery_ended" && ended) return { eventId, skip: "its case has ended" };
  if (executed) return { eventId, skip: "it was carried out" };
  if (type === "recovery_action" && superseded) return { eventId, skip: "a later action replaced it" };
  const { actionType, idealRetryTime } = action;
  if (actionType && idealRetryTime && now.getTime() >= idealRetryTime.getTime() + OUTCOME_WAIT_MS[actionType])
    return { eventId, skip: "its time has passed" };
  if (isLogDeleted) return { eventId, skip: "it is older than the delivery log" };
  return { eventId, skip: null };
}

const LOCK_CASES = prepared(
  "lock_cases_of_events",
  `select c.id from cases c
   where c.merchant_id = $1 and c.id in (select case_id from events where merchant_id = $1 and id = any($2::uuid[]))
   order by c.id for update`,
);

/** So that no payment or decision intervenes before a replay. */
export async function lockCasesOfEvents(tx: Tx, merchantId: string, eventIds: readonly string[]) {
  await tx.run(LOCK_CASES, [merchantId, eventIds]);
}

// The attempt that exhausted the last round has the number of attempts per round.
const REPLAY = prepared(
  "replay_events",
  `with replayed as (
     insert into deliveries (merchant_id, event_id, round, attempts_max, due_at)
     select a.merchant_id, a.event_id, a.round + 1, a.number, $3
     from delivery_attempts a
     where a.merchant_id = $1 and a.event_id = any($2::uuid[]) and a.ends = 'exhausted'
       and not exists (
         select 1 from delivery_attempts later
         where later.merchant_id = a.merchant_id and later.event_id = a.event_id and later.round > a.round)
     on conflict (merchant_id, event_id) do nothing
     returning event_id
   )
   update events set exhausted_at = null from replayed where merchant_id = $1 and id = replayed.event_id
   returning id as "eventId"`,
);

/**
 * A new round of the whole schedule, with the same id and body. Returns the started events. Call `findReplayable` first in the
 * same transaction: this checks only that they are exhausted.
 */
export async function replayEvents(tx: Tx, merchantId: string, eventIds: readonly string[], now: Date) {
  return (await tx.run<{ eventId: string }>(REPLAY, [merchantId, eventIds, now])).rows.map((row) => row.eventId);
}
