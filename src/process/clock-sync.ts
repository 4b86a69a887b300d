import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { readServerFacts } from "../postgres/server-facts.ts";
import { rescheduleAfterClockReset } from "../tables/reschedule-after-clock-reset.ts";
import { type Loop, startLoop } from "./loop.ts";
import type { WallClock } from "./wall-clock.ts";

const SYNC_INTERVAL_MS = 10_000;

/** @returns by how many milliseconds the clock was set; 0 if it agreed */
export async function syncWithDatabase(clock: WallClock, db: Tx, log: Log): Promise<number> {
  const requestedMs = clock.nowMs();
  const { now } = await readServerFacts(db);
  const byMs = clock.syncTo(now.getTime(), requestedMs, clock.nowMs());
  if (byMs !== 0) log.warn({ byMs: Math.round(byMs), ...clock.figures() }, "clock.set");
  return byMs;
}

interface Options {
  db: Database;
  clock: WallClock;
  ports: Ports;
  log: Log;
  /** Records that were scheduled too far ahead are due now. */
  onSetBack(): void;
}

/**
 * Reschedules records written while the clock was ahead: at the start, for the previous process, and after each reset.
 */
export function startClockSync({ db, clock, ports, log, onSetBack }: Options): Loop {
  let needsReschedule = true;
  const loop = startLoop("clock", log, async () => {
    if ((await syncWithDatabase(clock, db, log)) < 0) needsReschedule = true;
    if (needsReschedule) {
      const rescheduled = await rescheduleAfterClockReset(db, ports.now(), ports.newId());
      needsReschedule = false;
      if (rescheduled.deliveries + rescheduled.cases > 0) {
        log.warn(rescheduled, "clock.mended");
        onSetBack();
      }
    }
    return SYNC_INTERVAL_MS;
  });
  clock.onJump((byMs) => {
    log.warn({ byMs: Math.round(byMs) }, "clock.jumped");
    loop.wake();
  });
  return loop;
}
