import type { OnWithdrawn } from "../domain/event.ts";
import type { BatchResult } from "../domain/ingest.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { endsRecovery, type Subscription } from "../domain/subscription.ts";
import type { Transaction } from "../domain/transaction.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { mergeBatches, type Wave } from "../postgres/merge-batches.ts";
import { applyReview, loadOpeningContext } from "../recovery/open-cases.ts";
import { reviewInvoices } from "../recovery/review-invoices.ts";
import { findInvoicesToReopen, lockCasesOfSubscriptions } from "../tables/cases.ts";
import { undeliveredActions, withdrawEvents } from "../tables/events.ts";
import { customersOfInvoices, unpaidInvoices } from "../tables/invoices.ts";
import {
  enqueueCasesOfCustomers,
  enqueueCasesOfInvoices,
  enqueueCasesOfSubscriptions,
} from "../tables/reevaluation-queue.ts";
import { SUBSCRIPTION_TABLE } from "../tables/subscriptions.ts";
import { TRANSACTION_TABLE } from "../tables/transactions.ts";
import { countBatchResults, findUnchangedIds, type StoreBatches, type UnchangedIds } from "./store-batches.ts";

/**
 * Stores batches of subscriptions, all of them or none, and keeps the version of each that is the truth. If a subscription ended, no undelivered
 * instruction of its cases goes out after this.
 */
export const ingestSubscriptions: StoreBatches<Subscription> = async (db, merchant, batches, ports, onWithdrawn) => {
  const waves = mergeBatches(batches);
  const { unchanged, ended, early } = await db.transaction(async (tx) => {
    const done = { unchanged: [] as UnchangedIds[], ended: [] as string[], early: [] as string[] };
    for (const wave of waves) {
      const { known, older, changed } = await storeSubscriptions(tx, merchant.id, wave, ports);
      done.unchanged.push({ known, older });
      const ended = changed.filter(({ state }) => endsRecovery(state)).map(({ id }) => id);
      const active = changed.filter(({ state }) => !endsRecovery(state)).map(({ id }) => id);
      const ids = changed.map(({ id }) => id);
      // An invoice may have come before its subscription, so new ones concern cases too.
      const open = ids.length === 0 ? 0 : await enqueueCasesOfSubscriptions(tx, merchant.id, ids, ports.newId());
      if (open > 0) done.early.push(...(await withdrawUndelivered(tx, merchant.id, ended, ports)));
      if (active.length > 0) await reopenCases(tx, merchant.id, active, ports);
      done.ended.push(...ended);
    }
    return done;
  });
  // A case that was opened meanwhile has not seen the end, and could not be poked: now each side sees the other.
  const open = ended.length === 0 ? 0 : await enqueueCasesOfSubscriptions(db, merchant.id, ended, ports.newId());
  const late = open === 0 ? [] : await db.transaction((tx) => withdrawUndelivered(tx, merchant.id, ended, ports));
  const withdrawn = [...early, ...late];
  if (withdrawn.length > 0) onWithdrawn(merchant.id, withdrawn);
  return countBatchResults(batches, waves, unchanged);
};

async function storeSubscriptions(tx: Tx, merchantId: string, wave: Wave<Subscription>, ports: Ports) {
  const stored = await SUBSCRIPTION_TABLE.upsert(tx, merchantId, wave.rows, ports.now());
  const ids = new Set(stored.map(({ id }) => id));
  const known = findUnchangedIds(wave, ids);
  const older = known === null ? [] : await SUBSCRIPTION_TABLE.older(tx, merchantId, wave.rows);
  return { known, older, changed: wave.rows.filter(({ id }) => ids.has(id)) };
}

/**
 * Withdraws the undelivered instructions of these subscriptions' open cases, also those that a step made while this waited for it. The cases end with their
 * next step, unless the subscription is active again by then. So events that go out once per case stay.
 */
async function withdrawUndelivered(
  tx: Tx,
  merchantId: string,
  ended: readonly string[],
  ports: Ports,
): Promise<string[]> {
  const cases = ended.length === 0 ? [] : await lockCasesOfSubscriptions(tx, merchantId, ended);
  const waiting = cases.length === 0 ? [] : await undeliveredActions(tx, merchantId, cases);
  return waiting.length === 0 ? [] : await withdrawEvents(tx, merchantId, [], waiting, ports.now());
}

/** A newer unpaid version may have come before the subscription was active again. */
async function reopenCases(tx: Tx, merchantId: string, active: readonly string[], ports: Ports) {
  const invoiceIds = await findInvoicesToReopen(tx, merchantId, active);
  if (invoiceIds.length === 0) return;
  const beginning = await loadOpeningContext(tx, merchantId);
  const reviewed = await reviewInvoices(tx, merchantId, [], invoiceIds);
  await (await applyReview(tx, merchantId, reviewed, beginning, ports, null))();
}

