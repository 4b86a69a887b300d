import type { Case } from "../domain/case.ts";
import type { Tx } from "../postgres/database.ts";
import { lockCases } from "../tables/cases.ts";
import { deleteOrphanedDueCases, dueCases } from "../tables/due-cases.ts";
import { dequeue, readQueue } from "../tables/reevaluation-queue.ts";

/** A case to be stepped. */
export interface ClaimedCase extends Case {
  /** How many of its steps have failed in a row. */
  failures: number;
}

/** So many steps' worth of poked cases is looked at: one that was poked twice in it is stepped once. All pokes would be read again for each step. */
const LOOKAHEAD_STEPS = 10;

/**
 * Locks up to `limit` cases that were poked or are due, and deletes their pokes. What is read from now on holds the facts
 * that they were poked for. Later facts poke again. What another transaction holds right now is left to it, or for
 * the next time: so several processes decide for one merchant at once.
 */
export async function claimCases(tx: Tx, merchantId: string, now: Date, limit: number): Promise<ClaimedCase[]> {
  const [pokes, due] = await Promise.all([
    readQueue(tx, merchantId, limit, LOOKAHEAD_STEPS * limit),
    dueCases(tx, merchantId, now, limit),
  ]);
  const failures = new Map(due.map(({ caseId, failures }) => [caseId, failures]));
  const poked = new Set(pokes.flatMap(({ caseIds }) => caseIds));
  const ids = pickFairly(
    [...poked],
    [...failures.keys()].filter((id) => !poked.has(id)),
    limit,
  );
  if (ids.length + pokes.length === 0) return [];
  const cases = new Map((await lockCases(tx, merchantId, ids)).map((kase) => [kase.id, kase]));
  const missing = ids.filter((id) => !cases.has(id));
  const gone = missing.length === 0 ? new Set<string>() : await deleteOrphanedDueCases(tx, merchantId, missing);
  if (pokes.length > 0) await dequeue(tx, merchantId, pokes, (id) => cases.has(id) || gone.has(id));
  // Gone cases at the front of the queue do not mean that there is nothing to do.
  if (cases.size === 0 && gone.size > 0) return await claimCases(tx, merchantId, now, limit);
  return ids.flatMap((id) => {
    const kase = cases.get(id);
    return kase ? [{ ...kase, failures: failures.get(id) ?? 0 }] : [];
  });
}

/** Half of each, or more of one when the other is short: a flood of pokes must not hold up what is due. */
function pickFairly(poked: readonly string[], due: readonly string[], limit: number): string[] {
  const half = Math.ceil(limit / 2);
  const first = poked.slice(0, Math.max(half, limit - due.length));
  return [...first, ...due.slice(0, limit - first.length)];
}
