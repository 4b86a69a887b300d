import { INVOICE_STATE_ORDER, type Invoice } from "../domain/invoice.ts";
import {
  type Column,
  columnValues,
  createOlderVersionsFinder,
  nullsToUndefined,
  OWNER,
  readPageAfter,
  STORED,
  selectList,
  selectPageAfter,
  stateArray,
  unnestColumns,
} from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { isDuplicateOf } from "../postgres/database-errors.ts";
import { enqueueSql, MAX_OPEN_CASES_PER_CUSTOMER } from "./reevaluation-queue.ts";

const RECORD_COLUMNS: readonly Column<Invoice>[] = [
  ["id", "text", "id"],
  ["state", "text", "state"],
  ["customer_id", "text", "customerId"],
  ["subscription_id", "text", "subscriptionId"],
  ["business_entity", "text", "businessEntity"],
  ["amount", "int8", "amount"],
  ["amount_due", "int8", "amountDue"],
  ["currency", "text", "currency"],
  ["created_at", "timestamptz", "createdAt"],
  ["updated_at", "timestamptz", "updatedAt"],
];
const INVOICE_COLUMNS: readonly Column<Invoice>[] = [
  ...RECORD_COLUMNS,
  ["integration_type", "text", "integrationType"],
];

const PUSHED = `select ${unnestColumns(INVOICE_COLUMNS, 2)}`;

const INSERT_NEW = prepared(
  "insert_new_invoices",
  `with existing as materialized (
     select exists (select from invoices where merchant_id = $1 and id = any($2::text[])) as found
   ), inserted as (
     insert into invoices (
       merchant_id, id, state, customer_id, subscription_id, business_entity, amount, amount_due, currency, created_at,
       integration_type, updated_at, version_at, unpaid_since)
     select merchant_id, id, state, customer_id, subscription_id, business_entity, amount, amount_due, currency, created_at,
       integration_type,
       coalesce(updated_at, created_at),
       case when updated_at is null then '-infinity'::timestamptz end,
       case when state in ('UNPAID', 'PARTIALLY_PAID') then coalesce(updated_at, created_at) end
     from ${OWNER}, (${PUSHED}) pushed
     where not (select found from existing) ${STORED}
   ), news as (
     select id, customer_id, state = 'PAID' as is_paid
     from (select unnest($2::text[]) as id, unnest($3::text[]) as state, unnest($4::text[]) as customer_id) pushed
     where not (select found from existing) and $13::uuid is not null
       and state in ('PAID', 'UNPAID', 'PARTIALLY_PAID')
   ), affected as (
     select distinct other.case_id
     from (
       select open.id as case_id, open.invoice_id, news.*
       from news
       cross join lateral (
         select id, invoice_id from cases
         where merchant_id = $1 and customer_id = news.customer_id and coalesce(ended_at, 'infinity') = 'infinity'
         limit ${MAX_OPEN_CASES_PER_CUSTOMER + 1}
       ) open
       offset 0
     ) other
     where other.invoice_id <> other.id
       and (
         select count(*) from (
           select from cases
           where merchant_id = $1 and customer_id = other.customer_id and coalesce(ended_at, 'infinity') = 'infinity'
           limit ${MAX_OPEN_CASES_PER_CUSTOMER + 1}
         ) open
       ) <= ${MAX_OPEN_CASES_PER_CUSTOMER}
       and not exists (select from transactions where merchant_id = $1 and invoice_id = other.id offset 0)
   ), queued as (
     ${enqueueSql("select case_id from affected", "$13")}
   )
   select not found as "areNew" from existing`,
);

/**
 * All, or nothing if one exists. Half the work of an upsert, because it needs no speculative insertion.
 *
 * @param entryId  see `upsertInvoices`
 * @returns whether they were stored
 * @throws an error that `isDuplicateInsert` recognizes if another transaction stores one at the same time
 */
export async function insertNewInvoices(
  tx: Tx,
  merchantId: string,
  invoices: readonly Invoice[],
  entryId: string | null,
) {
  const values = [merchantId, ...columnValues(invoices, INVOICE_COLUMNS), entryId];
  return (await tx.run<{ areNew: boolean }>(INSERT_NEW, values)).rows[0]!.areNew;
}

export const isDuplicateInsert = (error: unknown) => isDuplicateOf("invoices_pkey", error);

const STATES = stateArray(INVOICE_STATE_ORDER);
/** A partly paid invoice's version may state the amount left as the total. */
const HAS_AMOUNT_LEFT = `excluded.state = 'PARTIALLY_PAID' and excluded.amount_due is null
  and excluded.currency = stored.currency and excluded.amount < stored.amount`;

