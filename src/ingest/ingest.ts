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
import { traceCasesOfInvoices, traceCasesOfSubscriptions } from "../tables/case-traces.ts";
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
import {
  countBatchResults,
  findUnchangedIds,
  listTraced,
  type StoreBatches,
  type Traceparents,
  type UnchangedIds,
} from "./store-batches.ts";

/**
 * Stores batches, all or none, and keeps each subscription's winning version. After the commit, Dunlin sends no undelivered
 * instruction of an ended subscription.
 */
export const ingestSubscriptions: StoreBatches<Subscription> = async (
  db,
  merchant,
  batches,
  ports,
  onWithdrawn,
  traceparents = [],
) => {
  const waves = mergeBatches(batches);
  const { unchanged, endedIds, withdrawnInTx } = await db.transaction(async (tx) => {
    const result = { unchanged: [] as UnchangedIds[], endedIds: [] as string[], withdrawnInTx: [] as string[] };
    for (const wave of waves) {
      const { unchanged, changed } = await storeSubscriptions(tx, merchant.id, wave, ports);
      result.unchanged.push(unchanged);
      const endedIds = changed.filter(({ state }) => endsRecovery(state)).map(({ id }) => id);
      const activeIds = changed.filter(({ state }) => !endsRecovery(state)).map(({ id }) => id);
      const ids = changed.map(({ id }) => id);
      // New ones too, because an invoice may arrive before its subscription.
      const openCount = ids.length === 0 ? 0 : await enqueueCasesOfSubscriptions(tx, merchant.id, ids, ports.newId());
      if (openCount > 0) result.withdrawnInTx.push(...(await withdrawUndelivered(tx, merchant.id, endedIds, ports)));
      if (activeIds.length > 0) await reopenCases(tx, merchant.id, activeIds, ports);
      result.endedIds.push(...endedIds);
      const traced = listTraced(wave, unchanged, traceparents, ({ id }) => id);
      if (traced.length > 0) await traceCasesOfSubscriptions(tx, merchant.id, traced, ports.now());
    }
    return result;
  });
  // A concurrently opened case and the transaction could not see each other. Now they can.
  const openCount =
    endedIds.length === 0 ? 0 : await enqueueCasesOfSubscriptions(db, merchant.id, endedIds, ports.newId());
  const withdrawnAfter =
    openCount === 0 ? [] : await db.transaction((tx) => withdrawUndelivered(tx, merchant.id, endedIds, ports));
  const withdrawn = [...withdrawnInTx, ...withdrawnAfter];
  if (withdrawn.length > 0) onWithdrawn(merchant.id, withdrawn);
  return countBatchResults(batches, waves, unchanged);
};

async function storeSubscriptions(tx: Tx, merchantId: string, wave: Wave<Subscription>, ports: Ports) {
  const stored = await SUBSCRIPTION_TABLE.upsert(tx, merchantId, wave.rows, ports.now());
  const ids = new Set(stored.map(({ id }) => id));
  const unchangedIds = findUnchangedIds(wave, ids);
  const olderIds = unchangedIds === null ? [] : await SUBSCRIPTION_TABLE.older(tx, merchantId, wave.rows);
  return { unchanged: { unchangedIds, olderIds }, changed: wave.rows.filter(({ id }) => ids.has(id)) };
}

/**
 * Locks the open cases and withdraws undelivered instructions, including those of a step that this waited for. Events that are
 * sent once per case stay: the subscription may be active again before the next step ends the case.
 */
async function withdrawUndelivered(
  tx: Tx,
  merchantId: string,
  endedIds: readonly string[],
  ports: Ports,
): Promise<string[]> {
  const cases = endedIds.length === 0 ? [] : await lockCasesOfSubscriptions(tx, merchantId, endedIds);
  const undelivered = cases.length === 0 ? [] : await undeliveredActions(tx, merchantId, cases);
  return undelivered.length === 0 ? [] : await withdrawEvents(tx, merchantId, [], undelivered, ports.now());
}

/** For unpaid invoices that arrived while their subscriptions had ended. */
async function reopenCases(tx: Tx, merchantId: string, activeIds: readonly string[], ports: Ports) {
  const invoiceIds = await findInvoicesToReopen(tx, merchantId, activeIds);
  if (invoiceIds.length === 0) return;
  const openingContext = await loadOpeningContext(tx, merchantId);
  const reviewed = await reviewInvoices(tx, merchantId, [], invoiceIds);
  await (await applyReview(tx, merchantId, reviewed, openingContext, ports, null))();
}

/**
 * Stores batches, all or none, and keeps each attempt's winning version. The same transaction ends cases that are now paid, and
 * opens a case if a payment no longer counts.
 */
export const ingestTransactions: StoreBatches<Transaction> = (
  db,
  merchant,
  batches,
  ports,
  onWithdrawn,
  traceparents = [],
) => storeTransactions(db, merchant, batches, ports, { onWithdrawn, opensCases: true, traceparents });

