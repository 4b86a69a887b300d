import { INVOICE_STATES, type Invoice, inRecovery } from "../domain/invoice.ts";
import type { Arranged } from "./arrange.ts";
import { type Column, insertNew, selectList, upsertText, withoutNulls } from "./batch.ts";
import { prepared, sqlState, type Tx } from "./database.ts";
import { type Packed, placesWith } from "./packed.ts";

export const INVOICE_COLUMNS: readonly Column<Invoice>[] = [
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

const INSERT_NEW = insertNew("invoices", INVOICE_COLUMNS);
const UNIQUE_VIOLATION = "23505";

/**
 * Store these if not one of them is known; otherwise nothing is done. Throws what `isOvertaken` knows when another batch brings one of them meanwhile.
 *
 * @returns whether they are stored
 */
export async function insertNewInvoices(tx: Tx, merchantId: string, invoices: Arranged<Invoice>): Promise<boolean> {
  return (await tx.run(INSERT_NEW, [merchantId, ...invoices.arrays])).rowCount > 0;
}

/** Whether what was to be stored as new is known meanwhile. */
export const isOvertaken = (error: unknown) =>
  sqlState(error) === UNIQUE_VIOLATION && (error as { table?: string }).table === "invoices";

const RECOVERY_STATES = INVOICE_STATES.filter(inRecovery);
const IN_RECOVERY = `state in (${RECOVERY_STATES.map((state) => `'${state}'`).join(", ")})`;

const RECOVERY_TEXTS = RECOVERY_STATES.map((state) => Buffer.from(state));
/** The places of those in recovery. */
export const placesInRecovery = (invoices: Packed<Invoice>) => placesWith(invoices, "state", RECOVERY_TEXTS);

const ids = (condition: string) => `coalesce(json_agg(id) filter (where ${condition}), '[]')`;

// One row: the client reads it in a third of the time that 200 take. The cases of what left recovery are looked up here, where it takes a probe of an
// index for each, since few have one: the subquery can't be flattened, so that they are never all read.
const UPSERT = prepared(
  "upsert_invoices",
  `with changed as (
     ${upsertText("invoices", INVOICE_COLUMNS, "id, state, amount, currency, updated_at, (xmax = 0) as inserted")}
   ), ended as (
     select k.id as "caseId", c.state, c.amount, c.currency, c.updated_at as "updatedAt"
     from changed c
     cross join lateral (
       select id from cases where merchant_id = $1 and invoice_id = c.id and unpaid_at <= c.updated_at offset 0
     ) k
     where not c.inserted and not c.${IN_RECOVERY}
   )
   select ${ids(`inserted and ${IN_RECOVERY}`)} as unpaid, ${ids(`not inserted and ${IN_RECOVERY}`)} as "unpaidAgain",
     (select coalesce(json_agg(ended order by "caseId"), '[]') from ended) as ended,
     case when count(*) < cardinality($2::text[])
       then (select json_agg(k.id) from unnest($2::text[]) as k (id) where k.id not in (select id from changed)) end as known
   from changed`,
);

/** What an upsert of invoices changed. */
export interface ChangedInvoices {
  /** The ids of those that are new and in recovery. */
  unpaid: string[];
  /** The ids of those that were known in an older copy and are in recovery. */
  unpaidAgain: string[];
  /** Of those that were known in an older copy and are not in recovery: each case that began before this copy was written, sorted by its id. */
  ended: EndedInvoice[];
  /** The ids of those that were known in this copy or a newer one; null: none was. */
  known: string[] | null;
}

/** A case, and what the copy of its invoice says that is not in recovery. */
export interface EndedInvoice extends Pick<Invoice, "state" | "amount" | "currency" | "updatedAt"> {
  caseId: string;
}

/** Keep the newer copy of each. */
export async function upsertInvoices(tx: Tx, merchantId: string, invoices: Arranged<Invoice>) {
  const changed = (await tx.run<ChangedInvoices>(UPSERT, [merchantId, ...invoices.arrays])).rows[0]!;
  for (const each of changed.ended) each.updatedAt = new Date(each.updatedAt);
  return changed;
}

const FIND = prepared(
  "find_invoices",
  `select ${selectList(INVOICE_COLUMNS)}
   from invoices where merchant_id = $1 and id = any($2::text[])`,
);

/** The invoices with these ids, as they are known now. */
export async function findInvoices(tx: Tx, merchantId: string, ids: readonly string[]) {
  const { rows } = await tx.run<Invoice>(FIND, [merchantId, ids]);
  return new Map(rows.map((invoice) => [invoice.id, withoutNulls(invoice)]));
}
