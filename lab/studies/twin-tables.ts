// An invoice batch's rows, for COPY into tables with the same definition.
import { randomUUID } from "node:crypto";
import { type Invoice, isInRecovery } from "../../src/domain/invoice.ts";

const WINDOW_MS = 28 * 86_400_000;
const BUDGET = 8;

interface TwinTable {
  original: string;
  columns: string;
  /** Without their merchant. */
  rows(invoice: Invoice, caseId: string): unknown[][];
}

const rowIfInRecovery = (invoice: Invoice, row: () => unknown[]) => (isInRecovery(invoice.state) ? [row()] : []);
const TWIN_TABLES: readonly TwinTable[] = [
  {
    original: "invoices",
    columns: "id, state, customer_id, subscription_id, business_entity, amount, currency, created_at, updated_at",
    rows: ({ id, state, customerId, subscriptionId, amount, currency, createdAt, updatedAt }) => [
      [id, state, customerId, subscriptionId, null, amount, currency, createdAt, updatedAt],
    ],
  },
  {
    original: "cases",
    columns:
      "id, invoice_id, customer_id, subscription_id, amount, currency, unpaid_at, window_ends_at, budget, arm, opened_at",
    rows: (invoice, caseId) =>
      rowIfInRecovery(invoice, () => {
        const { id, customerId, subscriptionId, amount, currency, updatedAt } = invoice;
        const windowEndsAt = new Date(updatedAt.getTime() + WINDOW_MS);
        return [
          caseId,
          id,
          customerId,
          subscriptionId,
          amount,
          currency,
          updatedAt,
          windowEndsAt,
          BUDGET,
          "dunlin",
          updatedAt,
        ];
      }),
  },
  {
    original: "due_cases",
    columns: "case_id, due_at",
    rows: (invoice, caseId) => rowIfInRecovery(invoice, () => [caseId, invoice.updatedAt]),
  },
];

const twinTableName = ({ original }: TwinTable) => `bench_${original}`;
export const CREATE_TWINS = TWIN_TABLES.map(
  (twin) => `create table ${twinTableName(twin)} (like ${twin.original} including all)`,
);

export interface CopyTransaction {
  sql: string;
  data: Buffer[];
}

/** In one transaction. */
export function buildCopy(invoices: readonly Invoice[], merchantId: string): CopyTransaction {
  const withCases = invoices.map((invoice) => ({ invoice, caseId: randomUUID() }));
  const copies = TWIN_TABLES.map((twin) => ({
    sql: `copy ${twinTableName(twin)} (merchant_id, ${twin.columns}) from stdin`,
    text: withCases
      .flatMap(({ invoice, caseId }) => twin.rows(invoice, caseId))
      .map((row) => `${[merchantId, ...row.map(formatCopyValue)].join("\t")}\n`)
      .join(""),
  })).filter(({ text }) => text !== "");
  return { sql: copies.map(({ sql }) => sql).join("; "), data: copies.map(({ text }) => Buffer.from(text)) };
}

function formatCopyValue(value: unknown) {
  if (value === null || value === undefined) return "\\N";
  return value instanceof Date ? value.toISOString() : String(value);
}
