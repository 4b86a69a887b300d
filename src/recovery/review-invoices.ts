import type { EndReason } from "../domain/case.ts";
import { DAY_MS } from "../domain/durations.ts";
import { isInRecovery } from "../domain/invoice.ts";
import type { Tx } from "../postgres/database.ts";
import { type EndedCase, lockCasesOfInvoices, type ReviewedCase } from "../tables/cases.ts";
import type { InvoiceConflict } from "../tables/invoice-conflicts.ts";
import { findInvoices, type StoredInvoice } from "../tables/invoices.ts";
import { attemptsOnInvoices, type InvoiceAttempt } from "../tables/transactions.ts";
import { type Balance, type Conflict, computeBalance } from "./balance.ts";
import { toStoredFacts } from "./conflict-wording.ts";
import { endOfBalance } from "./ends.ts";

/** An invoice in recovery. Attempts and cases are oldest first. */
export interface InvoiceReview {
  invoice: StoredInvoice;
  balance: Balance;
  attempts: readonly InvoiceAttempt[];
  cases: readonly ReviewedCase[];
}

/**
 * Computes balances for the invoices that are in recovery. Locks their cases first: if two transactions bring two parts of a
 * payment, the later one sees both.
 *
 * @param newInvoices  invoices that this transaction stored as new, without cases
 * @param changedIds  invoices that may have cases; duplicates are ignored
 */
export async function reviewInvoices(
  tx: Tx,
  merchantId: string,
  newInvoices: readonly StoredInvoice[],
  changedIds: readonly string[],
): Promise<InvoiceReview[]> {
  const knownIds = [...new Set(changedIds)];
  if (newInvoices.length + knownIds.length === 0) return [];
  const ids = [...newInvoices.map(({ id }) => id), ...knownIds];
  const [cases, knownInvoices, attempts] = await Promise.all([
    knownIds.length === 0 ? [] : lockCasesOfInvoices(tx, merchantId, knownIds),
    knownIds.length === 0 ? null : findInvoices(tx, merchantId, knownIds),
    attemptsOnInvoices(tx, merchantId, ids),
  ]);
  const attemptsBy = Map.groupBy(attempts, ({ invoiceId }) => invoiceId);
  const casesBy = Map.groupBy(cases, ({ invoiceId }) => invoiceId);
  return [...newInvoices, ...(knownInvoices?.values() ?? [])]
    .filter(({ state }) => isInRecovery(state))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((invoice) => {
      const ownAttempts = attemptsBy.get(invoice.id) ?? [];
      return {
        invoice,
        balance: computeBalance(invoice, ownAttempts),
        attempts: ownAttempts,
        cases: casesBy.get(invoice.id) ?? [],
      };
    });
}

const isOpen = ({ endedAt }: ReviewedCase) => endedAt === null;

/** Open or ended cases whose invoices have nothing left to pay, sorted by id. */
export const findEndedByBalance = (reviewed: readonly InvoiceReview[]): EndedCase[] =>
  reviewed
    .filter(({ balance }) => balance.unpaidAmount === 0 && !balance.conflict)
    .flatMap(({ cases, balance }) => cases.map(({ id }) => ({ id, ...endOfBalance(balance), ...NO_AMOUNT })))
    .sort((a, b) => (a.id < b.id ? -1 : 1));

const NO_AMOUNT = { amount: null, currency: null };

export const toStoredConflict = (invoiceId: string, conflict: Conflict, foundAt: Date): InvoiceConflict => ({
  invoiceId,
  kind: conflict.kind,
  facts: toStoredFacts(conflict),
  foundAt,
});

export const listConflicts = (reviewed: readonly InvoiceReview[], now: Date): InvoiceConflict[] =>
  reviewed.flatMap(({ invoice, balance: { conflict } }) =>
    conflict ? [toStoredConflict(invoice.id, conflict, now)] : [],
  );

/** Open cases that wait because facts contradict each other. */
export const listWaitingCases = (reviewed: readonly InvoiceReview[]): string[] =>
  reviewed.flatMap(({ balance, cases }) => (balance.conflict ? cases.filter(isOpen).map(({ id }) => id) : []));

/** Has an open case, or one about to open. */
export interface OwedInvoice {
  invoice: StoredInvoice;
  /** Unpaid, in minor units; if the invoice is paid already, the amount unpaid before. */
  unpaidAmount: number;
  unpaidAt: Date;
}

/**
 * Includes an invoice whose payment was pushed before its unpaid version: the next step ends its case as paid, and it is counted.
 *
 * @param windowDaysOf  by the invoice's id
 * @param causingAttemptIds  ids of the attempts that led here; null: an invoice version did. After a payment, a newer version makes an
 * invoice owed again, or an attempt that failed, was voided or disputed
 */
export const findOwedInvoices = (
  reviewed: readonly InvoiceReview[],
  windowDaysOf: (invoiceId: string) => number,
  now: Date,
  causingAttemptIds: ReadonlySet<string> | null,
): OwedInvoice[] =>
  reviewed
    .filter(
      ({ balance, cases }) =>
        !balance.conflict && (balance.unpaidAmount > 0 || (balance.paidAt !== null && cases.length === 0)),
    )
    .flatMap(({ invoice, balance, attempts, cases }) => {
      const openCase = cases.find(isOpen);
      const unpaidAt = openCase
        ? openCase.unpaidAt
        : findUnpaidSince(invoice, attempts, cases.at(-1), windowDaysOf(invoice.id) * DAY_MS, now, causingAttemptIds);
      return unpaidAt ? [{ invoice, unpaidAmount: balance.unpaidAmount || invoice.amount, unpaidAt }] : [];
    });

/** The invoice left recovery by these, even if no version reports it. */
const ENDED_BY_BALANCE: readonly (EndReason | null)[] = ["paid", "settled"];

/** Null if no case opens. See decision record 52. */
function findUnpaidSince(
  { unpaidSince, updatedAt }: StoredInvoice,
  attempts: readonly InvoiceAttempt[],
  lastCase: ReviewedCase | undefined,
  windowMs: number,
  now: Date,
  causingAttemptIds: ReadonlySet<string> | null,
): Date | null {
  const isInWindow = (at: Date) => at.getTime() + windowMs > now.getTime();
  const since = unpaidSince ?? updatedAt;
  if (lastCase && ENDED_BY_BALANCE.includes(lastCase.endReason) && lastCase.unpaidAt >= since) {
    // The invoice was paid and is owed again. The attempt that shows this begins its own window.
    const failedAttempts = attempts.filter(
      ({ id, state }) =>
        causingAttemptIds?.has(id) && (state === "FAILED" || state === "VOIDED" || state === "DISPUTED"),
    );
    const at = causingAttemptIds ? latestOf(failedAttempts.map((t) => t.updatedAt)) : updatedAt;
    return at && isInWindow(at) ? at : null;
  }
  if (isInWindow(since)) return since;
  const lastAttemptAt = latestOf(attempts.map((t) => t.createdAt));
  return lastAttemptAt && isInWindow(lastAttemptAt) ? lastAttemptAt : null;
}

const latestOf = (dates: readonly Date[]): Date | null =>
  dates.length === 0 ? null : new Date(Math.max(...dates.map((date) => date.getTime())));
