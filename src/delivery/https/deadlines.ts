/** Things that are to end within a time. Whose time is over is forgotten and told of. */
export interface Deadlines<Thing> {
  /** From now on; nothing that is in already. */
  add(thing: Thing): void;
  /** It ended in time, or was not in. */
  remove(thing: Thing): void;
}

/**
 * One timer for all, for the first of them: an attempt has three deadlines, and setting and clearing a timer for each was some 3 % of its
 * CPU.
 *
 * @param limitMs  the same for all, so that the first one in is the first one due
 */
export function createDeadlines<Thing>(
  limitMs: number,
  monotonicMs: () => number,
  onLate: (thing: Thing) => void,
): Deadlines<Thing> {
  const begun = new Map<Thing, number>();
  let timer: NodeJS.Timeout | null = null;

  function look() {
    timer = null;
    const nowMs = monotonicMs();
    for (const [thing, sinceMs] of begun) {
      const leftMs = sinceMs + limitMs - nowMs;
      if (leftMs > 0) return arm(leftMs);
      begun.delete(thing);
      onLate(thing);
    }
  }

  // Rounded up: a timer may be early by a part of a millisecond.
  const arm = (ms: number) => {
    timer ??= setTimeout(look, Math.ceil(ms));
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
