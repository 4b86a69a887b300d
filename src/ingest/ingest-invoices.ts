import type { OnWithdrawn } from "../domain/event.ts";
import type { BatchResult } from "../domain/ingest.ts";
import { type Invoice, isInRecovery } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { mergeBatches, type Wave } from "../postgres/merge-batches.ts";
import { applyReview, loadOpeningContext } from "../recovery/open-cases.ts";
import { reviewInvoices } from "../recovery/review-invoices.ts";
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
import { countBatchResults, type StoreBatches, type UnchangedIds } from "./store-batches.ts";

/**
 * Stores batches of invoices, all of them or none, and keeps the version of each that is the truth. The same transaction opens and ends their cases. After
 * the commit, no undelivered event of an ended case goes out.
 */
export const ingestInvoices: StoreBatches<Invoice> = (db, merchant, batches, ports, onWithdrawn) =>
  storeInvoices(db, merchant, batches, ports, { onWithdrawn, opensCases: true });

/** As `ingestInvoices`, for history: what is unpaid opens no case until a newer version is pushed. */
export const importInvoices: StoreBatches<Invoice> = (db, merchant, batches, ports, onWithdrawn) =>
  storeInvoices(db, merchant, batches, ports, { onWithdrawn, opensCases: false });

async function storeInvoices(
  db: Database,
  merchant: Merchant,
  batches: readonly (readonly Invoice[])[],
  ports: Ports,
  { onWithdrawn, opensCases }: { onWithdrawn: OnWithdrawn; opensCases: boolean },
): Promise<BatchResult[]> {
  const waves = mergeBatches(batches);
  const unpaid = waves.map(({ rows }) => selectUnpaid(rows));
  const pokeIds = waves.map(() => newQueueEntryIds(merchant, ports));
  const store = async (mayBeNew: boolean): Promise<{ unchanged: UnchangedIds[]; withdrawn: string[] }> => {
    const [first] = waves;
    // What is new and over concerns no case: one statement does, without a transaction.
    const isOver = waves.length === 1 && unpaid[0]!.length === 0;
    if (mayBeNew && isOver && (await insertAllNew(db, merchant.id, first!.rows, pokeIds[0]!)))
      return { unchanged: [NOTHING_UNCHANGED], withdrawn: [] };
    return await db.transaction(async (tx) => {
      const unchanged: UnchangedIds[] = [];
      const withdrawn: string[] = [];
      let last = async (): Promise<string[]> => [];
      for (const [number, wave] of waves.entries()) {
        withdrawn.push(...(await last()));
        const options = {
          opensCases,
          mayBeNew: mayBeNew && !isOver && number === 0,
          pokeIds: pokeIds[number]!,
          unpaid: unpaid[number]!,
        };
        const done = await storeWave(tx, merchant.id, wave, ports, options);
        unchanged.push(done.unchanged);
        last = done.finish;
      }
      // The last statements go out with the commit.
      return async () => ({ unchanged, withdrawn: [...withdrawn, ...(await last())] });
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

const NOTHING_UNCHANGED: UnchangedIds = { known: null, older: [] };

/** New ids, in the order of the statements that poke by them. */
interface QueueEntryIds {
  /** Other open cases of the customers, which what is pushed tells something new. null: they look at no other invoice. */
  told: string | null;
  ended: string;
}

/** Takes ids whether they are needed or not: which ids come next must not depend on guesses. */
function newQueueEntryIds(merchant: Merchant, ports: Ports): QueueEntryIds {
  const [told, ended] = [ports.newId(), ports.newId()];
  // Fixed rules look at no other invoice of a customer.
  return { told: merchant.engine === "static" ? null : told, ended };
}

/** Returns the invoices in recovery, as they are stored if they are new. */
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
  pokeIds: QueueEntryIds;
  unpaid: readonly StoredInvoice[];
}

async function storeWave(tx: Tx, merchantId: string, { rows }: Wave<Invoice>, ports: Ports, options: WaveOptions) {
  const { opensCases, mayBeNew, pokeIds, unpaid } = options;
  const now = ports.now();
  const [beginning, stored] = await Promise.all([
    opensCases && unpaid.length > 0 ? loadOpeningContext(tx, merchantId) : null,
    storeVersions(tx, merchantId, rows, mayBeNew, { now, pokeIds }),
  ]);
  const { unchanged, again, ended, fresh } = stored;
  const isFresh = fresh && new Set(fresh);
  const news = isFresh ? unpaid.filter(({ id }) => isFresh.has(id)) : unpaid;
  const reviewed = await reviewInvoices(tx, merchantId, news, again);
  const settle = await applyReview(tx, merchantId, reviewed, beginning, ports, null);
  const finish = async () => {
    // By a statement that comes behind the ends: while they waited for a step it may have made events.
    const [, withdrawn, reviewedAway] = await Promise.all([
      again.length === 0 ? null : enqueueCasesOfInvoices(tx, merchantId, again, ports.newId()),
      ended.length === 0 ? [] : withdrawEvents(tx, merchantId, ended, [], ports.now()),
      settle(),
    ]);
    return [...withdrawn, ...reviewedAway];
  };
  return { unchanged, finish };
}

/** Stores the invoices if all are new: two thirds of the work of an upsert. */
async function insertAllNew(tx: Tx, merchantId: string, invoices: readonly Invoice[], pokeIds: QueueEntryIds) {
  const areNew = await insertNewInvoices(tx, merchantId, invoices, pokeIds.told);
  if (!areNew) pauseFastPath(merchantId);
  return areNew;
}

/** Keeps the version of each invoice that is the truth, and ends the cases of those that left recovery. `fresh`: new ones in recovery; null: all are new. */
async function storeVersions(
  tx: Tx,
  merchantId: string,
  invoices: readonly Invoice[],
  mayBeNew: boolean,
  { now, pokeIds }: { now: Date; pokeIds: QueueEntryIds },
) {
  if (mayBeNew && (await insertAllNew(tx, merchantId, invoices, pokeIds)))
    return { unchanged: NOTHING_UNCHANGED, again: [], ended: [], fresh: null };
  const changed = await upsertInvoices(tx, merchantId, invoices, now, pokeIds.told);
  const { unchanged: known, unpaid, unpaidAgain: again, settled } = changed;
  const ended = settled.length === 0 ? [] : await endCasesLeavingRecovery(tx, merchantId, now, pokeIds.ended, settled);
  if (known === null) return { unchanged: { known, older: [] }, again, ended, fresh: unpaid };
  const [older, totals] = await Promise.all([
    findOlderInvoices(tx, merchantId, invoices),
    fillInTotals(tx, merchantId, invoices),
  ]);
  return { unchanged: { known, older }, again: [...again, ...totals], ended, fresh: unpaid };
}
