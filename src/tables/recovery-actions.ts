import type { RecoveryAction } from "../domain/recovery-action.ts";
import { arrayParameters, type Column, columnValues } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";

// `unnest` would flatten an array of arrays.
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

/** Adds the CTE `changes` (facets, execution time, and 1 or -1) to lists' counts. Ends every statement that writes actions. */
const COUNT_CHANGES = `counted as (
     insert into action_counts (merchant_id, facets, actions)
     select $1, facets, sum(n) from changes group by facets having sum(n) <> 0 order by facets
     on conflict (merchant_id, facets) do update set actions = action_counts.actions + excluded.actions
   )
   insert into executed_counts (merchant_id, span, starts_at, facets, actions)
   select $1, buckets.span, buckets.starts_at, facets, sum(n)
   from changes
   cross join lateral (
     values
       ('month', date_trunc('month', executed_at, 'UTC')),
       ('day', date_trunc('day', executed_at, 'UTC')),
       ('3h', date_bin('3 hours', executed_at, 'epoch'))
   ) buckets (span, starts_at)
   where executed_at is not null
   group by buckets.span, buckets.starts_at, facets having sum(n) <> 0
   order by buckets.span, buckets.starts_at, facets
   on conflict (merchant_id, span, starts_at, facets) do update set actions = executed_counts.actions + excluded.actions`;

/** What `listed_actions` repeats of an action, besides its keys `id`, `facets` and `created_at`. */
const REPEATED = ["updated_at", "executed_at", "amount_due"];
const LISTED = ["id", "facets", "created_at", ...REPEATED];

const ACTIONS = `unnest(${arrayParameters(COLUMNS, 2)}) as actions (${NAMES.join(", ")})`;

const INSERT = prepared(
  "insert_recovery_actions",
  `with inserted as (
     insert into recovery_actions (merchant_id, ${NAMES.join(", ")})
     select $1::uuid, actions.* from ${ACTIONS}
     returning ${LISTED.join(", ")}
   ), listed as (
     insert into listed_actions (merchant_id, ${LISTED.join(", ")}) select $1, ${LISTED.join(", ")} from inserted returning id
   ), changes as (
     select facets, executed_at, 1 as n from inserted
   ), ${COUNT_CHANGES}`,
);

/** The caller holds the merchant's clock lock. */
export async function insertRecoveryActions(tx: Tx, merchantId: string, actions: readonly RecoveryAction[]) {
  await tx.run(INSERT, [merchantId, ...columnValues(toRows(actions), COLUMNS)]);
}

const UNCHANGED = ["id", "case_id", "created_at", "integration_type"];
const UPDATED = NAMES.filter((name) => !UNCHANGED.includes(name));
const UPDATE = prepared(
  "update_recovery_actions",
  `with before as materialized (
     select id, facets, created_at, executed_at from recovery_actions where merchant_id = $1 and id = any($2::uuid[])
   ), after as (
     update recovery_actions stored set ${UPDATED.map((name) => `${name} = actions.${name}`).join(", ")}
     from ${ACTIONS}
     where stored.merchant_id = $1 and stored.id = actions.id
     returning ${LISTED.map((name) => `stored.${name}`).join(", ")}
   ), listed as (
     update listed_actions l
     set ${["facets", ...REPEATED].map((name) => `${name} = after.${name}`).join(", ")}
     from before join after on after.id = before.id
     where l.merchant_id = $1 and l.facets = before.facets and l.created_at = before.created_at and l.id = before.id
   ), changes as (
     select facets, executed_at, 1 as n from after
     union all
     select facets, executed_at, -1 from before
   ), ${COUNT_CHANGES}`,
);

/** The caller holds the merchant's clock lock. */
export async function updateRecoveryActions(tx: Tx, merchantId: string, actions: readonly RecoveryAction[]) {
  await tx.run(UPDATE, [merchantId, ...columnValues(toRows(actions), COLUMNS)]);
}

