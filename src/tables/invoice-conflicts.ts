import { arrayParameters, type Column, columnValues, selectList } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export interface InvoiceConflict {
  invoiceId: string;
  /** paid_but_unpaid, two_currencies or paid_too_much */
  kind: string;
  /** Amounts in minor units, and dates in ISO 8601. */
  facts: Readonly<Record<string, unknown>>;
  foundAt: Date;
}

interface Row extends Omit<InvoiceConflict, "facts"> {
  facts: string;
}

const COLUMNS: readonly Column<Row>[] = [
  ["invoice_id", "text", "invoiceId"],
  ["kind", "text", "kind"],
  ["facts", "jsonb", "facts"],
  ["found_at", "timestamptz", "foundAt"],
];
const NAMES = COLUMNS.map(([name]) => name).join(", ");

const SAVE = prepared(
  "save_invoice_conflicts",
  `insert into invoice_conflicts (merchant_id, ${NAMES})
   select $1::uuid, * from unnest(${arrayParameters(COLUMNS, 2)})
   on conflict (merchant_id, invoice_id) do update set kind = excluded.kind, facts = excluded.facts
   where (invoice_conflicts.kind, invoice_conflicts.facts) is distinct from (excluded.kind, excluded.facts)`,
);

/**
 * A known conflict keeps its date.
 *
 * @param conflicts  sorted by invoice, without duplicates
 */
export async function saveConflicts(tx: Tx, merchantId: string, conflicts: readonly InvoiceConflict[]) {
  const rows = conflicts.map((conflict) => ({ ...conflict, facts: JSON.stringify(conflict.facts) }));
  await tx.run(SAVE, [merchantId, ...columnValues(rows, COLUMNS)]);
}

const CLEAR = prepared(
  "clear_invoice_conflicts",
  "delete from invoice_conflicts where merchant_id = $1 and invoice_id = any($2::text[])",
);

export async function clearConflicts(tx: Tx, merchantId: string, invoiceIds: readonly string[]) {
  await tx.run(CLEAR, [merchantId, encodeTextArray(invoiceIds, "text")]);
}

const OF_INVOICES = prepared(
  "invoice_conflicts_of",
  `select ${selectList(COLUMNS)} from invoice_conflicts where merchant_id = $1 and invoice_id = any($2::text[])`,
);

/** By invoice. */
export async function conflictsOf(tx: Tx, merchantId: string, invoiceIds: readonly string[]) {
  const { rows } = await tx.run<InvoiceConflict>(OF_INVOICES, [merchantId, encodeTextArray(invoiceIds, "text")]);
  return new Map(rows.map((conflict) => [conflict.invoiceId, conflict]));
}

const LIST = prepared(
  "list_invoice_conflicts",
  `select ${selectList(COLUMNS)}, count(*) over () as total
   from invoice_conflicts where merchant_id = $1 order by found_at desc, invoice_id limit $2`,
);

/** Newest first. */
export async function listConflicts(tx: Tx, merchantId: string, limit: number) {
  const { rows } = await tx.run<InvoiceConflict & { total: number }>(LIST, [merchantId, limit]);
  return { total: rows[0]?.total ?? 0, conflicts: rows };
}
