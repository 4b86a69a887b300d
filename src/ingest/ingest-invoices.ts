import type { OnWithdrawn } from "../domain/event.ts";
import type { BatchResult } from "../domain/ingest.ts";
import { type Invoice, isInRecovery } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { mergeBatches, type Wave } from "../postgres/merge-batches.ts";
import { applyReview, loadOpeningContext } from "../recovery/open-cases.ts";
import { reviewInvoices } from "../recovery/review-invoices.ts";
import { traceCasesOfInvoices } from "../tables/case-traces.ts";
import { endCasesLeavingRecovery } from "../tables/cases.ts";
import { withdrawEvents } from "../tables/events.ts";
import {
  fillInTotals,
  findOlderInvoices,
  insertNewInvoices,
  isDuplicateInsert,
  type StoredInvoice,
  upsertInvoices,
} from "../tables/invoices.ts";
import { enqueueCasesOfInvoices } from "../tables/reevaluation-queue.ts";
import { pauseFastPath, shouldTryFastPath } from "./insert-fast-path.ts";
import {
  countBatchResults,
  listTraced,
  type StoreBatches,
  type Traceparents,
  type UnchangedIds,
} from "./store-batches.ts";

/**
 * Stores batches, all or none, and keeps each invoice's winning version. The same transaction opens and ends their cases. After
 * the commit, Dunlin sends no undelivered event of an ended case.
 */
export const ingestInvoices: StoreBatches<Invoice> = (db, merchant, batches, ports, onWithdrawn, traceparents) =>
  storeInvoices(db, merchant, batches, ports, { onWithdrawn, opensCases: true, traceparents });

/** An unpaid invoice opens no case until a newer version is pushed. */
export const importInvoices: StoreBatches<Invoice> = (db, merchant, batches, ports, onWithdrawn) =>
  storeInvoices(db, merchant, batches, ports, { onWithdrawn, opensCases: false });

interface StoringOptions {
  onWithdrawn: OnWithdrawn;
  opensCases: boolean;
  traceparents?: Traceparents | undefined;
}

async function storeInvoices(
  db: Database,
  merchant: Merchant,
  batches: readonly (readonly Invoice[])[],
  ports: Ports,
  { onWithdrawn, opensCases, traceparents = [] }: StoringOptions,
): Promise<BatchResult[]> {
  const waves = mergeBatches(batches);
  const unpaid = waves.map(({ rows }) => selectUnpaid(rows));
  const queueEntryIds = waves.map(() => newQueueEntryIds(merchant, ports));
  const trace = async (tx: Tx, unchanged: readonly UnchangedIds[]) => {
    const traced = waves.flatMap((wave, index) => listTraced(wave, unchanged[index]!, traceparents, ({ id }) => id));
    if (traced.length > 0) await traceCasesOfInvoices(tx, merchant.id, traced, ports.now());
  };
  const store = async (mayBeNew: boolean): Promise<{ unchanged: UnchangedIds[]; withdrawn: string[] }> => {
    const [firstWave] = waves;
    // One statement suffices for new invoices that open no case.
    const needsNoCases = waves.length === 1 && unpaid[0]!.length === 0;
    if (mayBeNew && needsNoCases && (await insertAllNew(db, merchant.id, firstWave!.rows, queueEntryIds[0]!)))
      return { unchanged: [NOTHING_UNCHANGED], withdrawn: [] };
    return await db.transaction(async (tx) => {
      const unchanged: UnchangedIds[] = [];
      const withdrawn: string[] = [];
      let finishLastWave = async (): Promise<string[]> => [];
      for (const [index, wave] of waves.entries()) {
        withdrawn.push(...(await finishLastWave()));
        const options = {
          opensCases,
          mayBeNew: mayBeNew && !needsNoCases && index === 0,
          queueEntryIds: queueEntryIds[index]!,
          unpaid: unpaid[index]!,
        };
        const storedWave = await storeWave(tx, merchant.id, wave, ports, options);
        unchanged.push(storedWave.unchanged);
        finishLastWave = storedWave.finish;
      }
      // The last statements are pipelined with the commit.
      return async () => {
        const [withdrawnLast] = await Promise.all([finishLastWave(), trace(tx, unchanged)]);
        return { unchanged, withdrawn: [...withdrawn, ...withdrawnLast] };
      };
    });
  };
  const mayBeNew = shouldTryFastPath(merchant.id);
  const { unchanged, withdrawn } = await store(mayBeNew).catch((error: unknown) => {
    if (mayBeNew && isDuplicateInsert(error)) return store(false);
    throw error;
  });
  if (withdrawn.length > 0) onWithdrawn(merchant.id, withdrawn);
  return countBatchResults(batches, waves, unchanged);
}

