import { setTimeout as sleep } from "node:timers/promises";
import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import { type Database, isOutage } from "../store/database.ts";
import { type EndedAttempt, pokeCases, recordAttempts, recordWithdrawnAttempts } from "../store/delivery-attempts.ts";

export interface Recorder {
  add(ended: EndedAttempt): void;
  /** Attempts that ended and are not in the database yet. */
  pending(): number;
  /** Resolves when everything added so far is in the database, or dropped. */
  idle(): Promise<void>;
  /** Write no more; what is pending is forgotten, and its attempts are made again under the same numbers. */
  abandon(): void;
}

interface Options {
  db: Database;
  ports: Ports;
  log: Log;
  /** After commit. Those not recorded were withdrawn and logged, or made under a lease that is lost. */
  onRecorded(batch: readonly EndedAttempt[], recorded: ReadonlySet<string>): void;
}

const BATCH_MAX = 500;
const BACK_OFF_MAX_MS = 5_000;

/**
 * Writes ended attempts in batches: while one write is under way the next batch collects, so a quiet service writes at
 * once and a busy one shares each commit among hundreds. Nothing is lost in an outage: the batch is kept and tried again.
 */
export function createRecorder({ db, ports, log, onRecorded }: Options): Recorder {
  let queue: EndedAttempt[] = [];
  let writing: EndedAttempt[] = [];
  let running: Promise<void> | null = null;
  let abandoned = false;

  async function run() {
    let failures = 0;
    let limit = BATCH_MAX;
    while (queue.length > 0 && !abandoned) {
      writing = queue.slice(0, limit);
      queue = queue.slice(limit);
      try {
        await write(writing);
        failures = 0;
        limit = BATCH_MAX;
      } catch (error) {
        failures++;
        log.error({ err: error, attempts: writing.length, failures }, "attempts.record-failed");
        // A row that the database refuses goes to the end alone, so that it holds up nobody else's.
        if (isOutage(error)) queue = [...writing, ...queue];
        else if (writing.length > 1) [queue, limit] = [[...writing, ...queue], 1];
        else queue.push(...writing);
        await sleep(Math.min(50 * 2 ** failures, BACK_OFF_MAX_MS));
      }
      writing = [];
    }
  }

  async function write(batch: EndedAttempt[]) {
    const ended = batch.filter((attempt) => attempt.ends !== null);
    const recorded = await db.transaction(async (tx) => {
      if (ended.length > 0) await pokeCases(tx, ended, ports.now());
      const known = new Set(await recordAttempts(tx, batch));
      const missed = known.size === batch.length ? [] : batch.filter((attempt) => !known.has(attempt.eventId));
      const withdrawn = missed.length === 0 ? [] : await recordWithdrawnAttempts(tx, missed);
      const dropped = missed.length - withdrawn.length;
      if (dropped > 0) log.warn({ attempts: dropped }, "attempts.dropped");
      return known;
    });
    if (!abandoned) onRecorded(batch, recorded);
  }

  return {
    add(ended) {
      queue.push(ended);
      // Not before the rest of this turn: what ended together is written together.
      running ??= Promise.resolve()
        .then(run)
        .finally(() => {
          running = null;
        });
    },
    pending: () => queue.length + writing.length,
    async idle() {
      while (running !== null) await running;
    },
    abandon() {
      abandoned = true;
      queue = [];
    },
  };
}
