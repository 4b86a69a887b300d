import { DAY_MS } from "../domain/durations.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { blocksCard } from "../engine/rules/guard.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { declineCodesOf, instrumentOf } from "../recovery/build-decision-facts.ts";
import { INVOICE_HISTORY_MS } from "../recovery/load-cases.ts";
import { lockCasesOfInvoices } from "../tables/cases.ts";
import { deleteCaseContents, deleteInvoices } from "../tables/erasure.ts";
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
import { deleteCases } from "../tables/recovery-sums.ts";
import { latestDeclinesBefore, type TransactionFacts, transactionsForCases } from "../tables/transactions.ts";

/** Days from the end of a record to its deletion; null: never. */
export interface RetentionDays {
  invoices: number | null;
  subscriptions: number | null;
  audit: number | null;
}

export interface RetentionRun {
  db: Database;
  /** Owns the tables, and can delete from the audit log. */
  owner: Database;
  ports: Pick<Ports, "now">;
  keep: RetentionDays;
}

export interface DeletedCounts {
  invoices: number;
  cases: number;
  subscriptions: number;
  auditEntries: number;
}

const ROWS_SCANNED_PER_BATCH = 1_000;
const INVOICES_DELETED_PER_BATCH = 100;
/** Outcomes of retries may be reported this long after the window. */
const LATE_OUTCOME_MS = 14 * DAY_MS;

/** Deletes old records in one pass. The caller can stop after each transaction. */
export async function* deleteExpired(run: RetentionRun): AsyncGenerator<Partial<DeletedCounts>> {
  const { db, owner, ports, keep } = run;
  for (const merchant of await listMerchants(db)) {
    const cutoff = (days: number) => retentionCutoff(merchant, days, ports.now());
    if (keep.invoices !== null) yield* deleteExpiredInvoices(run, merchant.id, cutoff(keep.invoices));
    for (let after: string | null = ""; keep.subscriptions !== null && after !== null; ) {
      const page = await deleteOldSubscriptions(
        db,
        merchant.id,
        after,
        cutoff(keep.subscriptions),
        ROWS_SCANNED_PER_BATCH,
      );
      yield { subscriptions: page.deleted };
      after = page.last;
    }
    for (let hasMore = keep.audit !== null; hasMore; ) {
      const before = new Date(ports.now().getTime() - keep.audit! * DAY_MS);
      const auditEntries = await owner.transaction((tx) =>
        deleteOldAuditEntries(tx, merchant.id, before, ROWS_SCANNED_PER_BATCH),
      );
      yield { auditEntries };
      hasMore = auditEntries === ROWS_SCANNED_PER_BATCH;
    }
  }
}

/**
 * However short the setting, invoices stay that a case could still need: its own, for the whole window, and the history before
 * it.
 */
function retentionCutoff({ windowDays }: Merchant, days: number, now: Date): Date {
  return new Date(now.getTime() - Math.max(days * DAY_MS, INVOICE_HISTORY_MS + windowDays * DAY_MS + LATE_OUTCOME_MS));
}

async function* deleteExpiredInvoices(
  { db, ports }: RetentionRun,
  merchantId: string,
  cutoff: Date,
): AsyncGenerator<Partial<DeletedCounts>> {
  for (let after: string | null = ""; after !== null; ) {
    const page = await readExpiredInvoicePage(db, merchantId, after, cutoff, ROWS_SCANNED_PER_BATCH);
    if (page.ids.length === 0) yield {};
    for (let from = 0; from < page.ids.length; from += INVOICES_DELETED_PER_BATCH) {
      const ids = page.ids.slice(from, from + INVOICES_DELETED_PER_BATCH);
      yield await db.transaction((tx) => deleteIfExpired(tx, merchantId, ids, cutoff, ports.now()));
    }
    after = page.last;
  }
}

/** Checks again under a lock. */
async function deleteIfExpired(tx: Tx, merchantId: string, ids: readonly string[], cutoff: Date, now: Date) {
  await lockExpiredInvoices(tx, merchantId, ids);
  const cases = await lockCasesOfInvoices(tx, merchantId, ids);
  const expired = await recheckExpiredInvoices(tx, merchantId, ids, cutoff);
  const expiredIds = expired.map(({ id }) => id);
  // Without their cases and payments, a new version or attempt of an unpaid invoice would restart its recovery, even for money
  // already paid.
  const keptInvoices = expired.filter(({ isOwed }) => isOwed).map(({ id }) => id);
  const expiredCases = cases.filter(({ invoiceId }) => expiredIds.includes(invoiceId));
  const deletedCaseIds = expiredCases.filter(({ invoiceId }) => !keptInvoices.includes(invoiceId)).map(({ id }) => id);
  if (expiredCases.length > 0) {
    await advanceMerchantClock(tx, merchantId, now);
    await deleteCaseContents(
      tx,
      merchantId,
      expiredCases.map(({ id }) => id),
    );
    await deleteCases(tx, merchantId, deletedCaseIds);
  }
  const transactions = [
    ...(await loadBlockingAttempts(tx, merchantId, expiredIds, now)),
    ...(await paymentsOn(tx, merchantId, keptInvoices)),
  ];
  await deleteInvoices(tx, merchantId, expiredIds, { invoices: keptInvoices, transactions });
  return { invoices: expiredIds.length - keptInvoices.length, cases: deletedCaseIds.length };
}

/**
 * Returns the attempts, of any age, that decide whether an instrument may be charged. Disputes and declines block it; payments
 * unblock it.
 */
async function loadBlockingAttempts(tx: Tx, merchantId: string, invoiceIds: readonly string[], now: Date) {
  const attempts = await transactionsForCases(tx, merchantId, invoiceIds, [], now);
  const payments = attempts.filter(({ state }) => state === "PAID" || state === "REFUNDED");
  const [cards, methods] = [distinctValues(payments, "cardFingerprint"), distinctValues(payments, "paymentMethodId")];
  const declines = await latestDeclinesBefore(tx, merchantId, cards, now);
  const disputes = await disputedInstruments(tx, merchantId, cards, methods);
  const blockedCards = new Set([
    ...declines.filter(isBlocking).map((t) => t.cardFingerprint),
    ...disputes.map(({ card }) => card),
  ]);
  const disputedMethods = new Set(disputes.map(({ method }) => method));
  const isRelevant = (t: TransactionFacts) =>
    blockedCards.has(t.cardFingerprint ?? "?") || disputedMethods.has(t.paymentMethodId ?? "?");
  return [...attempts.filter(isBlocking), ...payments.filter(isRelevant)].map(({ id }) => id);
}

const isBlocking = (t: TransactionFacts) =>
  t.state === "DISPUTED" || (t.state === "FAILED" && blocksCard(declineCodesOf(t), instrumentOf(t)));

const distinctValues = (attempts: readonly TransactionFacts[], field: "cardFingerprint" | "paymentMethodId") => [
  ...new Set(attempts.flatMap((t) => t[field] ?? [])),
];
