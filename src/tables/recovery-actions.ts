import type { RecoveryAction } from "../domain/recovery-action.ts";
import { arrayParameters, type Column, columnValues } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";

// Reasons are an array in a column of arrays, which unnest would flatten: they travel as JSON.
interface Row extends Omit<RecoveryAction, "reasons"> {
  reasons: string;
}

const COLUMNS: readonly Column<Row>[] = [
  ["id", "uuid", "id"],
  ["case_id", "uuid", "caseId"],
  ["invoice_id", "text", "invoiceId"],
  ["subscription_id", "text", "subscriptionId"],
  ["customer_id", "text", "customerId"],
  ["transaction_id", "text", "transactionId"],
  ["payment_method_type", "text", "paymentMethodType"],
  ["card_country", "text", "cardCountry"],
  ["currency", "text", "currency"],
  ["amount_due", "int8", "amountDue"],
  ["type", "text", "type"],
  ["status", "text", "status"],
  ["integration_type", "text", "integrationType"],
  ["action_suggestion", "text", "actionSuggestion"],
  ["ideal_retry_time", "timestamptz", "idealRetryTime"],
  ["reasons", "jsonb", "reasons"],
  ["decided_at", "timestamptz", "decidedAt"],
  ["executed_at", "timestamptz", "executedAt"],
  ["attempted_at", "timestamptz", "attemptedAt"],
  ["created_at", "timestamptz", "createdAt"],
  ["updated_at", "timestamptz", "updatedAt"],
];
const NAMES = COLUMNS.map(([name]) => name);

const toRows = (actions: readonly RecoveryAction[]): Row[] =>
  actions.map((action) => ({ ...action, reasons: JSON.stringify(action.reasons) }));

// Lists take their totals from counts, so no statement writes an action without counting it. What stays in a group changes no count.
const countedWriteSql = (before: string) =>
  `changes as (
     select facets, executed_at, 1 as n from after union all select facets, executed_at, -1 from ${before}
   ), counted as (
     insert into action_counts (merchant_id, facets, actions)
     select $1, facets, sum(n) from changes group by facets having sum(n) <> 0 order by facets
     on conflict (merchant_id, facets) do update set actions = action_counts.actions + excluded.actions
   )
   insert into executed_counts (merchant_id, span, starts_at, facets, actions)
   select $1, s.span, s.starts_at, facets, sum(n)
   from changes
   cross join lateral (
     values ('month', date_trunc('month', executed_at, 'UTC')), ('day', date_trunc('day', executed_at, 'UTC')),
       ('3h', date_bin('3 hours', executed_at, 'epoch'))
   ) s (span, starts_at)
   where executed_at is not null
   group by s.span, s.starts_at, facets having sum(n) <> 0 order by s.span, s.starts_at, facets
   on conflict (merchant_id, span, starts_at, facets) do update set actions = executed_counts.actions + excluded.actions`;

const INSERT = prepared(
  "insert_recovery_actions",
  `with after as (
     insert into recovery_actions (merchant_id, ${NAMES.join(", ")})
     select $1::uuid, a.* from unnest(${arrayParameters(COLUMNS, 2)}) as a (${NAMES.join(", ")})
     returning facets, executed_at
   ), ${countedWriteSql("after where false")}`,
);

/** List new plans. The merchant's clock is locked. */
export async function insertRecoveryActions(tx: Tx, merchantId: string, actions: readonly RecoveryAction[]) {
  await tx.run(INSERT, [merchantId, ...columnValues(toRows(actions), COLUMNS)]);
}

const FIXED = ["id", "case_id", "created_at", "integration_type"];
const UPDATE = prepared(
  "update_recovery_actions",
  `with before as (
     select facets, executed_at from recovery_actions where merchant_id = $1 and id = any($2::uuid[])
   ), after as (
     update recovery_actions r
     set ${NAMES.filter((name) => !FIXED.includes(name))
       .map((name) => `${name} = a.${name}`)
       .join(", ")}
     from unnest(${arrayParameters(COLUMNS, 2)}) as a (${NAMES.join(", ")})
     where r.merchant_id = $1 and r.id = a.id
     returning r.facets, r.executed_at
   ), ${countedWriteSql("before")}`,
);

/** Write the newer state of listed actions. The merchant's clock is locked, so nobody changes them meanwhile. */
export async function updateRecoveryActions(tx: Tx, merchantId: string, actions: readonly RecoveryAction[]) {
  await tx.run(UPDATE, [merchantId, ...columnValues(toRows(actions), COLUMNS)]);
}

