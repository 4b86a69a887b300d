/** The merchant's only clock. */
export interface WorkSchedule {
  /** Past work runs next. Work of the same time runs in the order of adding. */
  add(atMs: number, work: (at: Date) => void): void;
  /** Runs due work, each at its own time, including work added meanwhile. */
  run(now: Date): void;
  /** null without work. */
  nextAt(): Date | null;
}

export function createWorkSchedule(): WorkSchedule {
  /** Latest first, so that taking the next one is a pop. */
  const items: { atMs: number; work: (at: Date) => void }[] = [];
  let reachedMs = Number.NEGATIVE_INFINITY;

  return {
    add(atMs, work) {
      // Rounded up, or a Date would cut the time to before the event it waits for.
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
