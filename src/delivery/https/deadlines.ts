export interface Deadlines<Thing> {
  add(thing: Thing): void;
  remove(thing: Thing): void;
}

/** One timer serves all, because three timers per attempt would cost 3% of its CPU time. */
export function createDeadlines<Thing>(
  limitMs: number,
  monotonicMs: () => number,
  onLate: (thing: Thing) => void,
): Deadlines<Thing> {
  const begun = new Map<Thing, number>();
  let timer: NodeJS.Timeout | null = null;

  function checkDeadlines() {
    timer = null;
    const nowMs = monotonicMs();
    for (const [thing, sinceMs] of begun) {
      const remainingMs = sinceMs + limitMs - nowMs;
      if (remainingMs > 0) return arm(remainingMs);
      begun.delete(thing);
      onLate(thing);
    }
  }

  // A timer can fire a fraction of a millisecond early.
  const arm = (ms: number) => {
    timer ??= setTimeout(checkDeadlines, Math.ceil(ms));
  };

  return {
    add(thing) {
      begun.set(thing, monotonicMs());
      arm(limitMs);
    },
    remove(thing) {
      begun.delete(thing);
      if (begun.size > 0 || timer === null) return;
      clearTimeout(timer);
      timer = null;
    },
  };
}