/** Opens no cases. */
export const importTransactions: StoreBatches<Transaction> = (db, merchant, batches, ports, onWithdrawn) =>
  storeTransactions(db, merchant, batches, ports, { onWithdrawn, opensCases: false, traceparents: [] });

async function storeTransactions(
  db: Database,
  merchant: Merchant,
  batches: readonly (readonly Transaction[])[],
  ports: Ports,
  {
    onWithdrawn,
    opensCases,
    traceparents,
  }: { onWithdrawn: OnWithdrawn; opensCases: boolean; traceparents: Traceparents },
): Promise<BatchResult[]> {
  const waves = mergeBatches(batches);
  const updateCases = (tx: Tx, changed: readonly PushedAttempt[]) =>
    updateCasesOfAttempts(tx, merchant.id, changed, opensCases, ports);
  const { unchanged, updates } = await db.transaction(async (tx) => {
    const result = { unchanged: [] as UnchangedIds[], updates: [] as (CaseUpdates & { changed: PushedAttempt[] })[] };
    for (const wave of waves) {
      const ids = new Set(
        (await TRANSACTION_TABLE.upsert(tx, merchant.id, wave.rows, ports.now())).map(({ id }) => id),
      );
      const unchangedIds = findUnchangedIds(wave, ids);
      const olderIds = unchangedIds === null ? [] : await TRANSACTION_TABLE.older(tx, merchant.id, wave.rows);
      result.unchanged.push({ unchangedIds, olderIds });
      const changed = wave.rows.filter(({ id }) => ids.has(id));
      result.updates.push({ ...(await updateCases(tx, changed)), changed });
      const traced = listTraced(wave, { unchangedIds, olderIds }, traceparents, ({ invoiceId }) => invoiceId);
      if (traced.length > 0) await traceCasesOfInvoices(tx, merchant.id, traced, ports.now());
    }
    return result;
  });
  const withdrawn = updates.flatMap(({ withdrawnEvents }) => withdrawnEvents);
  // A concurrently opened case and the transaction could not see each other. Now they can.
  const attemptsWithoutCase = updates.flatMap(({ foundAllCases, changed }) => (foundAllCases ? [] : changed));
  if (attemptsWithoutCase.length > 0)
    withdrawn.push(...(await db.transaction((tx) => updateCases(tx, attemptsWithoutCase))).withdrawnEvents);
  if (withdrawn.length > 0) onWithdrawn(merchant.id, distinct(withdrawn));
  return countBatchResults(batches, waves, unchanged);
}

type PushedAttempt = Pick<Transaction, "id" | "state" | "invoiceId" | "customerId">;

interface CaseUpdates {
  foundAllCases: boolean;
  withdrawnEvents: string[];
}

/** Ends or opens cases whose invoices are now paid or owed again. */
async function updateCasesOfAttempts(
  tx: Tx,
  merchantId: string,
  attempts: readonly PushedAttempt[],
  opensCases: boolean,
  ports: Ports,
): Promise<CaseUpdates> {
  if (attempts.length === 0) return { foundAllCases: true, withdrawnEvents: [] };
  const invoiceIds = distinct(attempts.map(({ invoiceId }) => invoiceId));
  const open = await enqueueCasesOfInvoices(tx, merchantId, invoiceIds, ports.newId());
  const customerIds = distinct([
    ...attempts.map(({ customerId }) => customerId),
    ...(await findDisputedCustomers(tx, merchantId, attempts)),
  ]);
  await enqueueCasesOfCustomers(tx, merchantId, customerIds, invoiceIds, ports.newId());
  const paid = new Set(attempts.filter(({ state }) => state === "PAID").map(({ invoiceId }) => invoiceId));
  const reviewCandidates = invoiceIds.filter((id) => paid.has(id) || !open.has(id));
  const unpaid = reviewCandidates.length === 0 ? [] : await unpaidInvoices(tx, merchantId, reviewCandidates);
  const reviewed = await reviewInvoices(tx, merchantId, [], unpaid);
  const openingContext = opensCases && reviewed.length > 0 ? await loadOpeningContext(tx, merchantId) : null;
  const ids = new Set(attempts.map(({ id }) => id));
  const withdrawnEvents = await (await applyReview(tx, merchantId, reviewed, openingContext, ports, ids))();
  return { foundAllCases: invoiceIds.every((id) => open.has(id)), withdrawnEvents };
}

/** For disputed attempts that name no customer: the customers' other cases must not charge the same card. */
async function findDisputedCustomers(tx: Tx, merchantId: string, attempts: readonly PushedAttempt[]) {
  const disputed = attempts.filter(({ state, customerId }) => state === "DISPUTED" && customerId === undefined);
  if (disputed.length === 0) return [];
  return await customersOfInvoices(tx, merchantId, distinct(disputed.map(({ invoiceId }) => invoiceId)));
}

const distinct = (ids: readonly (string | undefined)[]) =>
  [...new Set(ids.filter((id): id is string => id !== undefined))].sort();
