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

export interface ReplayResult {
  replayed: string[];
  skipped: ReplayVerdict[];
}

/** Sends exhausted events again, with the same id and body, unless they are outdated. */
export const replayExhausted = (
  db: Database,
  merchantId: string,
  selection: ReplaySelection,
  ports: Ports,
  extraWrite?: (tx: Tx, result: ReplayResult) => Promise<void>,
): Promise<ReplayResult> =>
  db.transaction(async (tx) => {
    const result = await replayExhaustedIn(tx, merchantId, selection, ports);
    await extraWrite?.(tx, result);
    return result;
  });

/** Does the same in an open transaction. */
export async function replayExhaustedIn(
  tx: Tx,
  merchantId: string,
  selection: ReplaySelection,
  ports: Ports,
): Promise<ReplayResult> {
  const candidates = await findReplayable(tx, merchantId, selection, ports.now());
  // Checked again under a lock, because a payment may have arrived.
  const eventIds = candidates.map(({ eventId }) => eventId);
  await lockCasesOfEvents(tx, merchantId, eventIds);
  const verdicts = await findReplayable(tx, merchantId, { eventIds }, ports.now());
  const replayable = verdicts.filter(({ skip }) => skip === null).map(({ eventId }) => eventId);
  const replayed = replayable.length > 0 ? await replayEvents(tx, merchantId, replayable, ports.now()) : [];
  if (replayed.length > 0) await enqueueCasesOfEvents(tx, merchantId, replayed, ports.newId());
  const noLongerExhausted = replayable.filter((eventId) => !replayed.includes(eventId));
  const skipped = verdicts.filter(({ skip }) => skip !== null);
  return {
    replayed,
    skipped: [...skipped, ...noLongerExhausted.map((eventId) => ({ eventId, skip: "it is no longer exhausted" }))],
  };
}

/** Writes an audit entry if at least one event is sent again. */
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
      { operation: "delivery.replayed", object, details: { ...details, ...counts } },
      ports,
    );
  };
