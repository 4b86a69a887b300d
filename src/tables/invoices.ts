import { INVOICE_STATE_ORDER, INVOICE_STATES, type Invoice, isInRecovery } from "../domain/invoice.ts";
import {
  type Column,
  columnValues,
  createOlderVersionsFinder,
  insertSql,
  nullsToUndefined,
  readPageAfter,
  selectList,
  selectPageAfter,
  unnestColumns,
  upsertSql,
  type VersionRules,
} from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { sqlState } from "../postgres/database-errors.ts";
import { casesAffectedByInvoices, enqueueSql } from "./reevaluation-queue.ts";

const INVOICE_COLUMNS: readonly Column<Invoice>[] = [
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

const RECOVERY_STATES = INVOICE_STATES.filter(isInRecovery);
const isRecoveryStateSql = (state: string) => `${state} in (${RECOVERY_STATES.map((each) => `'${each}'`).join(", ")})`;
const IN_RECOVERY = isRecoveryStateSql("state");

/** Instead of the total, a version of a partly paid invoice may say what is left. */
const ONLY_AMOUNT_DUE = `excluded.state = 'PARTIALLY_PAID' and excluded.amount_due is null
  and excluded.currency = invoices.currency and excluded.amount < invoices.amount`;

const VERSIONS: VersionRules<Invoice> = {
  table: "invoices",
  columns: INVOICE_COLUMNS,
  order: INVOICE_STATE_ORDER,
  insertAlso: [["unpaid_since", `case when ${IN_RECOVERY} then coalesce(updated_at, created_at) end`]],
  // Of the row that a newer version replaces, as it is once it is locked: so it counts as well what another batch stored for which this one waited.
  updateAlso: [
    ["was_in_recovery", `invoices.was_in_recovery or ${isRecoveryStateSql("invoices.state")}`],
    [
      "unpaid_since",
      `case when not ${isRecoveryStateSql("excluded.state")} then null
         when ${isRecoveryStateSql("invoices.state")} then coalesce(invoices.unpaid_since, DATE) else DATE end`,
    ],
  ],
  adjusted: [
    ["amount", `case when ${ONLY_AMOUNT_DUE} then invoices.amount else excluded.amount end`],
    ["amount_due", `case when ${ONLY_AMOUNT_DUE} then excluded.amount else excluded.amount_due end`],
  ],
};

/** Other open cases of their customers are looked at, too, as after an attempt: where none is pushed nothing else tells of other bills. */
const enqueueAffectedCases = (from: string, pokeId: string) =>
  enqueueSql(
    casesAffectedByInvoices(
      `select id, customer_id as each, state = 'PAID' as paid from ${from}
       where ${pokeId}::uuid is not null and (state = 'PAID' or ${IN_RECOVERY})`,
      isRecoveryStateSql,
    ),
    pokeId,
  );

// Half the work of an upsert, which marks each row as under way before it is sure of it.
const INSERT_NEW = prepared(
  "insert_new_invoices",
  `with known as materialized (
     select exists (select from invoices where merchant_id = $1 and id = any($2::text[])) as found
   ), stored as (${insertSql("invoices", INVOICE_COLUMNS, VERSIONS.insertAlso)} where not (select found from known)),
   told as (${enqueueAffectedCases(`(select ${unnestColumns(INVOICE_COLUMNS.slice(0, 3), 2)} where not (select found from known)) b`, `$${2 + INVOICE_COLUMNS.length}`)})
   select not found as "areNew" from known`,
);
const UNIQUE_VIOLATION = "23505";

/**
 * Store these if not one of them is known; otherwise nothing is done. Throws what `isDuplicateInsert` knows when another batch brings one of them meanwhile.
 *
 * @param pokeId  for other open cases of their customers; null: those look at no other bill
 * @returns whether they are stored
 */
export async function insertNewInvoices(
  tx: Tx,
  merchantId: string,
  invoices: readonly Invoice[],
  pokeId: string | null,
) {
  const values = [merchantId, ...columnValues(invoices, INVOICE_COLUMNS), pokeId];
  return (await tx.run<{ areNew: boolean }>(INSERT_NEW, values)).rows[0]!.areNew;
}

/** Whether what was to be stored as new is known meanwhile. */
export const isDuplicateInsert = (error: unknown) =>
  sqlState(error) === UNIQUE_VIOLATION && (error as { table?: string }).table === "invoices";

const idsJsonSql = (condition: string) => `coalesce(json_agg(id) filter (where ${condition}), '[]')`;

const UPSERTED = upsertSql(VERSIONS, "id, state, customer_id, was_in_recovery, (xmax = 0) as inserted");

// One row: the client reads it in a third of the time that 200 rows take.
const UPSERT = prepared(
  "upsert_invoices",
  `with changed as (${UPSERTED}), told as (${enqueueAffectedCases("changed", `$${3 + INVOICE_COLUMNS.length}`)})
   select ${idsJsonSql(`inserted and ${IN_RECOVERY}`)} as unpaid, ${idsJsonSql(`not inserted and ${IN_RECOVERY}`)} as "unpaidAgain",
     ${idsJsonSql(`not inserted and not ${IN_RECOVERY} and was_in_recovery`)} as settled,
     case when count(*) < cardinality($2::text[])
       then (select json_agg(k.id) from unnest($2::text[]) as k (id) where k.id not in (select id from changed)) end as known
   from changed`,
);

/** What an upsert of invoices changed: the ids of those that */
interface ChangedInvoices {
  /** are new and in recovery; */
  unpaid: string[];
  /** were known in another version and are in recovery; */
  unpaidAgain: string[];
  /** are not in recovery, though an earlier version was; */
  settled: string[];
  /** did not change: they were known in this version, or the version is older than what is known; null: all changed. */
  known: string[] | null;
}

/**
 * Keep the version of each that is the truth.
 *
 * @param pokeId  as of `insertNewInvoices`
 */
export async function upsertInvoices(
  tx: Tx,
  merchantId: string,
  invoices: readonly Invoice[],
  now: Date,
  pokeId: string | null,
) {
  const values = [merchantId, ...columnValues(invoices, INVOICE_COLUMNS), now, pokeId];
  return (await tx.run<ChangedInvoices>(UPSERT, values)).rows[0]!;
}

/** Returns the ids of those versions that are older than what is stored. */
export const findOlderInvoices = createOlderVersionsFinder(VERSIONS);

const TOTALS_COLUMNS = (["id", "state", "updatedAt", "amount", "amountDue", "currency"] as const).map(
  (name) => INVOICE_COLUMNS.find(([, , field]) => field === name)!,
);
const TOTALS = prepared(
  "learn_invoice_totals",
  `update invoices i set amount = p.amount, amount_due = i.amount
   from unnest($2::text[], $3::text[], $4::timestamptz[], $5::int8[], $6::int8[], $7::text[]) as p (id, state, at, amount, due, currency)
   where i.merchant_id = $1 and i.id = p.id and i.state = 'PARTIALLY_PAID' and i.amount_due is null
     and p.state = 'UNPAID' and p.due is null and p.currency = i.currency and p.amount > i.amount
     and p.at <= coalesce(i.version_at, i.updated_at)
   returning i.id`,
);

/**
 * An older version of a partly paid invoice is not its truth, and may still tell its total: then the amount that is stored is what was left.
 *
 * @returns the ids of the invoices of which it did
 */
export async function fillInTotals(tx: Tx, merchantId: string, invoices: readonly Invoice[]): Promise<string[]> {
  const { rows } = await tx.run<{ id: string }>(TOTALS, [merchantId, ...columnValues(invoices, TOTALS_COLUMNS)]);
  return rows.map(({ id }) => id);
}

/** An invoice as it is stored. */
export interface StoredInvoice extends Invoice {
  /** The date of the first unpaid version since it was out of recovery; absent while it is out. */
  unpaidSince?: Date | undefined;
}

const FIND = prepared(
  "find_invoices",
  `select ${selectList(INVOICE_COLUMNS)}, unpaid_since as "unpaidSince"
   from invoices where merchant_id = $1 and id = any($2::text[])`,
);

/** The invoices with these ids, as they are known now. */
export async function findInvoices(tx: Tx, merchantId: string, ids: readonly string[]) {
  const { rows } = await tx.run<StoredInvoice>(FIND, [merchantId, encodeTextArray(ids, "text")]);
  return new Map(rows.map((invoice) => [invoice.id, nullsToUndefined(invoice)]));
}

const UNPAID = prepared(
  "unpaid_invoices",
  `select id from invoices where merchant_id = $1 and id = any($2::text[]) and ${IN_RECOVERY}`,
);

/** The ids of those of these invoices that are in recovery, sorted. */
export async function unpaidInvoices(tx: Tx, merchantId: string, ids: readonly string[]): Promise<string[]> {
  const { rows } = await tx.run<{ id: string }>(UNPAID, [merchantId, encodeTextArray(ids, "text")]);
  return rows.map(({ id }) => id).sort();
}

const CUSTOMERS = prepared(
  "customers_of_invoices",
  `select distinct customer_id as "customerId" from invoices where merchant_id = $1 and id = any($2::text[])`,
);

/** The customers of these invoices. */
export async function customersOfInvoices(tx: Tx, merchantId: string, ids: readonly string[]): Promise<string[]> {
  const { rows } = await tx.run<{ customerId: string }>(CUSTOMERS, [merchantId, encodeTextArray(ids, "text")]);
  return rows.map(({ customerId }) => customerId);
}

const MERCHANTS_WITH_INVOICE = prepared(
  "merchants_with_invoice",
  `select m.id from merchants m where exists (select from invoices i where i.merchant_id = m.id and i.id = $1) order by m.id`,
);

/** The merchants that pushed an invoice with this id; several may have. */
export async function merchantsWithInvoice(tx: Tx, id: string): Promise<string[]> {
  return (await tx.run<{ id: string }>(MERCHANTS_WITH_INVOICE, [id])).rows.map((merchant) => merchant.id);
}

const AFTER = selectPageAfter("invoices", INVOICE_COLUMNS);

/** A page of invoices in the order of their ids, each as it is known now: see `readPageAfter`. */
export const invoicesAfter = (tx: Tx, merchantId: string, last?: Invoice) =>
  readPageAfter<Invoice>(tx, AFTER, merchantId, last);
