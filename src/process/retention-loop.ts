import type { Logger as Log } from "pino";
import { type DeletedCounts, deleteExpired, type RetentionRun } from "../merchants/delete-expired.ts";
import { type Loop, startLoop } from "./loop.ts";

/** Lets other work of the database go first. */
const TRANSACTION_PAUSE_MS = 20;

/**
 * Returns null if all records are kept forever.
 *
 * @param pauseMs  between two passes over all records
 */
export function startRetention(retaining: RetentionRun, log: Log, pauseMs: number): Loop | null {
  if (Object.values(retaining.keep).every((days) => days === null)) return null;
  let pass = deleteExpired(retaining);
  let deleted: DeletedCounts = { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 0 };
  return startLoop("retention", log, async () => {
    const next = await pass.next().catch((error) => {
      pass = deleteExpired(retaining);
      throw error;
    });
    if (!next.done) {
      for (const [name, count] of Object.entries(next.value)) deleted[name as keyof DeletedCounts] += count;
      return TRANSACTION_PAUSE_MS;
    }
    if (Object.values(deleted).some((count) => count > 0)) log.info(deleted, "retention.deleted");
    deleted = { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 0 };
    pass = deleteExpired(retaining);
    return pauseMs;
  });
}
