import type { EventType } from "../domain/event.ts";
import type { Job } from "../domain/job.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { type ReplayResult, replayExhaustedIn } from "../merchants/replay.ts";
import type { Database } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { findReplayable, type ReplayFilter } from "../tables/delivery-states.ts";
import { insertJob } from "../tables/job-queue.ts";
import type { JobHandler } from "./run-jobs.ts";

/** A job looks at so many events; who has more asks again. */
export const MAX_REPLAYED_EVENTS = 10_000;
/** In one transaction, so that cases are not locked for long. */
const EVENTS_PER_TRANSACTION = 200;

/** What is to be sent again. Moments as JSON has them. */
export interface ReplayInput {
  type?: EventType | undefined;
  createdFrom?: string | undefined;
  createdTo?: string | undefined;
}

/** How far a replay is, and in the end what it did. */
export interface ReplayProgress {
  /** Events that the filter picked when it was asked for. */
  total: number;
  looked: number;
  replayed: number;
  /** How many were left out, by the reason in words. */
  skipped: Record<string, number>;
  /** The last event that was looked at. */
  after?: string | undefined;
}

export type ReplayJob = Job<ReplayInput, ReplayProgress, ReplayProgress>;

/**
 * Ask for the exhausted events that a filter picks to be sent again, bit by bit.
 *
 * @returns the id of the job, or null when one is under way already
 */
export async function requestReplay(
  db: Database,
  merchantId: string,
  filter: Pick<ReplayFilter, "type" | "createdFrom" | "createdTo">,
  actor: Actor,
  ports: Ports,
): Promise<string | null> {
  const { type, createdFrom, createdTo } = filter;
  const id = ports.newId();
  // What is exhausted while it works was not asked for.
  const askedAt = ports.now();
  const until = createdTo === undefined || createdTo > askedAt ? askedAt : createdTo;
  const input: ReplayInput = { type, createdFrom: createdFrom?.toISOString(), createdTo: until.toISOString() };
  return db.transaction(async (tx) => {
    const found = await findReplayable(
      tx,
      merchantId,
      { ...filter, createdTo: until, limit: MAX_REPLAYED_EVENTS },
      askedAt,
    );
    const progress: ReplayProgress = { total: found.length, looked: 0, replayed: 0, skipped: {} };
    const job = { merchantId, id, kind: "replay", askedAt, actor, input, progress } as const;
    if (!(await insertJob(tx, job, ports.realNow()))) return null;
    const details = { ...input, events: found.length };
    await writeAuditEntry(
      tx,
      merchantId,
      actor,
      { deed: "delivery.replay_asked", object: "exhausted events", details },
      ports,
    );
    return id;
  });
}

/** Does such a job. `onReplayed`: some events are due again. */
export const createReplayHandler =
  (ports: Ports, onReplayed: (merchantId: string) => void): JobHandler =>
  async ({ job, db, keep, signal }) => {
    const { merchantId, input, actor } = job as ReplayJob;
    const filter: ReplayFilter = {
      type: input.type,
      createdFrom: parseDate(input.createdFrom),
      createdTo: parseDate(input.createdTo),
    };
    let progress = job.progress as ReplayProgress;
    for (let isMore = true; isMore && progress.looked < MAX_REPLAYED_EVENTS; ) {
      if (signal.aborted) return null;
      const limit = Math.min(EVENTS_PER_TRANSACTION, MAX_REPLAYED_EVENTS - progress.looked);
      // How far it is is written with what was done, so nothing is sent twice, whoever goes on.
      const next = await db.transaction(async (tx) => {
        if (!(await keep(null, tx))) return null;
        const made = addProgress(
          progress,
          await replayExhaustedIn(tx, merchantId, { ...filter, after: progress.after, limit }, ports),
        );
        await keep(made, tx);
        return made;
      });
      if (next === null) return null;
      if (next.replayed > progress.replayed) onReplayed(merchantId);
      isMore = next.looked - progress.looked === limit;
      progress = next;
    }
    const { replayed, looked } = progress;
    const details = { ...input, replayed, skipped: looked - replayed };
    return {
      result: progress,
      also: (tx) =>
        writeAuditEntry(
          tx,
          merchantId,
          actor,
          { deed: "delivery.replayed", object: "exhausted events", details },
          ports,
        ),
    };
  };

const parseDate = (text: string | undefined) => (text === undefined ? undefined : new Date(text));

function addProgress(before: ReplayProgress, { replayed, skipped }: ReplayResult): ReplayProgress {
  const reasons = { ...before.skipped };
  for (const { skip } of skipped) reasons[skip!] = (reasons[skip!] ?? 0) + 1;
  const looked = [...replayed, ...skipped.map(({ eventId }) => eventId)];
  return {
    total: before.total,
    looked: before.looked + looked.length,
    replayed: before.replayed + replayed.length,
    skipped: reasons,
    after: looked.sort().at(-1) ?? before.after,
  };
}
