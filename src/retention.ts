import type { Logger as Log } from "pino";
import { type Loop, startLoop } from "./loop.ts";
import { deleteOld, type Gone, type Retaining } from "./recovery/retention.ts";

/** Between two transactions: whoever works for merchants comes first. */
const BREATH_MS = 20;

/** Deletes old records now and then, if any kind of them is not kept forever. `pauseMs`: between two times through all of them. */
export function startRetention(retaining: Retaining, log: Log, pauseMs: number): Loop | null {
  if (Object.values(retaining.keep).every((days) => days === null)) return null;
  let pass = deleteOld(retaining);
  let gone: Gone = { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 0 };
  return startLoop("retention", log, async () => {
    const next = await pass.next().catch((error) => {
      pass = deleteOld(retaining);
      throw error;
    });
    if (!next.done) {
      for (const [name, count] of Object.entries(next.value)) gone[name as keyof Gone] += count;
      return BREATH_MS;
    }
    if (Object.values(gone).some((count) => count > 0)) log.info(gone, "retention.deleted");
    gone = { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 0 };
    pass = deleteOld(retaining);
    return pauseMs;
  });
}
