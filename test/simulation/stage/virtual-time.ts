/** Time that moves only when all actors wait: a sleep of a week costs nothing. */
export interface VirtualTime {
  now(): Date;
  nowMs(): number;
  /** Resolves when the time has come, or when `cut` is called. */
  sleepUntil(atMs: number): Sleep;
  sleep(ms: number): Promise<void>;
  /** Moves the clock to the earliest sleeper and wakes it. Returns false if there is none. */
  wakeNext(): boolean;
  /** Lets a little time pass without waking any sleeper. */
  pass(ms: number): void;
}

export interface Sleep {
  over: Promise<void>;
  cut(): void;
}

interface Sleeper {
  atMs: number;
  order: number;
  wake(): void;
}

export function createVirtualTime(startMs: number): VirtualTime {
  let nowMs = startMs;
  let order = 0;
  /** Latest first, so that taking the next one is a pop. */
  const sleepers: Sleeper[] = [];

  const isLater = (a: Sleeper, b: Sleeper) => a.atMs > b.atMs || (a.atMs === b.atMs && a.order > b.order);

  function sleepUntil(atMs: number): Sleep {
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper: Sleeper = { atMs: Math.max(Math.ceil(atMs), nowMs), order: order++, wake: resolve };
    const index = sleepers.findIndex((other) => isLater(sleeper, other));
    sleepers.splice(index < 0 ? sleepers.length : index, 0, sleeper);
    const cut = () => {
      const at = sleepers.indexOf(sleeper);
      if (at >= 0) sleepers.splice(at, 1);
      resolve();
    };
    return { over: promise, cut };
  }

  return {
    now: () => new Date(nowMs),
    nowMs: () => nowMs,
    sleepUntil,
    sleep: (ms) => sleepUntil(nowMs + ms).over,
    wakeNext() {
      const next = sleepers.pop();
      if (next === undefined) return false;
      nowMs = Math.max(nowMs, next.atMs);
      next.wake();
      return true;
    },
    pass(ms) {
      nowMs += ms;
    },
  };
}
