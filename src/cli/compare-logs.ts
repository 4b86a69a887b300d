import { setTimeout as sleep } from "node:timers/promises";
import type { JournalEntry } from "../../simulator/demo/journal.ts";

/**
 * Both sides kept a log of the webhooks: they must tell the same, but for test events, which Dunlin logs nothing of. What is on the wire
 * right now may take a moment.
 *
 * @param journal  the merchant's
 * @param read  how many attempts Dunlin logged of each event
 */
export async function compareLogs(
  journal: readonly Pick<JournalEntry, "eventId" | "test">[],
  read: () => Promise<ReadonlyMap<string, number>>,
): Promise<string[]> {
  for (let tries = 1; ; tries++) {
    const received = new Map<string, number>();
    for (const { eventId, test } of journal)
      if (eventId !== null && !test) received.set(eventId, (received.get(eventId) ?? 0) + 1);
    const logged = await read();
    const differing = [...received.keys()].filter((id) => (logged.get(id) ?? 0) < received.get(id)!);
    const unseen = [...logged.keys()].filter((id) => !received.has(id));
    if (differing.length + unseen.length === 0 || tries === 10)
      return [
        `Webhooks: the merchant received ${sumCounts(received)}; Dunlin's delivery log has ${sumCounts(logged)} attempts.`,
        differing.length + unseen.length === 0
          ? "Every webhook in the merchant's log is in the delivery log, and the other way round."
          : `They differ on ${formatIds([...differing, ...unseen])}. The delivery log goes back DUNLIN_DELIVERY_LOG_DAYS, 180 if nothing is set.`,
      ];
    await sleep(200);
  }
}

/** After a long demo the log has dropped months of them. */
const LISTED_IDS_MAX = 5;
const formatIds = (ids: readonly string[]) =>
  ids.length <= LISTED_IDS_MAX
    ? ids.join(", ")
    : `${ids.slice(0, LISTED_IDS_MAX).join(", ")} and ${ids.length - LISTED_IDS_MAX} more`;

const sumCounts = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((a, b) => a + b, 0);
