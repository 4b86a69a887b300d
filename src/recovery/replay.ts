import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { audit } from "../store/audit-log.ts";
import { pokeCasesOfEvents } from "../store/case-pokes.ts";

import type { Database, Tx } from "../store/database.ts";
import { lockCasesOfEvents, type Replayable, replayable, replayEvents, type Which } from "../store/delivery-states.ts";

/** What a replay did: the events that are sent again, and those that are not, with the reason in words. */
export interface Replay {
  replayed: string[];
  skipped: Replayable[];
}

/**
 * Send exhausted events again, with the same id and the same bytes, where that still makes sense.
 *
 * @param also  what is written in the same transaction: who did it
 */
export const replay = (
  db: Database,
  merchantId: string,
  which: Which,
  ports: Ports,
  also?: (tx: Tx, done: Replay) => Promise<void>,
): Promise<Replay> =>
  db.transaction(async (tx) => {
    const done = await replayIn(tx, merchantId, which, ports);
    await also?.(tx, done);
    return done;
  });

/** The same, in a transaction that is under way. */
export async function replayIn(tx: Tx, merchantId: string, which: Which, ports: Ports): Promise<Replay> {
  const found = await replayable(tx, merchantId, which, ports.now());
  // Judged again under lock: a payment may have come since.
  const eventIds = found.map(({ eventId }) => eventId);
  await lockCasesOfEvents(tx, merchantId, eventIds);
  const judged = await replayable(tx, merchantId, { eventIds }, ports.now());
  const chosen = judged.filter(({ skip }) => skip === null).map(({ eventId }) => eventId);
  const replayed = chosen.length > 0 ? await replayEvents(tx, merchantId, chosen, ports.now()) : [];
  if (replayed.length > 0) await pokeCasesOfEvents(tx, merchantId, replayed, ports.newId());
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
  async (tx: Tx, { replayed, skipped }: Replay) => {
    if (replayed.length === 0) return;
    const counts = { replayed: replayed.length, skipped: skipped.length };
    await audit(
      tx,
      merchantId,
      actor,
      { deed: "delivery.replayed", object, details: { ...details, ...counts } },
      ports,
    );
  };
