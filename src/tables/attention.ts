import { HOUR_MS } from "../domain/durations.ts";
import { RENEWAL_WORDS } from "../domain/recovery-action.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { firstIdOf } from "../postgres/partitions.ts";
import { typeAndStatusPattern } from "./actions-list/action-facets.ts";

/** Sums of minor units, as text because they may exceed a number. */
export interface CurrencySum {
  currency: string;
  amount: string;
}

const SUM = `coalesce((select json_agg(json_build_object('currency', currency, 'amount', amount::text) order by currency)
     from (select currency, sum(amount) as amount from found where currency is not null group by currency) s), '[]') as money`;

// Unnamed: the number of rows depends on the parameters.
const ENDING = prepared(
  "",
  `with found as materialized (
     select id, currency, amount, budget, window_ends_at from cases c
     where merchant_id = $1 and outcome = 'open' and window_ends_at < $2)
   select count(*) as count, min(window_ends_at) as "firstEndsAt", ${SUM},
     count(*) filter (where budget - (
       select count(*) from recovery_actions r
       where r.merchant_id = $1 and r.case_id = found.id and r.type = 'RETRY' and r.decided_at is not null) = 1
     ) as "onLastRetry"
   from found`,
);

export interface EndingCases {
  count: number;
  firstEndsAt: Date | null;
  money: CurrencySum[];
  /** Cases with one retry left in the budget. */
  onLastRetry: number;
}

/** Open cases whose windows end before `until`. */
export const readEndingCases = async (tx: Tx, merchantId: string, until: Date): Promise<EndingCases> =>
  (await tx.run<EndingCases>(ENDING, [merchantId, until])).rows[0]!;

/**
 * SQL for `case_id` and `decided_at` of requests for another card that were made before a time and have no answer. A later retry
 * shows that a card came, unless it is a retry of the current card, in case the bank renewed it. The order and `offset 0` make one
 * probe for each request: otherwise PostgreSQL might read all actions. An action is created before it is requested; the hours are
 * for clocks that differ.
 *
 * @param before  SQL of a parameter
 */
export const unansweredCardChangesSql = (before: string) => `select r.case_id, r.decided_at
  from action_counts g
  cross join lateral (
    select id from listed_actions
    where merchant_id = $1 and facets = g.facets and created_at < ${before}::timestamptz + interval '24 hours'
    order by created_at, id offset 0
  ) sent
  cross join lateral (
    select case_id, created_at, decided_at from recovery_actions where merchant_id = $1 and id = sent.id offset 0
  ) r
  where g.merchant_id = $1 and g.actions > 0 and g.facets like '${typeAndStatusPattern("CARD_CHANGE", "SENT")}'
    and r.decided_at < ${before}::timestamptz and coalesce((
      select false from recovery_actions later
      where later.merchant_id = $1 and later.case_id = r.case_id and later.type = 'RETRY'
        and later.created_at > r.created_at and later.reasons::text not like '%${RENEWAL_WORDS}%' limit 1), true)`;

const CARD_CHANGES = prepared(
  "",
  `with found as materialized (
     select c.id, c.currency, c.amount, sent.decided_at
     from (select case_id, min(decided_at) as decided_at from (${unansweredCardChangesSql("$2")}) r group by 1) sent
     join cases c on c.merchant_id = $1 and c.id = sent.case_id and c.outcome = 'open')
   select count(*) as count, min(decided_at) as since, ${SUM} from found`,
);

export interface SummedRows {
  count: number;
  since: Date | null;
  money: CurrencySum[];
}

/** Open cases with a card change that was requested before then and has no outcome. */
export const readUnansweredCardChanges = async (tx: Tx, merchantId: string, requestedBefore: Date) =>
  (await tx.run<SummedRows>(CARD_CHANGES, [merchantId, requestedBefore])).rows[0]!;

const CONTRADICTIONS = prepared(
  "",
  `with found as materialized (
     select i.currency, coalesce(i.amount_due, i.amount) as amount, k.found_at
     from invoice_conflicts k left join invoices i on i.merchant_id = $1 and i.id = k.invoice_id
     where k.merchant_id = $1)
   select count(*) as count, min(found_at) as since, ${SUM} from found`,
);

export const readContradictions = async (tx: Tx, merchantId: string) =>
  (await tx.run<SummedRows>(CONTRADICTIONS, [merchantId])).rows[0]!;

const LARGE = prepared(
  "",
  `with found as materialized (
     select c.currency, c.amount, c.opened_at
     from large_amounts l join cases c on c.merchant_id = $1 and c.currency = l.currency and c.amount >= l.amount
     where l.merchant_id = $1 and c.outcome = 'open')
   select count(*) as count, min(opened_at) as since, ${SUM} from found`,
);

/** Open cases at or over the merchant's large amount in their currency. */
export const readLargeCases = async (tx: Tx, merchantId: string) =>
  (await tx.run<SummedRows>(LARGE, [merchantId])).rows[0]!;

