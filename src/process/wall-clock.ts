const TOLERATED_SKEW_MS = 1_000;

export interface ClockFigures {
  /** Added to this machine's clock to get the database's time. */
  offsetMs: number;
  jumps: number;
}

export interface WallClock {
  /** Since 1970. */
  nowMs(): number;
  /**
   * Adopts the database's time.
   *
   * @param databaseMs  its answer
   * @param requestedMs  `nowMs` right before the request, and `answeredMs` right after
   * @returns by how many milliseconds this clock was set; 0 for a small difference
   */
  syncTo(databaseMs: number, requestedMs: number, answeredMs: number): number;
  onJump(listener: (byMs: number) => void): void;
  figures(): ClockFigures;
}

/**
 * Keeps all processes on the database's time. A jump of this machine's clock is detected by the monotonic clock, and
 * ignored until the database confirms it.
 */
export function createWallClock(wallMs: () => number, monotonicMs: () => number): WallClock {
  let distanceMs = wallMs() - monotonicMs();
  let offsetMs = 0;
  let jumps = 0;
  let notifyListener: (byMs: number) => void = () => {};
  return {
    nowMs() {
      const nowMs = wallMs();
      const byMs = nowMs - monotonicMs() - distanceMs;
      if (Math.abs(byMs) > TOLERATED_SKEW_MS) {
        distanceMs += byMs;
        offsetMs -= byMs;
        jumps++;
        notifyListener(byMs);
      }
      return nowMs + offsetMs;
    },
    syncTo(databaseMs, requestedMs, answeredMs) {
      if (databaseMs > requestedMs - TOLERATED_SKEW_MS && databaseMs < answeredMs + TOLERATED_SKEW_MS) return 0;
      const byMs = databaseMs - (requestedMs + answeredMs) / 2;
      offsetMs += byMs;
      if (Math.abs(offsetMs) < TOLERATED_SKEW_MS) offsetMs = 0;
      return byMs;
    },
    onJump(listener) {
      notifyListener = listener;
    },
    figures: () => ({ offsetMs, jumps }),
  };
}
