import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { readServerFacts } from "../postgres/server-facts.ts";
import { rescheduleAfterClockReset } from "../tables/reschedule-after-clock-reset.ts";
import { type Loop, startLoop } from "./loop.ts";
import type { WallClock } from "./wall-clock.ts";

/** The database is asked for its time that often; at once after a jump. */
const SYNC_INTERVAL_MS = 10_000;

/**
 * Sets a clock to the database's.
 *
 * @returns by how many milliseconds it was set; 0: it agreed
 */
export async function syncWithDatabase(clock: WallClock, db: Tx, log: Log): Promise<number> {
  const askedMs = clock.nowMs();
  const { now } = await readServerFacts(db);
  const byMs = clock.agree(now.getTime(), askedMs, clock.nowMs());
  if (byMs !== 0) log.warn({ byMs: Math.round(byMs), ...clock.figures() }, "clock.set");
  return byMs;
}

interface Options {
  db: Database;
  clock: WallClock;
  ports: Ports;
  log: Log;
  /** What waited for a moment that is far off is due now. */
  onSetBack(): void;
}

/** Keeps the clock set, and mends what was written while it was ahead: once at the start, for the process before this one, and each time it is set back. */
export function startClockSync({ db, clock, ports, log, onSetBack }: Options): Loop {
  let isToMend = true;
  const loop = startLoop("clock", log, async () => {
    if ((await syncWithDatabase(clock, db, log)) < 0) isToMend = true;
    if (isToMend) {
      const mended = await rescheduleAfterClockReset(db, ports.now(), ports.newId());
      isToMend = false;
      if (mended.deliveries + mended.cases > 0) {
        log.warn(mended, "clock.mended");
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