const GIVEN_UP = prepared(
  "",
  `with exhausted as materialized (
     select case_id, exhausted_at from events where merchant_id = $1 and exhausted_at is not null
   ), found as materialized (
     select currency, amount from cases
     where merchant_id = $1 and outcome = 'open' and id in (select case_id from exhausted))
   select (select count(*) from exhausted) as count, (select min(exhausted_at) from exhausted) as since, ${SUM}`,
);

/** Exhausted events that were not replayed, with the money of their open cases. */
export const readGivenUpEvents = async (tx: Tx, merchantId: string) =>
  (await tx.run<SummedRows>(GIVEN_UP, [merchantId])).rows[0]!;

const WAITING = prepared(
  "",
  `with waiting as materialized (
     select e.case_id, e.created_at
     from deliveries d join events e on e.merchant_id = $1 and e.id = d.event_id where d.merchant_id = $1
   ), found as materialized (
     select currency, amount from cases
     where merchant_id = $1 and outcome = 'open' and id in (select case_id from waiting))
   select (select count(*) from waiting) as count, (select min(created_at) from waiting) as since, ${SUM}`,
);

/** Events that wait for an attempt, with the money of their open cases. */
export const readWaitingEvents = async (tx: Tx, merchantId: string) =>
  (await tx.run<SummedRows>(WAITING, [merchantId])).rows[0]!;

/** Enough to meet one of the latest attempts, because a failing endpoint fails for each event. */
const FAILED_EVENTS_READ = 100;

const LAST_ANSWER = prepared(
  "last_failed_answer",
  `select a.status, a.error
   from (select event_id from deliveries where merchant_id = $1 and attempts > 0 limit ${FAILED_EVENTS_READ}) d
   cross join lateral (
     select status, error, ended_at from delivery_attempts
     where merchant_id = $1 and event_id = d.event_id order by round desc, number desc limit 1) a
   order by a.ended_at desc limit 1`,
);

export interface EndpointAnswer {
  status: number | null;
  error: string | null;
}

/** The endpoint's last answer to an event that still waits; null if none waits after an attempt. */
export const findLastFailedAnswer = async (tx: Tx, merchantId: string) =>
  (await tx.run<EndpointAnswer>(LAST_ANSWER, [merchantId])).rows[0] ?? null;

const LAST_PUSH = prepared(
  "last_push",
  "select at from request_log where merchant_id = $1 and stored is not null order by id desc limit 1",
);

/** The last accepted batch of records; null if the log has none. */
export const findLastPush = async (tx: Tx, merchantId: string): Promise<Date | null> =>
  (await tx.run<{ at: Date }>(LAST_PUSH, [merchantId])).rows[0]?.at ?? null;

const PUSHES_COUNTED_MAX = 100;

// One probe for each hour, because a busy merchant has millions of requests.
const PUSH_HOURS = prepared(
  "push_hours",
  `select (select count(*) from (
       select from request_log where merchant_id = $1 and stored is not null and id >= ($2::uuid[])[1] and id < ($3::uuid[])[cardinality($3::uuid[])]
       limit ${PUSHES_COUNTED_MAX}) p) as pushes,
     (select json_agg(exists (
        select from request_log where merchant_id = $1 and stored is not null and id >= h.since and id < h.until) order by h.n)
      from unnest($2::uuid[], $3::uuid[]) with ordinality as h (since, until, n)) as hours`,
);

/**
 * Tells in which of the hours before `until` records were accepted, oldest first, and how many requests brought them, up to
 * 100.
 */
export async function readPushHours(tx: Tx, merchantId: string, until: Date, count: number) {
  const starts = Array.from({ length: count + 1 }, (_, i) => firstIdOf(until.getTime() - (count - i) * HOUR_MS));
  const values = [merchantId, starts.slice(0, -1), starts.slice(1)];
  return (await tx.run<{ pushes: number; hours: boolean[] }>(PUSH_HOURS, values)).rows[0]!;
}

// The order makes a generic plan read the index by window: with a condition instead it may read all open cases.
const OPEN_MATTERS = prepared(
  "open_matters",
  `select
     exists (select from events where merchant_id = $1 and exhausted_at is not null) as "isGivenUp",
     coalesce((
       select window_ends_at from cases where merchant_id = $1 and outcome = 'open' order by window_ends_at limit 1) < $2, false
     ) as "isEnding",
     exists (
       select from (${unansweredCardChangesSql("$3")}) r
       join cases c on c.merchant_id = $1 and c.id = r.case_id and c.outcome = 'open') as "isUnanswered",
     exists (select from invoice_conflicts where merchant_id = $1) as "isContradicted"`,
);

export interface OpenMatters {
  isGivenUp: boolean;
  isEnding: boolean;
  isUnanswered: boolean;
  isContradicted: boolean;
}

/** Whether there is at least one row of each. Reads few rows. */
export const findOpenMatters = async (tx: Tx, merchantId: string, endsBefore: Date, requestedBefore: Date) =>
  (await tx.run<OpenMatters>(OPEN_MATTERS, [merchantId, endsBefore, requestedBefore])).rows[0]!;
