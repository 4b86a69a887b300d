export interface Deadlines<Thing> {
  add(item: Thing): void;
  remove(item: Thing): void;
}

/** One timer serves all, because three timers per attempt would cost 3% of its CPU time. */
export function createDeadlines<Thing>(
  limitMs: number,
  monotonicMs: () => number,
  onLate: (item: Thing) => void,
): Deadlines<Thing> {
  const startTimes = new Map<Thing, number>();
  let timer: NodeJS.Timeout | null = null;

  function checkDeadlines() {
    timer = null;
    const nowMs = monotonicMs();
    for (const [item, sinceMs] of startTimes) {
      const remainingMs = sinceMs + limitMs - nowMs;
      if (remainingMs > 0) return arm(remainingMs);
      startTimes.delete(item);
      onLate(item);
    }
  }

  // A timer can fire a fraction of a millisecond early.
  const arm = (ms: number) => {
    timer ??= setTimeout(checkDeadlines, Math.ceil(ms));
  };

  return {
    add(item) {
      startTimes.set(item, monotonicMs());
      arm(limitMs);
    },
    remove(item) {
      startTimes.delete(item);
      if (startTimes.size > 0 || timer === null) return;
      clearTimeout(timer);
      timer = null;
    },
  };
}
