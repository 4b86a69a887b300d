import { DAY_MS } from "../domain/durations.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { blocksCard } from "../engine/rules/guard.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { declineCodesOf, instrumentOf } from "../recovery/build-decision-facts.ts";
import { INVOICE_HISTORY_MS } from "../recovery/load-cases.ts";
import { lockCasesOfInvoices } from "../tables/cases.ts";
import { deleteCaseContents, deleteCases, deleteInvoices } from "../tables/erasure.ts";
import {
  deleteOldAuditEntries,
  deleteOldSubscriptions,
  disputedInstruments,
  lockExpiredInvoices,
  paymentsOn,
  readExpiredInvoicePage,
  recheckExpiredInvoices,
} from "../tables/expired-records.ts";
import { advanceMerchantClock } from "../tables/merchant-clocks.ts";
import { listMerchants } from "../tables/merchants.ts";
import { latestDeclinesBefore, type TransactionFacts, transactionsForCases } from "../tables/transactions.ts";

/** How many days records are kept after their end; null: forever. */
export interface RetentionDays {
  invoices: number | null;
  subscriptions: number | null;
  audit: number | null;
}

export interface RetentionRun {
  db: Database;
  /** The owner of the tables, for the audit log. */
  owner: Database;
  ports: Pick<Ports, "now">;
  keep: RetentionDays;
}

/** Numbers of deleted records. */
export interface DeletedCounts {
  invoices: number;
  cases: number;
  subscriptions: number;
  auditEntries: number;
}

/** Rows that are looked at, and invoices that are deleted, in one transaction. */
const ROWS_SCANNED_PER_BATCH = 1_000;
const INVOICES_DELETED_PER_BATCH = 100;
/** The outcome of a retry can be reported this long after its window. */
const LATE_OUTCOME_MS = 14 * DAY_MS;

/** Goes through all records once and deletes the old ones. Yields after each transaction, so that the caller can stop there. */
export async function* deleteExpired(retaining: RetentionRun): AsyncGenerator<Partial<DeletedCounts>> {
  const { db, owner, ports, keep } = retaining;
  for (const merchant of await listMerchants(db)) {
    const until = (days: number) => retentionCutoff(merchant, days, ports.now());
    if (keep.invoices !== null) yield* deleteExpiredInvoices(retaining, merchant.id, until(keep.invoices));
    for (let after: string | null = ""; keep.subscriptions !== null && after !== null; ) {
      const page = await deleteOldSubscriptions(
        db,
        merchant.id,
        after,
        until(keep.subscriptions),
        ROWS_SCANNED_PER_BATCH,
      );
      yield { subscriptions: page.deleted };
      after = page.last;
    }
    for (let isMore = keep.audit !== null; isMore; ) {
      const before = new Date(ports.now().getTime() - keep.audit! * DAY_MS);
      const auditEntries = await owner.transaction((tx) =>
        deleteOldAuditEntries(tx, merchant.id, before, ROWS_SCANNED_PER_BATCH),
      );
      yield { auditEntries };
      isMore = auditEntries === ROWS_SCANNED_PER_BATCH;
    }
  }
}

/** The engine reads invoices from before a case, which can last for its whole window. So they stay, however few days the setting says. */
function retentionCutoff({ windowDays }: Merchant, days: number, now: Date): Date {
  return new Date(now.getTime() - Math.max(days * DAY_MS, INVOICE_HISTORY_MS + windowDays * DAY_MS + LATE_OUTCOME_MS));
}

async function* deleteExpiredInvoices(
  { db, ports }: RetentionRun,
  merchantId: string,
  until: Date,
): AsyncGenerator<Partial<DeletedCounts>> {
  for (let after: string | null = ""; after !== null; ) {
    const page = await readExpiredInvoicePage(db, merchantId, after, until, ROWS_SCANNED_PER_BATCH);
    if (page.ids.length === 0) yield {};
    for (let from = 0; from < page.ids.length; from += INVOICES_DELETED_PER_BATCH) {
      const ids = page.ids.slice(from, from + INVOICES_DELETED_PER_BATCH);
      yield await db.transaction((tx) => deleteIfExpired(tx, merchantId, ids, until, ports.now()));
    }
    after = page.last;
  }
}

/** Checks them again under a lock, then deletes them. */
async function deleteIfExpired(tx: Tx, merchantId: string, ids: readonly string[], until: Date, now: Date) {
  await lockExpiredInvoices(tx, merchantId, ids);
  const cases = await lockCasesOfInvoices(tx, merchantId, ids);
  const old = await recheckExpiredInvoices(tx, merchantId, ids, until);
  const oldIds = old.map(({ id }) => id);
  // Without its cases and payments, the next version or attempt of an unpaid invoice would start its recovery again, for money that was paid.
  const invoices = old.filter(({ isOwed }) => isOwed).map(({ id }) => id);
  const oldCases = cases.filter(({ invoiceId }) => oldIds.includes(invoiceId));
  const gone = oldCases.filter(({ invoiceId }) => !invoices.includes(invoiceId)).map(({ id }) => id);
  if (oldCases.length > 0) {
    await advanceMerchantClock(tx, merchantId, now);
    await deleteCaseContents(
      tx,
      merchantId,
      oldCases.map(({ id }) => id),
    );
    await deleteCases(tx, merchantId, gone);
  }
  const transactions = [
    ...(await loadBlockingAttempts(tx, merchantId, oldIds, now)),
    ...(await paymentsOn(tx, merchantId, invoices)),
  ];
  await deleteInvoices(tx, merchantId, oldIds, { invoices, transactions });
  return { invoices: oldIds.length - invoices.length, cases: gone.length };
}

/** Returns the attempts that decide whether an instrument may be charged, of any age: disputes and declines that block it, and payments that clear it. */
async function loadBlockingAttempts(tx: Tx, merchantId: string, invoiceIds: readonly string[], now: Date) {
  const attempts = await transactionsForCases(tx, merchantId, invoiceIds, [], now);
  const clearing = attempts.filter(({ state }) => state === "PAID" || state === "REFUNDED");
  const [cards, methods] = [distinctValues(clearing, "cardFingerprint"), distinctValues(clearing, "paymentMethodId")];
  const declines = await latestDeclinesBefore(tx, merchantId, cards, now);
  const disputes = await disputedInstruments(tx, merchantId, cards, methods);
  const barred = new Set([
    ...declines.filter(isBlocking).map((t) => t.cardFingerprint),
    ...disputes.map(({ card }) => card),
  ]);
  const disputed = new Set(disputes.map(({ method }) => method));
  const clears = (t: TransactionFacts) =>
    barred.has(t.cardFingerprint ?? "?") || disputed.has(t.paymentMethodId ?? "?");
  return [...attempts.filter(isBlocking), ...clearing.filter(clears)].map(({ id }) => id);
}

const isBlocking = (t: TransactionFacts) =>
  t.state === "DISPUTED" || (t.state === "FAILED" && blocksCard(declineCodesOf(t), instrumentOf(t)));

const distinctValues = (attempts: readonly TransactionFacts[], field: "cardFingerprint" | "paymentMethodId") => [
  ...new Set(attempts.flatMap((t) => t[field] ?? [])),
];
