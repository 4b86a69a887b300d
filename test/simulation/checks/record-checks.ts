import { isDeepStrictEqual } from "node:util";
import type { Invoice } from "../../../src/domain/invoice.ts";
import type { Transaction } from "../../../src/domain/transaction.ts";
import type { StoredInvoice } from "../../../src/tables/invoices.ts";
import { latestAcknowledged, recordViolation } from "../journal.ts";
import type { SimulatedYear } from "../simulate-year.ts";

/** Checks I1: every acknowledged record is stored, in its newest acknowledged version. */
export function checkAcknowledgedIsStored({ journal, books }: SimulatedYear) {
  for (const copies of journal.copies.values()) {
    const { kind, record } = copies[0]!;
    const newest = latestAcknowledged(journal, kind, record.id);
    if (newest === null) continue;
    const stored = books.records[kind].get(record.id);
    const invoiceId = (record as Transaction).invoiceId ?? record.id;
    if (!stored) recordViolation(journal, "I1", `${kind} ${record.id} was acknowledged and is not stored`, invoiceId);
    else if (stored.updatedAt < newest.record.updatedAt)
      recordViolation(
        journal,
        "I1",
        `${kind} ${record.id} is stored in an older form than was acknowledged`,
        invoiceId,
      );
    // A version newer than the acknowledged one was pushed too, but its acknowledgement was lost.
    else if (!copies.some((copy) => isDeepStrictEqual(omitUnset(copy.record), omitUnset(toPushedForm(stored)))))
      recordViolation(journal, "I1", `${kind} ${record.id} is stored in a version that was never sent`, invoiceId);
  }
}

/** A partly paid invoice that named the rest is stored with its earlier total. */
function toPushedForm(stored: object): object {
  const { unpaidSince: _, ...pushed } = stored as StoredInvoice;
  const { amountDue, ...rest } = pushed;
  return rest.state === "PARTIALLY_PAID" && amountDue !== undefined ? { ...rest, amount: amountDue } : pushed;
}

const omitUnset = (record: object) =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));

/** Checks that every case ends, in accordance with the merchant's books, and that every invoice that stayed unpaid had a case. */
export function checkCaseEnds({ journal, books }: SimulatedYear) {
  for (const { invoiceId, endedAt, endReason, dueAt } of books.cases) {
    if (endedAt === null) recordViolation(journal, "settled", "the case never ended", invoiceId);
    if (dueAt !== null) recordViolation(journal, "settled", "the case still wants a look", invoiceId);
    const { state } = books.records.invoices.get(invoiceId) as Invoice;
    if (endReason === "paid" && state !== "PAID")
      recordViolation(journal, "settled", "the case ended as paid", invoiceId);
  }
}

/** Checks that an action's outcome is the outcome of the attempt that names it. */
export function checkOutcomes({ journal, books, scenario }: SimulatedYear) {
  if (!scenario.pushTransactions) return;
  const actions = new Map(books.actions.map((action) => [action.id, action]));
  const stillPaid = new Map<string, Date[]>();
  for (const stored of books.records.transactions.values()) {
    const { recoveryActionId, initiator, state, invoiceId, createdAt } = stored as Transaction;
    if (state === "PAID" && recoveryActionId === undefined && initiator !== "CUSTOMER")
      stillPaid.set(invoiceId, [...(stillPaid.get(invoiceId) ?? []), createdAt]);
  }
  for (const stored of books.records.transactions.values()) {
    const { recoveryActionId, state, invoiceId } = stored as Transaction;
    const action = recoveryActionId === undefined ? undefined : actions.get(recoveryActionId);
    if (!action) continue;
    const wanted = state === "PAID" ? "SUCCEEDED" : "FAILED";
    // A PAID within 48 hours turns a failure into a success, even if it names no action.
    const lastsMs = action.idealRetryTime.getTime() + 48 * 3_600_000;
    const isPaidLater = stillPaid.get(invoiceId)?.some((at) => at.getTime() <= lastsMs) ?? false;
    if (action.status !== wanted && !(wanted === "FAILED" && action.status === "SUCCEEDED" && isPaidLater))
      recordViolation(
        journal,
        "outcome",
        `action ${action.id} is ${action.status}, its attempt was ${state}`,
        invoiceId,
      );
  }
}
