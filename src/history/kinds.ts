import type { RecordKind } from "../api/ingest/batch.ts";
import { INVOICES } from "../api/ingest/invoice.ts";
import { SUBSCRIPTIONS } from "../api/ingest/subscription.ts";
import { TRANSACTIONS } from "../api/ingest/transaction.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { importTransactions, ingestSubscriptions } from "../recovery/ingest.ts";
import { importInvoices } from "../recovery/ingest-invoices.ts";
import type { OnWithdrawn, StoreBatches, Stored } from "../recovery/stored.ts";
import type { Database } from "../store/database.ts";

/** A kind of records, and how a batch is stored, all of it or none. */
export interface HistoryKind<Row = unknown> {
  kind: RecordKind<Row>;
  store(
    db: Database,
    merchant: Merchant,
    records: readonly Row[],
    ports: Ports,
    onWithdrawn: OnWithdrawn,
  ): Promise<Stored>;
}

const historyKind = <Row>(kind: RecordKind<Row>, store: StoreBatches<Row>) =>
  ({
    kind,
    store: async (db, merchant, records, ports, onWithdrawn) =>
      (await store(db, merchant, [records], ports, onWithdrawn))[0]!,
  }) as HistoryKind<Row> as HistoryKind;

/** In the order in which they are best imported. */
export const KIND_NAMES = ["subscriptions", "invoices", "transactions"] as const;
export type KindName = (typeof KIND_NAMES)[number];

/** What a history is made of. Nothing of it opens a case. */
export const HISTORY_KINDS: Readonly<Record<KindName, HistoryKind>> = {
  subscriptions: historyKind(SUBSCRIPTIONS, ingestSubscriptions),
  invoices: historyKind(INVOICES, importInvoices),
  transactions: historyKind(TRANSACTIONS, importTransactions),
};
