import type { Invoice } from "../domain/invoice.ts";
import { type Changed, type Column, columnValues, selectList, upsertNewer, withoutNulls } from "./batch.ts";
import { prepared, type Tx } from "./database.ts";

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

const UPSERT = upsertNewer("invoices", COLUMNS);

/** Keep the newer copy of each; returns those that changed. `invoices`: sorted by id, no id twice. */
export async function upsertInvoices(tx: Tx, merchantId: string, invoices: readonly Invoice[]) {
  return (await tx.run<Changed>(UPSERT, [merchantId, ...columnValues(invoices, COLUMNS)])).rows;
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