// Versions follow the rules of `versionedTable`. `was_in_recovery` and `unpaid_since` depend on the locked row, so they include
// versions stored while this statement waited. An invoice that is paid or in recovery is news for the customer's other open cases
// (`affected`). It is no news if its state has not changed, the account is shared, or it has attempts, which queue these cases.
// The statement sees the invoices as they were before it. Expensive conditions come last. JSON lists are faster for the client than
// rows.
const UPSERT = prepared(
  "upsert_invoices",
  `with before as materialized (
     select id, state from invoices where merchant_id = $1 and id = any($2::text[])
   ), changed as (
     insert into invoices as stored (
       merchant_id, id, state, customer_id, subscription_id, business_entity, amount, amount_due, currency, created_at,
       integration_type, updated_at, version_at, unpaid_since)
     select merchant_id, id, state, customer_id, subscription_id, business_entity, amount, amount_due, currency, created_at,
       integration_type,
       coalesce(updated_at, created_at),
       case when updated_at is null then '-infinity'::timestamptz end,
       case when state in ('UNPAID', 'PARTIALLY_PAID') then coalesce(updated_at, created_at) end
     from ${OWNER}, (${PUSHED}) pushed
     on conflict (merchant_id, id) do update set
       state = excluded.state,
       customer_id = excluded.customer_id,
       subscription_id = excluded.subscription_id,
       business_entity = excluded.business_entity,
       amount = case when ${HAS_AMOUNT_LEFT} then stored.amount else excluded.amount end,
       amount_due = case when ${HAS_AMOUNT_LEFT} then excluded.amount else excluded.amount_due end,
       currency = excluded.currency,
       integration_type = excluded.integration_type,
       created_at = excluded.created_at,
       updated_at = case
         when excluded.version_at is null then excluded.updated_at
         else greatest($13::timestamptz, stored.updated_at) end,
       version_at = case when excluded.version_at is not null then coalesce(stored.version_at, stored.updated_at) end,
       was_in_recovery = stored.was_in_recovery or stored.state in ('UNPAID', 'PARTIALLY_PAID'),
       unpaid_since = case
         when excluded.state not in ('UNPAID', 'PARTIALLY_PAID') then null
         when stored.state in ('UNPAID', 'PARTIALLY_PAID') and stored.unpaid_since is not null then stored.unpaid_since
         when excluded.version_at is null then excluded.updated_at
         else greatest($13::timestamptz, stored.updated_at) end
     where case
       when excluded.version_at is null and excluded.updated_at > coalesce(stored.version_at, stored.updated_at) then true
       when excluded.version_at is null and (
         excluded.updated_at < coalesce(stored.version_at, stored.updated_at)
         or array_position(${STATES}, excluded.state) < array_position(${STATES}, stored.state)) then false
       else (
         stored.state, stored.customer_id, stored.subscription_id, stored.business_entity, stored.amount, stored.amount_due,
         stored.currency, stored.created_at
       ) is distinct from (
         excluded.state, excluded.customer_id, excluded.subscription_id, excluded.business_entity,
         case when ${HAS_AMOUNT_LEFT} then stored.amount else excluded.amount end,
         case when ${HAS_AMOUNT_LEFT} then excluded.amount else excluded.amount_due end,
         excluded.currency, excluded.created_at
       ) end
     returning id, state, customer_id, was_in_recovery, (xmax = 0) as inserted
   ), news as (
     select id, customer_id, state = 'PAID' as is_paid
     from changed
     where $14::uuid is not null and state in ('PAID', 'UNPAID', 'PARTIALLY_PAID')
   ), affected as (
     select distinct other.case_id
     from (
       select open.id as case_id, open.invoice_id, news.*
       from news
       cross join lateral (
         select id, invoice_id from cases
         where merchant_id = $1 and customer_id = news.customer_id and coalesce(ended_at, 'infinity') = 'infinity'
         limit ${MAX_OPEN_CASES_PER_CUSTOMER + 1}
       ) open
       offset 0
     ) other
     where other.invoice_id <> other.id
       and (
         select count(*) from (
           select from cases
           where merchant_id = $1 and customer_id = other.customer_id and coalesce(ended_at, 'infinity') = 'infinity'
           limit ${MAX_OPEN_CASES_PER_CUSTOMER + 1}
         ) open
       ) <= ${MAX_OPEN_CASES_PER_CUSTOMER}
       and not exists (select from transactions where merchant_id = $1 and invoice_id = other.id offset 0)
       and not exists (
         select from before
         where id = other.id
           and case when other.is_paid then state = 'PAID' else state in ('UNPAID', 'PARTIALLY_PAID') end)
   ), queued as (
     ${enqueueSql("select case_id from affected", "$14")}
   )
   select
     coalesce(json_agg(id) filter (where inserted and state in ('UNPAID', 'PARTIALLY_PAID')), '[]') as unpaid,
     coalesce(json_agg(id) filter (where not inserted and state in ('UNPAID', 'PARTIALLY_PAID')), '[]') as "unpaidAgain",
     coalesce(
       json_agg(id) filter (where not inserted and state not in ('UNPAID', 'PARTIALLY_PAID') and was_in_recovery), '[]'
     ) as "leftRecovery",
     case when count(*) < cardinality($2::text[]) then (
       select json_agg(pushed.id) from unnest($2::text[]) as pushed (id) where pushed.id not in (select id from changed)
     ) end as unchanged
   from changed`,
);

