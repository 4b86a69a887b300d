import type { OnWithdrawn } from "../domain/event.ts";
import type { BatchResult } from "../domain/ingest.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { importTransactions, ingestSubscriptions } from "../ingest/ingest.ts";
import { importInvoices } from "../ingest/ingest-invoices.ts";
import { INVOICE_KIND } from "../ingest/invoice-record.ts";
import type { RecordKind } from "../ingest/parse-batch.ts";
import type { StoreBatches } from "../ingest/store-batches.ts";
import { SUBSCRIPTION_KIND } from "../ingest/subscription-record.ts";
import { TRANSACTION_KIND } from "../ingest/transaction-record.ts";
import type { Database } from "../postgres/database.ts";

export interface HistoryKind<Row = unknown> {
  recordKind: RecordKind<Row>;
  store(
    db: Database,
    merchant: Merchant,
    records: readonly Row[],
    ports: Ports,
    onWithdrawn: OnWithdrawn,
  ): Promise<BatchResult>;
}

const createHistoryKind = <Row>(recordKind: RecordKind<Row>, store: StoreBatches<Row>) =>
  ({
    recordKind,
    store: async (db, merchant, records, ports, onWithdrawn) =>
      (await store(db, merchant, [records], ports, onWithdrawn))[0]!,
  }) as HistoryKind<Row> as HistoryKind;

/** In the best order to import them. */
export const KIND_NAMES = ["subscriptions", "invoices", "transactions"] as const;
export type KindName = (typeof KIND_NAMES)[number];

/** Importing these opens no case. */
export const HISTORY_KIND_BY_NAME: Readonly<Record<KindName, HistoryKind>> = {
  subscriptions: createHistoryKind(SUBSCRIPTION_KIND, ingestSubscriptions),
  invoices: createHistoryKind(INVOICE_KIND, importInvoices),
  transactions: createHistoryKind(TRANSACTION_KIND, importTransactions),
};
