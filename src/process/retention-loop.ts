import type { Logger as Log } from "pino";
import { type DeletedCounts, deleteExpired, type RetentionRun } from "../merchants/delete-expired.ts";
import { type Loop, startLoop } from "./loop.ts";

/** Between two transactions: whoever works for merchants comes first. */
const TRANSACTION_PAUSE_MS = 20;

/** Deletes old records now and then, if any kind of them is not kept forever. `pauseMs`: between two times through all of them. */
export function startRetention(retaining: RetentionRun, log: Log, pauseMs: number): Loop | null {
  if (Object.values(retaining.keep).every((days) => days === null)) return null;
  let pass = deleteExpired(retaining);
  let gone: DeletedCounts = { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 0 };
  return startLoop("retention", log, async () => {
    const next = await pass.next().catch((error) => {
      pass = deleteExpired(retaining);
      throw error;
    });
    if (!next.done) {
      for (const [name, count] of Object.entries(next.value)) gone[name as keyof DeletedCounts] += count;
      return TRANSACTION_PAUSE_MS;
    }
    if (Object.values(gone).some((count) => count > 0)) log.info(gone, "retention.deleted");
    gone = { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 0 };
    pass = deleteExpired(retaining);
    return pauseMs;
  });
}
