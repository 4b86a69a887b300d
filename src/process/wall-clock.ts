/** A wall clock may differ by so much, in milliseconds, from what is expected of it before anything is done about it. */
const TOLERATED_SKEW_MS = 1_000;

/** What an operator wants to know of a clock. */
export interface ClockFigures {
  /** By how much this machine's clock is behind the database's, in milliseconds; what is used is the sum of both. */
  offsetMs: number;
  /** How often this machine's clock jumped since the start. */
  jumps: number;
}

/** A clock that is set to the database's. */
export interface WallClock {
  /** Milliseconds since 1970. */
  nowMs(): number;
  /**
   * Takes over the database's time.
   *
   * @param databaseMs  what its clock said when it was asked
   * @param askedMs  what `nowMs` said right before, and `answeredMs` right after
   * @returns by how many milliseconds this clock was set, 0 for a difference that does not matter
   */
  agree(databaseMs: number, askedMs: number, answeredMs: number): number;
  /** Who is told of each jump of this machine's clock, with its size in milliseconds. */
  onJump(listener: (byMs: number) => void): void;
  figures(): ClockFigures;
}

/**
 * This machine's clock, set to the database's: so all processes of an installation agree on the time, and a clock that jumps on one
 * machine makes nothing early or late. The monotonic clock shows a jump. Until the
 * database has answered, the time goes on as if there had been none.
 */
export function createWallClock(wallMs: () => number, monotonicMs: () => number): WallClock {
  /** Between the two clocks. */
  let apartMs = wallMs() - monotonicMs();
  let offsetMs = 0;
  let jumps = 0;
  let tell: (byMs: number) => void = () => {};
  return {
    nowMs() {
      const nowMs = wallMs();
      const byMs = nowMs - monotonicMs() - apartMs;
      if (Math.abs(byMs) > TOLERATED_SKEW_MS) {
        apartMs += byMs;
        offsetMs -= byMs;
        jumps++;
        tell(byMs);
      }
      return nowMs + offsetMs;
    },
    agree(databaseMs, askedMs, answeredMs) {
      if (databaseMs > askedMs - TOLERATED_SKEW_MS && databaseMs < answeredMs + TOLERATED_SKEW_MS) return 0;
      const byMs = databaseMs - (askedMs + answeredMs) / 2;
      offsetMs += byMs;
      if (Math.abs(offsetMs) < TOLERATED_SKEW_MS) offsetMs = 0;
      return byMs;
    },
    onJump(listener) {
      tell = listener;
    },
    figures: () => ({ offsetMs, jumps }),
  };
}
