import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { errorFields, isOutage } from "../postgres/database-errors.ts";
import { type EndedAttempt, recordAttempts, recordWithdrawnAttempts } from "../tables/delivery-attempts.ts";

export interface AttemptRecorder {
  add(ended: EndedAttempt): void;
  /** Attempts that ended and are not in the database yet. */
  pending(): number;
  /** Those of them that the database refused: they are tried again now and then, and nobody waits for them. */
  setAside(): number;
  /** Resolves when everything added so far is in the database, dropped or set aside. */
  idle(): Promise<void>;
  /** Write no more; what is pending is forgotten, and its attempts are made again under the same numbers. */
  abandon(): void;
}

interface Options {
  db: Database;
  ports: Ports;
  log: Log;
  /** Real milliseconds; virtual ones in a simulation. */
  sleep(ms: number): Promise<unknown>;
  /** After commit. Those left out were withdrawn and logged, or made under a lease that is lost. */
  onRecorded(batch: readonly EndedAttempt[], leftOut: readonly EndedAttempt[]): void;
}

const BATCH_MAX = 500;
const OUTAGE_PAUSE_MAX_MS = 2_000;
const REFUSED_PAUSE_MAX_MS = 60_000;

/**
 * Writes ended attempts in batches: while one write is under way the next batch collects, so a quiet service writes at
 * once and a busy one shares each commit among hundreds. Nothing is lost in an outage: the batch is kept and tried again.
 * A batch that the database refuses is halved until the row is found that it cannot hold; the others are not held up.
 */
export function createAttemptRecorder({ db, ports, log, sleep, onRecorded }: Options): AttemptRecorder {
  let queue: EndedAttempt[] = [];
  /** What was taken from the queue and not written: to be written before it, in these pieces. */
  let pieces: EndedAttempt[][] = [];
  let writing: EndedAttempt[] = [];
  const refused = new Map<EndedAttempt, { times: number; timer: NodeJS.Timeout }>();
  let running: Promise<void> | null = null;
  let abandoned = false;

  async function run() {
    // Not before the rest of this turn: what ended together is written together.
    await null;
    let outages = 0;
    while (!abandoned) {
      writing = pieces.shift() ?? queue.splice(0, BATCH_MAX);
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
          const half = writing.length >> 1;
          pieces.unshift(writing.slice(0, half), writing.slice(half));
        } else for (const ended of writing) setAside(ended, error);
      }
      writing = [];
    }
    // In one breath with the last look, so that nothing is added in between and waits for the next one.
    running = null;
  }

  function setAside(ended: EndedAttempt, error: unknown) {
    if (abandoned) return;
    const times = (refused.get(ended)?.times ?? 0) + 1;
    const { merchantId, eventId, number } = ended;
    log.error({ ...errorFields(error), merchantId, eventId, number, times }, "attempts.refused");
    const again = () => {
      pieces.push([ended]);
      start();
    };
    refused.set(ended, { times, timer: setTimeout(again, Math.min(50 * 2 ** times, REFUSED_PAUSE_MAX_MS)) });
  }

  function start() {
    running ??= run();
  }

  async function write(batch: EndedAttempt[]) {
    const leftOut = await recordAttempts(db, batch, ports.newId());
    const withdrawn = leftOut.length === 0 ? [] : await recordWithdrawnAttempts(db, leftOut, ports.newId());
    const dropped = leftOut.length - withdrawn.length;
    if (dropped > 0) log.warn({ attempts: dropped }, "attempts.dropped");
    for (const ended of batch) refused.delete(ended);
    if (!abandoned) onRecorded(batch, leftOut);
  }

  const pending = () =>
    queue.length + writing.length + refused.size + pieces.reduce((sum, piece) => sum + piece.length, 0);

  return {
    add(ended) {
      queue.push(ended);
      start();
    },
    pending,
    setAside: () => refused.size,
    async idle() {
      while (running !== null) await running;
    },
    abandon() {
      abandoned = true;
      for (const { timer } of refused.values()) clearTimeout(timer);
      refused.clear();
      [queue, pieces] = [[], []];
    },
  };
}
