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

/** To replay more, a person starts another job. */
export const MAX_REPLAYED_EVENTS = 10_000;
/** Keeps case locks short. */
const EVENTS_PER_TRANSACTION = 200;

/** Times are ISO strings. */
export interface ReplayInput {
  type?: EventType | undefined;
  createdFrom?: string | undefined;
  createdTo?: string | undefined;
}

export interface ReplayProgress {
  /** Selected when the job was queued. */
  total: number;
  looked: number;
  replayed: number;
  /** By reason. */
  skipped: Record<string, number>;
  /** The last processed event. */
  after?: string | undefined;
}

export type ReplayJob = Job<ReplayInput, ReplayProgress, ReplayProgress>;

/** Replays matching exhausted events. Returns the job's id, or null if one is queued or running. */
export async function requestReplay(
  db: Database,
  merchantId: string,
  filter: Pick<ReplayFilter, "type" | "createdFrom" | "createdTo">,
  actor: Actor,
  ports: Ports,
): Promise<string | null> {
  const { type, createdFrom, createdTo } = filter;
  const id = ports.newId();
  // Excludes events that are exhausted after the request.
  const askedAt = ports.now();
  const until = createdTo === undefined || createdTo > askedAt ? askedAt : createdTo;
  const input: ReplayInput = { type, createdFrom: createdFrom?.toISOString(), createdTo: until.toISOString() };
  return db.transaction(async (tx) => {
    const matching = await findReplayable(
      tx,
      merchantId,
      { ...filter, createdTo: until, limit: MAX_REPLAYED_EVENTS },
      askedAt,
    );
    const progress: ReplayProgress = { total: matching.length, looked: 0, replayed: 0, skipped: {} };
    const job = { merchantId, id, kind: "replay", askedAt, actor, input, progress } as const;
    if (!(await insertJob(tx, job, ports.realNow()))) return null;
    const details = { ...input, events: matching.length };
    await writeAuditEntry(
      tx,
      merchantId,
      actor,
      { operation: "delivery.replay_asked", object: "exhausted events", details },
      ports,
    );
    return id;
  });
}

/** @param onReplayed  called when events are due again */
export const createReplayHandler =
  (ports: Ports, onReplayed: (merchantId: string) => void): JobHandler =>
  async ({ job, db, extendLease, signal }) => {
    const { merchantId, input, actor } = job as ReplayJob;
    const filter: ReplayFilter = {
      type: input.type,
      createdFrom: parseDate(input.createdFrom),
      createdTo: parseDate(input.createdTo),
    };
    let progress = job.progress as ReplayProgress;
    for (let hasMore = true; hasMore && progress.looked < MAX_REPLAYED_EVENTS; ) {
      if (signal.aborted) return null;
      const limit = Math.min(EVENTS_PER_TRANSACTION, MAX_REPLAYED_EVENTS - progress.looked);
      // Progress commits with the work, so another process that takes over sends nothing twice.
      const next = await db.transaction(async (tx) => {
        if (!(await extendLease(null, tx))) return null;
        const updated = addProgress(
          progress,
          await replayExhaustedIn(tx, merchantId, { ...filter, after: progress.after, limit }, ports),
        );
        await extendLease(updated, tx);
        return updated;
      });
      if (next === null) return null;
      if (next.replayed > progress.replayed) onReplayed(merchantId);
      hasMore = next.looked - progress.looked === limit;
      progress = next;
    }
    const { replayed, looked } = progress;
    const details = { ...input, replayed, skipped: looked - replayed };
    return {
      result: progress,
      extraWrite: (tx) =>
        writeAuditEntry(
          tx,
          merchantId,
          actor,
          { operation: "delivery.replayed", object: "exhausted events", details },
          ports,
        ),
    };
  };

const parseDate = (text: string | undefined) => (text === undefined ? undefined : new Date(text));

function addProgress(previous: ReplayProgress, { replayed, skipped }: ReplayResult): ReplayProgress {
  const reasons = { ...previous.skipped };
  for (const { skip } of skipped) reasons[skip!] = (reasons[skip!] ?? 0) + 1;
  const looked = [...replayed, ...skipped.map(({ eventId }) => eventId)];
  return {
    total: previous.total,
    looked: previous.looked + looked.length,
    replayed: previous.replayed + replayed.length,
    skipped: reasons,
    after: looked.sort().at(-1) ?? previous.after,
  };
}
