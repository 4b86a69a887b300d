const TOLERATED_SKEW_MS = 1_000;

export interface ClockFigures {
  /** Added to this machine's clock to get the database's time. */
  offsetMs: number;
  /** Jumps of this machine's clock since the start. */
  jumps: number;
}

/** A clock in sync with the database. */
export interface WallClock {
  /** Since 1970. */
  nowMs(): number;
  /**
   * Adopts the database's time.
   *
   * @param databaseMs  the answer of the database
   * @param requestedMs  `nowMs` right before the request, and `answeredMs` right after
   * @returns by how many milliseconds this clock was set; 0 for a small difference
   */
  syncTo(databaseMs: number, requestedMs: number, answeredMs: number): number;
  /** Registers the listener for jumps of this machine's clock. */
  onJump(listener: (byMs: number) => void): void;
  figures(): ClockFigures;
}

/**
 * All processes of an installation agree on the time, and a jump on one machine makes nothing early or late. Jumps are
 * detected by the monotonic clock, and ignored until the database confirms them.
 */
export function createWallClock(wallMs: () => number, monotonicMs: () => number): WallClock {
  /** Between the wall clock and the monotonic clock. */
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
