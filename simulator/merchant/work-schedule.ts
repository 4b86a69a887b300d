/** What is to be done when: the only clock of the merchant. */
export interface WorkSchedule {
  /** Does `work` at `atMs`, or in the next run when that is past. Work of the same moment is done in the order it was added. */
  add(atMs: number, work: (at: Date) => void): void;
  /** Does everything due up to `now`, each at its own moment, also what is added meanwhile. */
  run(now: Date): void;
  /** Null when there is nothing to do. */
  nextAt(): Date | null;
}

/** An empty agenda. */
export function createWorkSchedule(): WorkSchedule {
  /** Latest first, so that taking the next one is a pop. */
  const items: { atMs: number; work: (at: Date) => void }[] = [];
  let reachedMs = Number.NEGATIVE_INFINITY;

  return {
    add(atMs, work) {
      // Whole milliseconds, or a moment would be cut down to before what it waits for.
      const dueMs = Math.max(Math.ceil(atMs), reachedMs);
      let low = 0;
      let high = items.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (items[middle]!.atMs > dueMs) low = middle + 1;
        else high = middle;
      }
      items.splice(low, 0, { atMs: dueMs, work });
    },
    run(now) {
      while (items.length > 0 && items.at(-1)!.atMs <= now.getTime()) {
        const { atMs, work } = items.pop()!;
        reachedMs = atMs;
        work(new Date(atMs));
      }
      reachedMs = Math.max(reachedMs, now.getTime());
    },
    nextAt: () => (items.length > 0 ? new Date(items.at(-1)!.atMs) : null),
  };
}
