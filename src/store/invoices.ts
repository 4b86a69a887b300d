import { INVOICE_STATES, type Invoice, inRecovery } from "../domain/invoice.ts";
import { type Column, columnValues, insertNew, selectList, upsertText, withoutNulls } from "./batch.ts";
import { prepared, sqlState, type Tx } from "./database.ts";

const COLUMNS: readonly Column<Invoice>[] = [
  ["id", "text", "id"],
  ["state", "text", "state"],
  ["customer_id", "text", "customerId"],
  ["subscription_id", "text", "subscriptionId"],
  ["business_entity", "text", "businessEntity"],
  ["amount", "int8", "amount"],
  ["currency", "text", "currency"],
  ["created_at", "timestamptz", "createdAt"],
  ["updated_at", "timestamptz", "updatedAt"],
];

const INSERT_NEW = insertNew("invoices", COLUMNS);
const UNIQUE_VIOLATION = "23505";

/**
 * Store these if not one of them is known; otherwise nothing is done. Throws what `isOvertaken` knows when another batch brings one of them meanwhile.
 *
 * @param invoices  sorted by id, no id twice
 * @returns whether they are stored
 */
export async function insertNewInvoices(tx: Tx, merchantId: string, invoices: readonly Invoice[]): Promise<boolean> {
  return (await tx.run(INSERT_NEW, [merchantId, ...columnValues(invoices, COLUMNS)])).rowCount > 0;
}

/** Whether what was to be stored as new is known meanwhile. */
export const isOvertaken = (error: unknown) =>
  sqlState(error) === UNIQUE_VIOLATION && (error as { table?: string }).table === "invoices";

const RECOVERY_STATES = INVOICE_STATES.filter(inRecovery)
  .map((state) => `'${state}'`)
  .join(", ");

const ids = (condition: string) => `coalesce(json_agg(id) filter (where ${condition}), '[]')`;

// One row: the client reads it in a third of the time that 200 take.
const UPSERT = prepared(
  "upsert_invoices",
  `with changed as (${upsertText("invoices", COLUMNS, "id, state, (xmax = 0) as inserted")})
   select ${ids("not inserted")} as newer, ${ids(`inserted and state in (${RECOVERY_STATES})`)} as unpaid,
     case when count(*) < cardinality($2::text[])
       then (select json_agg(k.id) from unnest($2::text[]) as k (id) where k.id not in (select id from changed)) end as known
   from changed`,
);

/** What an upsert of invoices changed. */
export interface ChangedInvoices {
  /** The ids of those that were known in an older copy, sorted. */
  newer: string[];
  /** The ids of those that are new and in recovery, sorted. */
  unpaid: string[];
  /** The ids of those that were known in this copy or a newer one; null: none was. */
  known: string[] | null;
}

/** Keep the newer copy of each. `invoices`: sorted by id, no id twice. */
export async function upsertInvoices(tx: Tx, merchantId: string, invoices: readonly Invoice[]) {
  return (await tx.run<ChangedInvoices>(UPSERT, [merchantId, ...columnValues(invoices, COLUMNS)])).rows[0]!;
}

const FIND = prepared(
  "find_invoices",
  `select ${selectList(COLUMNS)}
   from invoices where merchant_id = $1 and id = any($2::text[])`,
);

/** The invoices with these ids, as they are known now. */
export async function findInvoices(tx: Tx, merchantId: string, ids: readonly string[]) {
  const { rows } = await tx.run<Invoice>(FIND, [merchantId, ids]);
  return new Map(rows.map((invoice) => [invoice.id, withoutNulls(invoice)]));
}