/**
 * Stores batches of payment attempts, all of them or none, and keeps the version of each that is the truth. The same transaction ends the cases of invoices
 * on which payments left nothing, and opens one if a payment no longer stands.
 */
export const ingestTransactions: StoreBatches<Transaction> = (db, merchant, batches, ports, onWithdrawn) =>
  storeTransactions(db, merchant, batches, ports, { onWithdrawn, opensCases: true });

/** As `ingestTransactions`, for history: it opens no case. */
export const importTransactions: StoreBatches<Transaction> = (db, merchant, batches, ports, onWithdrawn) =>
  storeTransactions(db, merchant, batches, ports, { onWithdrawn, opensCases: false });

async function storeTransactions(
  db: Database,
  merchant: Merchant,
  batches: readonly (readonly Transaction[])[],
  ports: Ports,
  { onWithdrawn, opensCases }: { onWithdrawn: OnWithdrawn; opensCases: boolean },
): Promise<BatchResult[]> {
  const waves = mergeBatches(batches);
  const tell = (tx: Tx, changed: readonly PushedAttempt[]) =>
    updateCasesOfAttempts(tx, merchant.id, changed, opensCases, ports);
  const { unchanged, told } = await db.transaction(async (tx) => {
    const done = { unchanged: [] as UnchangedIds[], told: [] as (CaseUpdates & { changed: PushedAttempt[] })[] };
    for (const wave of waves) {
      const ids = new Set(
        (await TRANSACTION_TABLE.upsert(tx, merchant.id, wave.rows, ports.now())).map(({ id }) => id),
      );
      const known = findUnchangedIds(wave, ids);
      const older = known === null ? [] : await TRANSACTION_TABLE.older(tx, merchant.id, wave.rows);
      done.unchanged.push({ known, older });
      const changed = wave.rows.filter(({ id }) => ids.has(id));
      done.told.push({ ...(await tell(tx, changed)), changed });
    }
    return done;
  });
  const events = told.flatMap(({ withdrawn }) => withdrawn);
  // A case that was opened meanwhile has not seen these attempts, and could not be told: now each side sees the other.
  const untold = told.flatMap(({ all, changed }) => (all ? [] : changed));
  if (untold.length > 0) events.push(...(await db.transaction((tx) => tell(tx, untold))).withdrawn);
  if (events.length > 0) onWithdrawn(merchant.id, distinct(events));
  return countBatchResults(batches, waves, unchanged);
}

/** What cases are told of an attempt. */
type PushedAttempt = Pick<Transaction, "id" | "state" | "invoiceId" | "customerId">;

interface CaseUpdates {
  /** Whether every attempt found an open case. */
  all: boolean;
  /** Events that were withdrawn. */
  withdrawn: string[];
}

/** Queues the cases of these attempts, and brings those in line whose invoices the attempts paid, or left owed again. */
async function updateCasesOfAttempts(
  tx: Tx,
  merchantId: string,
  attempts: readonly PushedAttempt[],
  opensCases: boolean,
  ports: Ports,
): Promise<CaseUpdates> {
  if (attempts.length === 0) return { all: true, withdrawn: [] };
  const invoiceIds = distinct(attempts.map(({ invoiceId }) => invoiceId));
  const open = await enqueueCasesOfInvoices(tx, merchantId, invoiceIds, ports.newId());
  const customerIds = distinct([
    ...attempts.map(({ customerId }) => customerId),
    ...(await findDisputedCustomers(tx, merchantId, attempts)),
  ]);
  await enqueueCasesOfCustomers(tx, merchantId, customerIds, invoiceIds, ports.newId());
  const paid = new Set(attempts.filter(({ state }) => state === "PAID").map(({ invoiceId }) => invoiceId));
  const concerned = invoiceIds.filter((id) => paid.has(id) || !open.has(id));
  const unpaid = concerned.length === 0 ? [] : await unpaidInvoices(tx, merchantId, concerned);
  const reviewed = await reviewInvoices(tx, merchantId, [], unpaid);
  const beginning = opensCases && reviewed.length > 0 ? await loadOpeningContext(tx, merchantId) : null;
  const ids = new Set(attempts.map(({ id }) => id));
  const withdrawn = await (await applyReview(tx, merchantId, reviewed, beginning, ports, ids))();
  return { all: invoiceIds.every((id) => open.has(id)), withdrawn };
}

/** Returns the customers of disputed attempts that name none: their other cases must not charge the same card. */
async function findDisputedCustomers(tx: Tx, merchantId: string, attempts: readonly PushedAttempt[]) {
  const disputed = attempts.filter(({ state, customerId }) => state === "DISPUTED" && customerId === undefined);
  if (disputed.length === 0) return [];
  return await customersOfInvoices(tx, merchantId, distinct(disputed.map(({ invoiceId }) => invoiceId)));
}

const distinct = (ids: readonly (string | undefined)[]) =>
  [...new Set(ids.filter((id): id is string => id !== undefined))].sort();
