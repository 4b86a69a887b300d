import type { Case } from "../domain/case.ts";
import type { Tx } from "../postgres/database.ts";
import { lockCases } from "../tables/cases.ts";
import { deleteOrphanedDueCases, dueCases } from "../tables/due-cases.ts";
import { dequeue, readQueue } from "../tables/reevaluation-queue.ts";

export interface ClaimedCase extends Case {
  /** Failed steps in a row. */
  failures: number;
}

/** Reads ahead so that a case queued several times is processed once. Otherwise each batch would read the whole queue again. */
const LOOKAHEAD_STEPS = 10;

/**
 * Locks up to `limit` queued or due cases, and deletes their queue entries. Later reads include the facts that queued them; later
 * facts queue them again. Skips cases that another transaction holds, so several processes can decide for one merchant.
 */
export async function claimCases(tx: Tx, merchantId: string, now: Date, limit: number): Promise<ClaimedCase[]> {
  const [queueEntries, dueRows] = await Promise.all([
    readQueue(tx, merchantId, limit, LOOKAHEAD_STEPS * limit),
    dueCases(tx, merchantId, now, limit),
  ]);
  const failures = new Map(dueRows.map(({ caseId, failures }) => [caseId, failures]));
  const queuedIds = new Set(queueEntries.flatMap(({ caseIds }) => caseIds));
  const ids = pickFairly(
    [...queuedIds],
    [...failures.keys()].filter((id) => !queuedIds.has(id)),
    limit,
  );
  if (ids.length + queueEntries.length === 0) return [];
  const cases = new Map((await lockCases(tx, merchantId, ids)).map((recoveryCase) => [recoveryCase.id, recoveryCase]));
  const missingIds = ids.filter((id) => !cases.has(id));
  const deletedIds =
    missingIds.length === 0 ? new Set<string>() : await deleteOrphanedDueCases(tx, merchantId, missingIds);
  if (queueEntries.length > 0) await dequeue(tx, merchantId, queueEntries, (id) => cases.has(id) || deletedIds.has(id));
  // Deleted cases' entries may fill the front of the queue while others wait behind them.
  if (cases.size === 0 && deletedIds.size > 0) return await claimCases(tx, merchantId, now, limit);
  return ids.flatMap((id) => {
    const recoveryCase = cases.get(id);
    return recoveryCase ? [{ ...recoveryCase, failures: failures.get(id) ?? 0 }] : [];
  });
}

/** Takes half from each, or more if the other is short: a flood of queued cases must not hold up due ones. */
function pickFairly(queuedIds: readonly string[], dueIds: readonly string[], limit: number): string[] {
  const half = Math.ceil(limit / 2);
  const firstIds = queuedIds.slice(0, Math.max(half, limit - dueIds.length));
  return [...firstIds, ...dueIds.slice(0, limit - firstIds.length)];
}
