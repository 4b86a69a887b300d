import { setTimeout as sleep } from "node:timers/promises";
import type { Client, RecoveryAction } from "#sdk";
import { formatDay } from "../merchant/terminal-lines.ts";

const PAUSE_MS = 1000;
/** A smaller move is not reported. */
const MIN_CHANGE_MS = 3_600_000;

/**
 * Reads Dunlin's list once a second and reports new or moved plans.
 *
 * @returns stops it
 */
export function watchPlans(client: Client, tell: (invoiceId: string, what: string) => void) {
  const stopping = new AbortController();
  const toldMs = new Map<string, number>();

  function look(action: RecoveryAction) {
    if (action.status !== "RECOVERY_ACTION_STATUS_SCHEDULED" || action.idealRetryTime === undefined) return;
    const ideal = new Date(action.idealRetryTime);
    const before = toldMs.get(action.id);
    if (before !== undefined && Math.abs(ideal.getTime() - before) < MIN_CHANGE_MS) return;
    toldMs.set(action.id, ideal.getTime());
    const what = action.type === "RECOVERY_ACTION_TYPE_CARD_CHANGE" ? "to ask for a new card" : "a retry";
    tell(action.invoiceId, `Dunlin plans ${what} on ${formatDay(ideal)}`);
  }

  const running = (async () => {
    while (!stopping.signal.aborted) {
      // The pusher reports failures.
      const page = await client.recoveryActions
        .page({ orderBy: "updated_at", orderDirection: "desc", pageSize: 50 })
        .catch(() => ({ recoveryActions: [] }));
      for (const action of page.recoveryActions.toReversed()) look(action);
      await sleep(PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();

  return async () => {
    stopping.abort();
    await running;
  };
}