const DELETE = prepared(
  "delete_recovery_actions",
  `with deleted as (
     delete from recovery_actions where merchant_id = $1 and case_id = any($2::uuid[]) returning id, facets, created_at, executed_at
   ), unlisted as (
     delete from listed_actions l using deleted
     where l.merchant_id = $1 and l.facets = deleted.facets and l.created_at = deleted.created_at and l.id = deleted.id
   ), changes as (
     select facets, executed_at, -1 as n from deleted
   ), ${COUNT_CHANGES}`,
);

/** Updates totals. The caller holds the merchant's clock lock. */
export async function deleteRecoveryActions(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  await tx.run(DELETE, [merchantId, caseIds]);
}

const SELECTED = COLUMNS.map(([name, , field]) => `r.${name} as "${field}"`).join(", ");

export interface ActionDelivery {
  /** Ended attempts only. */
  firstAttemptAt: Date | null;
  delivery: "none" | "waiting" | "delivered" | "exhausted" | "withdrawn";
}

// The planner cannot flatten these, so each event is one index probe.
const OF_CASES = prepared(
  "recovery_actions_of_cases",
  `select ${SELECTED}, attempts.first_at as "firstAttemptAt",
     case
       when r.decided_at is null then 'none'
       when attempts.delivered then 'delivered'
       else coalesce(
         (select 'waiting' from deliveries d where d.merchant_id = $1 and d.event_id = r.id),
         (select case when e.withdrawn_at is not null then 'withdrawn' when e.exhausted_at is not null then 'exhausted' end
          from events e where e.merchant_id = $1 and e.id = r.id),
         'delivered')
     end as delivery
   from recovery_actions r
   cross join lateral (
     select min(a.started_at) as first_at, bool_or(a.ends = 'delivered') as delivered
     from delivery_attempts a where a.merchant_id = $1 and a.event_id = r.id
   ) attempts
   where r.merchant_id = $1 and r.case_id = any($2::uuid[])
   order by r.created_at, r.id`,
);

/** Oldest first. */
export async function recoveryActionsOfCases(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  return (await tx.run<RecoveryAction & ActionDelivery>(OF_CASES, [merchantId, encodeTextArray(caseIds, "uuid")])).rows;
}

/** A sent retry that no transaction answers. */
export interface PendingRetryRequest {
  actionId: string;
  caseId: string;
  invoiceId: string;
  customerId: string;
  at: Date;
  mayBeAnswered: boolean;
}

// A canceled retry counts if a delivery attempt ended: the merchant may have carried it out.
const PENDING_RETRY_REQUESTS = prepared(
  "asks_concerning",
  `select id as "actionId", case_id as "caseId", invoice_id as "invoiceId", customer_id as "customerId", ideal_retry_time as at,
     status in ('SCHEDULED', 'SENT') as "mayBeAnswered"
   from recovery_actions r
   where merchant_id = $1 and created_at > $4 and (
       customer_id = any($2::text[])
       or case_id = any(array(select id from cases where merchant_id = $1 and invoice_id = any($3::text[]))))
     and type = 'RETRY' and decided_at is not null and transaction_id is null
     and (status <> 'CANCELED' or (select true from delivery_attempts a where a.merchant_id = $1 and a.event_id = r.id limit 1))`,
);

// The order makes PostgreSQL take the index that begins with the time.
const RETRY_REQUESTS_AFTER = prepared(
  "asks_after",
  `select id as "actionId", case_id as "caseId", invoice_id as "invoiceId", customer_id as "customerId", ideal_retry_time as at,
     true as "mayBeAnswered"
   from recovery_actions
   where merchant_id = $1 and type = 'RETRY' and decided_at is not null
     and id = any(array(select id from listed_actions where merchant_id = $1 and updated_at > $2 order by updated_at))`,
);

/** Sent or updated after this time. */
export async function retryRequestsAfter(
  tx: Tx,
  merchantId: string,
  listedAfter: Date,
): Promise<PendingRetryRequest[]> {
  return (await tx.run<PendingRetryRequest>(RETRY_REQUESTS_AFTER, [merchantId, listedAfter])).rows;
}

/** Unanswered, and created after `since`. */
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
