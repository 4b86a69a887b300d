import { toActionJson } from "../actions-api/action-json.ts";
import { INVOICE_KIND } from "../ingest/invoice-record.ts";
import type { RecordKind } from "../ingest/parse-batch.ts";
import { toRecordJson } from "../ingest/record-json.ts";
import { SUBSCRIPTION_KIND } from "../ingest/subscription-record.ts";
import { TRANSACTION_KIND } from "../ingest/transaction-record.ts";
import type { Tx } from "../postgres/database.ts";
import { type ListedAction, readFirstPage, readPageAfter } from "../tables/actions-list/action-list.ts";
import { decisionsAfter, type InvoiceDecision } from "../tables/decisions.ts";
import { invoicesAfter } from "../tables/invoices.ts";
import { subscriptionsAfter } from "../tables/subscriptions.ts";
import { transactionsAfter } from "../tables/transactions.ts";
import { KIND_NAMES } from "./record-kinds.ts";

/** The first three can be imported again. */
export const EXPORT_NAMES = [...KIND_NAMES, "actions", "decisions"] as const;
type ExportName = (typeof EXPORT_NAMES)[number];

/** By page, for JSON.stringify. */
type PageReader = (tx: Tx, merchantId: string) => AsyncGenerator<object[]>;

/** @param after  reads the page after a row, or the first page; an empty page ends the export */
async function* readPages<Row>(after: (last?: Row) => Promise<Row[]>, toJson: (row: Row) => object) {
  for (let page = await after(); page.length > 0; page = await after(page.at(-1))) yield page.map(toJson);
}

const recordPages =
  <Row extends object>(
    kind: RecordKind<Row>,
    after: (tx: Tx, merchantId: string, last?: Row) => Promise<Row[]>,
  ): PageReader =>
  (tx, merchantId) =>
    readPages(
      (last?: Row) => after(tx, merchantId, last),
      (record) => toRecordJson(kind, record),
    );

const OLDEST_FIRST = { filters: {}, orderBy: "created_at", descending: false } as const;
const ACTIONS_PAGE = 1_000;

const actions: PageReader = (tx, merchantId) => {
  let total = 0;
  return readPages(async (last?: ListedAction) => {
    if (last) {
      const cursor = { at: last.cursorAt, id: last.id };
      return readPageAfter(tx, merchantId, OLDEST_FIRST, cursor, total, ACTIONS_PAGE);
    }
    const first = await readFirstPage(tx, merchantId, OLDEST_FIRST, ACTIONS_PAGE);
    total = first.total;
    return first.actions;
  }, toActionJson);
};

const decisions: PageReader = (tx, merchantId) =>
  readPages(
    (last?: InvoiceDecision) => decisionsAfter(tx, merchantId, last),
    (decision) => decision,
  );

/**
 * Each page has its own statement: a single snapshot would keep PostgreSQL from vacuuming while a slow client reads. Rows stored
 * before the export appear exactly once, in that version or a newer one; rows stored meanwhile may appear.
 */
export const PAGES_BY_EXPORT: Readonly<Record<ExportName, PageReader>> = {
  subscriptions: recordPages(SUBSCRIPTION_KIND, subscriptionsAfter),
  invoices: recordPages(INVOICE_KIND, invoicesAfter),
  transactions: recordPages(TRANSACTION_KIND, transactionsAfter),
  actions,
  decisions,
};