const NOTHING_UNCHANGED: UnchangedIds = { unchangedIds: null, olderIds: [] };

/** In the order of the statements that use them. */
interface QueueEntryIds {
  /** For the customers' other open cases; null if the engine ignores other invoices. */
  affectedCases: string | null;
  endedCases: string;
}

/** Draws unneeded ids too, so that later ids do not depend on the fast path. */
function newQueueEntryIds(merchant: Merchant, ports: Ports): QueueEntryIds {
  const [affectedCases, endedCases] = [ports.newId(), ports.newId()];
  return { affectedCases: merchant.engine === "static" ? null : affectedCases, endedCases };
}

/** In recovery, as they are stored if new. */
const selectUnpaid = (invoices: readonly Invoice[]): StoredInvoice[] =>
  invoices
    .filter(({ state }) => isInRecovery(state))
    .map((invoice) => {
      const date = invoice.updatedAt ?? invoice.createdAt;
      return { ...invoice, updatedAt: date, unpaidSince: date };
    });

interface WaveOptions {
  opensCases: boolean;
  mayBeNew: boolean;
  queueEntryIds: QueueEntryIds;
  unpaid: readonly StoredInvoice[];
}

async function storeWave(tx: Tx, merchantId: string, { rows }: Wave<Invoice>, ports: Ports, options: WaveOptions) {
  const { opensCases, mayBeNew, queueEntryIds, unpaid } = options;
  const now = ports.now();
  const [openingContext, stored] = await Promise.all([
    opensCases && unpaid.length > 0 ? loadOpeningContext(tx, merchantId) : null,
    storeVersions(tx, merchantId, rows, mayBeNew, { now, queueEntryIds }),
  ]);
  const { unchanged, unpaidAgain, endedCases, newUnpaid } = stored;
  const newUnpaidIds = newUnpaid && new Set(newUnpaid);
  const newInvoices = newUnpaidIds ? unpaid.filter(({ id }) => newUnpaidIds.has(id)) : unpaid;
  const reviewed = await reviewInvoices(tx, merchantId, newInvoices, unpaidAgain);
  const writeReview = await applyReview(tx, merchantId, reviewed, openingContext, ports, null);
  const finish = async () => {
    // A separate statement: a step that the previous one waited for may have created events.
    const [, withdrawn, withdrawnByReview] = await Promise.all([
      unpaidAgain.length === 0 ? null : enqueueCasesOfInvoices(tx, merchantId, unpaidAgain, ports.newId()),
      endedCases.length === 0 ? [] : withdrawEvents(tx, merchantId, endedCases, [], ports.now()),
      writeReview(),
    ]);
    return [...withdrawn, ...withdrawnByReview];
  };
  return { unchanged, finish };
}

async function insertAllNew(tx: Tx, merchantId: string, invoices: readonly Invoice[], queueEntryIds: QueueEntryIds) {
  const areNew = await insertNewInvoices(tx, merchantId, invoices, queueEntryIds.affectedCases);
  if (!areNew) pauseFastPath(merchantId);
  return areNew;
}

/**
 * Keeps each invoice's winning version, and ends cases of invoices that left recovery.
 *
 * @returns `newUnpaid`: new invoices in recovery, or null if all are new; `unpaidAgain`: other changed ones in recovery
 */
async function storeVersions(
  tx: Tx,
  merchantId: string,
  invoices: readonly Invoice[],
  mayBeNew: boolean,
  { now, queueEntryIds }: { now: Date; queueEntryIds: QueueEntryIds },
) {
  if (mayBeNew && (await insertAllNew(tx, merchantId, invoices, queueEntryIds)))
    return { unchanged: NOTHING_UNCHANGED, unpaidAgain: [], endedCases: [], newUnpaid: null };
  const changed = await upsertInvoices(tx, merchantId, invoices, now, queueEntryIds.affectedCases);
  const { unchanged: unchangedIds, unpaid: newUnpaid, unpaidAgain, leftRecovery } = changed;
  const endedCases =
    leftRecovery.length === 0
      ? []
      : await endCasesLeavingRecovery(tx, merchantId, now, queueEntryIds.endedCases, leftRecovery);
  if (unchangedIds === null) return { unchanged: NOTHING_UNCHANGED, unpaidAgain, endedCases, newUnpaid };
  const [olderIds, withTotals] = await Promise.all([
    findOlderInvoices(tx, merchantId, invoices),
    fillInTotals(tx, merchantId, invoices),
  ]);
  const unchanged = { unchangedIds, olderIds };
  return { unchanged, unpaidAgain: [...unpaidAgain, ...withTotals], endedCases, newUnpaid };
}
