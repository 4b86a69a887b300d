import { setTimeout as sleep } from "node:timers/promises";
import type { JournalEntry } from "../../simulator/demo/journal.ts";

/**
 * Dunlin does not log test events. Retries for two seconds, because webhooks may be in flight.
 *
 * @param loadLoggedCounts  returns Dunlin's attempts by event
 */
export async function compareLogs(
  journal: readonly Pick<JournalEntry, "eventId" | "test">[],
  loadLoggedCounts: () => Promise<ReadonlyMap<string, number>>,
): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    const received = new Map<string, number>();
    for (const { eventId, test } of journal)
      if (eventId !== null && !test) received.set(eventId, (received.get(eventId) ?? 0) + 1);
    const logged = await loadLoggedCounts();
    const differing = [...received.keys()].filter((id) => (logged.get(id) ?? 0) < received.get(id)!);
    const unseen = [...logged.keys()].filter((id) => !received.has(id));
    if (differing.length + unseen.length === 0 || attempt === 10)
      return [
        `Webhooks: the merchant received ${sumCounts(received)}; Dunlin's delivery log has ${sumCounts(logged)} attempts.`,
        differing.length + unseen.length === 0
          ? "Both logs contain the same webhooks."
          : `The logs differ for ${formatIds([...differing, ...unseen])}. The delivery log keeps entries for DUNLIN_DELIVERY_LOG_DAYS (180 by default).`,
      ];
    await sleep(200);
  }
}

const LISTED_IDS_MAX = 5;
const formatIds = (ids: readonly string[]) =>
  ids.length <= LISTED_IDS_MAX
    ? ids.join(", ")
    : `${ids.slice(0, LISTED_IDS_MAX).join(", ")} and ${ids.length - LISTED_IDS_MAX} more`;

const sumCounts = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((a, b) => a + b, 0);