const DELETE = prepared(
  "delete_recovery_actions",
  `with gone as (
     delete from recovery_actions where merchant_id = $1 and case_id = any($2::uuid[]) returning facets, executed_at
   ), after as (select * from gone where false), ${countedWriteSql("gone")}`,
);

/** Deletes all actions of these cases, from the totals of lists as well. The merchant's clock is locked. */
export async function deleteRecoveryActions(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  await tx.run(DELETE, [merchantId, caseIds]);
}

const SELECTED = COLUMNS.map(([name, , field]) => `r.${name} as "${field}"`).join(", ");

/** How far the event of an action has come. */
export interface ActionDelivery {
  /** Start of the first delivery attempt that ended; null when none did. */
  firstAttemptAt: Date | null;
  delivery: "none" | "waiting" | "delivered" | "exhausted" | "withdrawn";
}

// One probe of a key for each, by subqueries that can't be turned into a reading of all the merchant's attempts and events.
const OF_CASES = prepared(
  "recovery_actions_of_cases",
  `select ${SELECTED}, a.began as "firstAttemptAt",
     case
       when r.decided_at is null then 'none'
       when a.delivered then 'delivered'
       else coalesce(
         (select 'waiting' from deliveries d where d.merchant_id = $1 and d.event_id = r.id),
         (select case when e.withdrawn_at is not null then 'withdrawn' when e.exhausted_at is not null then 'exhausted' end
          from events e where e.merchant_id = $1 and e.id = r.id),
         'delivered')
     end as delivery
   from recovery_actions r
   cross join lateral (
     select min(a.started_at) as began, bool_or(a.ends = 'delivered') as delivered
     from delivery_attempts a where a.merchant_id = $1 and a.event_id = r.id) a
   where r.merchant_id = $1 and r.case_id = any($2::uuid[])
   order by r.created_at, r.id`,
);

/** All actions of these cases, oldest first, each with the state of its event. */
export async function recoveryActionsOfCases(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  return (await tx.run<RecoveryAction & ActionDelivery>(OF_CASES, [merchantId, encodeTextArray(caseIds, "uuid")])).rows;
}

/** A retry that was asked for and that no transaction answers yet. */
export interface PendingRetryRequest {
  actionId: string;
  caseId: string;
  invoiceId: string;
  customerId: string;
  at: Date;
  /** What comes of it may still be told. */
  mayBeAnswered: boolean;
}

// Canceled ones count when an attempt to deliver them ended: the merchant may have carried them out.
const PENDING_RETRY_REQUESTS = prepared(
  "asks_concerning",
  `select id as "actionId", case_id as "caseId", invoice_id as "invoiceId", customer_id as "customerId", ideal_retry_time as at,
     status in ('SCHEDULED', 'SENT') as "mayBeAnswered"
   from recovery_actions r
   where merchant_id = $1 and (customer_id = any($2::text[]) or invoice_id = any($3::text[])) and created_at > $4
     and type = 'RETRY' and decided_at is not null and transaction_id is null
     and (status <> 'CANCELED' or (select true from delivery_attempts a where a.merchant_id = $1 and a.event_id = r.id limit 1))`,
);

const RETRY_REQUESTS_AFTER = prepared(
  "asks_after",
  `select id as "actionId", case_id as "caseId", invoice_id as "invoiceId", customer_id as "customerId", ideal_retry_time as at,
     true as "mayBeAnswered"
   from recovery_actions where merchant_id = $1 and updated_at > $2 and type = 'RETRY' and decided_at is not null`,
);

/** Retries of a merchant that were asked for, or came to something, after this moment of its clock. */
export async function retryRequestsAfter(
  tx: Tx,
  merchantId: string,
  listedAfter: Date,
): Promise<PendingRetryRequest[]> {
  return (await tx.run<PendingRetryRequest>(RETRY_REQUESTS_AFTER, [merchantId, listedAfter])).rows;
}

/** Retries asked for on these invoices or in any case of these customers, listed after `since`, that no transaction answers. */
export async function pendingRetryRequests(
  tx: Tx,
  merchantId: string,
  customerIds: readonly string[],
  invoiceIds: readonly string[],
  since: Date,
) {
  const values = [merchantId, encodeTextArray(customerIds, "text"), encodeTextArray(invoiceIds, "text"), since];
  return (await tx.run<PendingRetryRequest>(PENDING_RETRY_REQUESTS, values)).rows;
}
