import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import {
  findReplayable,
  lockCasesOfEvents,
  type ReplaySelection,
  type ReplayVerdict,
  replayEvents,
} from "../tables/delivery-states.ts";
import { enqueueCasesOfEvents } from "../tables/reevaluation-queue.ts";

/** What a replay did: the events that are sent again, and those that are not, with the reason in words. */
export interface ReplayResult {
  replayed: string[];
  skipped: ReplayVerdict[];
}

/**
 * Send exhausted events again, with the same id and the same bytes, where that still makes sense.
 *
 * @param also  what is written in the same transaction: who did it
 */
export const replayExhausted = (
  db: Database,
  merchantId: string,
  which: ReplaySelection,
  ports: Ports,
  also?: (tx: Tx, done: ReplayResult) => Promise<void>,
): Promise<ReplayResult> =>
  db.transaction(async (tx) => {
    const done = await replayExhaustedIn(tx, merchantId, which, ports);
    await also?.(tx, done);
    return done;
  });

/** The same, in a transaction that is under way. */
export async function replayExhaustedIn(
  tx: Tx,
  merchantId: string,
  which: ReplaySelection,
  ports: Ports,
): Promise<ReplayResult> {
  const found = await findReplayable(tx, merchantId, which, ports.now());
  // Judged again under lock: a payment may have come since.
  const eventIds = found.map(({ eventId }) => eventId);
  await lockCasesOfEvents(tx, merchantId, eventIds);
  const judged = await findReplayable(tx, merchantId, { eventIds }, ports.now());
  const chosen = judged.filter(({ skip }) => skip === null).map(({ eventId }) => eventId);
  const replayed = chosen.length > 0 ? await replayEvents(tx, merchantId, chosen, ports.now()) : [];
  if (replayed.length > 0) await enqueueCasesOfEvents(tx, merchantId, replayed, ports.newId());
  const gone = chosen.filter((eventId) => !replayed.includes(eventId));
  const skipped = judged.filter(({ skip }) => skip !== null);
  return {
    replayed,
    skipped: [...skipped, ...gone.map((eventId) => ({ eventId, skip: "it is not exhausted any more" }))],
  };
}

/** Writes the audit log's line of a replay, unless nothing came of it. */
export const auditReplay =
  (
    actor: Actor,
    ports: Ports,
    merchantId: string,
    object = "exhausted events",
    details: Record<string, unknown> = {},
  ) =>
  async (tx: Tx, { replayed, skipped }: ReplayResult) => {
    if (replayed.length === 0) return;
    const counts = { replayed: replayed.length, skipped: skipped.length };
    await writeAuditEntry(
      tx,
      merchantId,
      actor,
      { deed: "delivery.replayed", object, details: { ...details, ...counts } },
      ports,
    );
  };