interface ChangedInvoices {
  /** New, and in recovery. */
  unpaid: string[];
  /** In recovery, stored before in another version. */
  unpaidAgain: string[];
  /** Left recovery. */
  leftRecovery: string[];
  /** In the same version or a newer one; null if all changed. */
  unchanged: string[] | null;
}

/**
 * @param invoices  sorted by id, without duplicate ids
 * @param now  service time
 * @param entryId  queue entry for the customers' other open cases; null: none are queued
 */
export async function upsertInvoices(
  tx: Tx,
  merchantId: string,
  invoices: readonly Invoice[],
  now: Date,
  entryId: string | null,
) {
  const values = [merchantId, ...columnValues(invoices, INVOICE_COLUMNS), now, entryId];
  return (await tx.run<ChangedInvoices>(UPSERT, values)).rows[0]!;
}

export const findOlderInvoices = createOlderVersionsFinder({
  table: "invoices",
  columns: RECORD_COLUMNS,
  stateOrder: INVOICE_STATE_ORDER,
});

const TOTALS_COLUMNS = (["id", "state", "updatedAt", "amount", "amountDue", "currency"] as const).map(
  (name) => RECORD_COLUMNS.find(([, , field]) => field === name)!,
);
const FILL_IN_TOTALS = prepared(
  "learn_invoice_totals",
  `update invoices stored set amount = pushed.amount, amount_due = stored.amount
   from unnest($2::text[], $3::text[], $4::timestamptz[], $5::int8[], $6::int8[], $7::text[])
     as pushed (id, state, updated_at, amount, amount_due, currency)
   where stored.merchant_id = $1 and stored.id = pushed.id and stored.state = 'PARTIALLY_PAID' and stored.amount_due is null
     and pushed.state = 'UNPAID' and pushed.amount_due is null and pushed.currency = stored.currency
     and pushed.amount > stored.amount and pushed.updated_at <= coalesce(stored.version_at, stored.updated_at)
   returning stored.id`,
);

/** From older versions; the stored amount is then the amount left to pay. Returns the updated ids. */
export async function fillInTotals(tx: Tx, merchantId: string, invoices: readonly Invoice[]): Promise<string[]> {
  const values = [merchantId, ...columnValues(invoices, TOTALS_COLUMNS)];
  return (await tx.run<{ id: string }>(FILL_IN_TOTALS, values)).rows.map(({ id }) => id);
}

export interface StoredInvoice extends Invoice {
  /** First unpaid version since it was last out of recovery. */
  unpaidSince?: Date | undefined;
}

const FIND = prepared(
  "find_invoices",
  `select ${selectList(INVOICE_COLUMNS)}, unpaid_since as "unpaidSince"
   from invoices where merchant_id = $1 and id = any($2::text[])`,
);

export async function findInvoices(tx: Tx, merchantId: string, ids: readonly string[]) {
  const { rows } = await tx.run<StoredInvoice>(FIND, [merchantId, encodeTextArray(ids, "text")]);
  return new Map(rows.map((invoice) => [invoice.id, nullsToUndefined(invoice)]));
}

const UNPAID = prepared(
  "unpaid_invoices",
  `select id from invoices where merchant_id = $1 and id = any($2::text[]) and state in ('UNPAID', 'PARTIALLY_PAID')`,
);

/** Sorted. */
export async function unpaidInvoices(tx: Tx, merchantId: string, ids: readonly string[]): Promise<string[]> {
  const { rows } = await tx.run<{ id: string }>(UNPAID, [merchantId, encodeTextArray(ids, "text")]);
  return rows.map(({ id }) => id).sort();
}

const CUSTOMERS = prepared(
  "customers_of_invoices",
  `select distinct customer_id as "customerId" from invoices where merchant_id = $1 and id = any($2::text[])`,
);

export async function customersOfInvoices(tx: Tx, merchantId: string, ids: readonly string[]): Promise<string[]> {
  const { rows } = await tx.run<{ customerId: string }>(CUSTOMERS, [merchantId, encodeTextArray(ids, "text")]);
  return rows.map(({ customerId }) => customerId);
}

const MERCHANTS_WITH_INVOICE = prepared(
  "merchants_with_invoice",
  `select m.id from merchants m where exists (select from invoices i where i.merchant_id = m.id and i.id = $1) order by m.id`,
);

export async function merchantsWithInvoice(tx: Tx, id: string): Promise<string[]> {
  return (await tx.run<{ id: string }>(MERCHANTS_WITH_INVOICE, [id])).rows.map((merchant) => merchant.id);
}

const AFTER = selectPageAfter("invoices", RECORD_COLUMNS);

export const invoicesAfter = (tx: Tx, merchantId: string, last?: Invoice) =>
  readPageAfter<Invoice>(tx, AFTER, merchantId, last);
