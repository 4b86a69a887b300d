import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { errorFields, isOutage } from "../postgres/database-errors.ts";
import { type EndedAttempt, recordAttempts, recordWithdrawnAttempts } from "../tables/delivery-attempts.ts";

export interface AttemptRecorder {
  add(attempt: EndedAttempt): void;
  pending(): number;
  /** Pending attempts that the database rejected, retried with backoff. */
  postponed(): number;
  waitUntilIdle(): Promise<void>;
  /** Pending attempts are repeated later under the same numbers. */
  abandon(): void;
}

interface Options {
  db: Database;
  ports: Ports;
  log: Log;
  /** Virtual time in a simulation. */
  sleep(ms: number): Promise<unknown>;
  /** Called after the commit. Unrecorded attempts were withdrawn and only logged, were recorded before, or their lease was lost. */
  onRecorded(batch: readonly EndedAttempt[], unrecorded: readonly EndedAttempt[]): void;
}

const BATCH_MAX = 500;
const OUTAGE_PAUSE_MAX_MS = 2_000;
const REFUSED_PAUSE_MAX_MS = 60_000;

/**
 * Writes batches: while one is written, the next collects. A batch is retried during an outage. One that the database rejects is
 * halved until the offending row is isolated.
 *
 * On a cluster each merchant has batches of its own. They change rows on one server alone. While a server is away, those of the
 * others go on, as far as connections are left.
 */
export function createAttemptRecorder(options: Options): AttemptRecorder {
  if (!options.db.isDistributed) return createBatchWriter(options);
  const writers = new Map<string, AttemptRecorder>();
  let abandoned = false;
  const sum = (count: (writer: AttemptRecorder) => number) =>
    [...writers.values()].reduce((total, writer) => total + count(writer), 0);
  return {
    add(attempt) {
      if (abandoned) return;
      const { merchantId } = attempt;
      const writer = writers.get(merchantId) ?? createBatchWriter(options, () => writers.delete(merchantId));
      writers.set(merchantId, writer);
      writer.add(attempt);
    },
    pending: () => sum((writer) => writer.pending()),
    postponed: () => sum((writer) => writer.postponed()),
    async waitUntilIdle() {
      await Promise.all(Array.from(writers.values(), (writer) => writer.waitUntilIdle()));
    },
    abandon() {
      abandoned = true;
      for (const writer of writers.values()) writer.abandon();
    },
  };
}

/** @param onIdle  called when nothing is pending any more */
function createBatchWriter(
  { db, ports, log, sleep, onRecorded }: Options,
  onIdle: () => void = () => {},
): AttemptRecorder {
  let queue: EndedAttempt[] = [];
  /** Batches to write, which precede the queue. */
  let pieces: EndedAttempt[][] = [];
  let writing: EndedAttempt[] = [];
  const refusedAttempts = new Map<EndedAttempt, { times: number; timer: NodeJS.Timeout }>();
  let running: Promise<void> | null = null;
  let abandoned = false;

  async function run() {
    // Attempts that end in the same turn share a batch.
    await null;
    let outages = 0;
    while (!abandoned) {
      if (pieces.length === 0) pieces.push(queue.splice(0, BATCH_MAX));
      writing = pieces.shift() ?? [];
      if (writing.length === 0) break;
      try {
        await write(writing);
        outages = 0;
      } catch (error) {
        if (isOutage(error)) {
          log.error({ ...errorFields(error), attempts: writing.length, failures: ++outages }, "attempts.record-failed");
          pieces.unshift(writing);
          writing = [];
          await sleep(Math.min(50 * 2 ** outages, OUTAGE_PAUSE_MAX_MS));
        } else if (writing.length > 1) {
          const middle = writing.length >> 1;
          pieces.unshift(writing.slice(0, middle), writing.slice(middle));
        } else for (const attempt of writing) postpone(attempt, error);
      }
      writing = [];
    }
    // No `await` since the last check, so no attempt was added.
    running = null;
    if (pending() === 0) onIdle();
  }

  function postpone(attempt: EndedAttempt, error: unknown) {
    if (abandoned) return;
    const refusalCount = (refusedAttempts.get(attempt)?.times ?? 0) + 1;
    const { merchantId, eventId, number } = attempt;
    log.error({ ...errorFields(error), merchantId, eventId, number, times: refusalCount }, "attempts.refused");
    const retry = () => {
      pieces.push([attempt]);
      start();
    };
    refusedAttempts.set(attempt, {
      times: refusalCount,
      timer: setTimeout(retry, Math.min(50 * 2 ** refusalCount, REFUSED_PAUSE_MAX_MS)),
    });
  }

  function start() {
    running ??= run();
  }

  async function write(batch: EndedAttempt[]) {
    const unrecorded = await recordAttempts(db, batch, ports.newId());
    const withdrawn = unrecorded.length === 0 ? [] : await recordWithdrawnAttempts(db, unrecorded, ports.newId());
    const dropped = unrecorded.length - withdrawn.length;
    if (dropped > 0) log.warn({ attempts: dropped }, "attempts.dropped");
    for (const attempt of batch) refusedAttempts.delete(attempt);
    if (!abandoned) onRecorded(batch, unrecorded);
  }

  const pending = () =>
    queue.length + writing.length + refusedAttempts.size + pieces.reduce((sum, piece) => sum + piece.length, 0);

  return {
    add(attempt) {
      queue.push(attempt);
      start();
    },
    pending,
    postponed: () => refusedAttempts.size,
    async waitUntilIdle() {
      while (running !== null) await running;
    },
    abandon() {
      abandoned = true;
      for (const { timer } of refusedAttempts.values()) clearTimeout(timer);
      refusedAttempts.clear();
      [queue, pieces] = [[], []];
    },
  };
}
