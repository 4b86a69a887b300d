export interface RequestPacer {
  /** Runs the work once the limits allow. @throws the signal's reason if aborted before */
  run<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
}

export interface RequestPacerOptions {
  inFlightMax: number;
  perSecond: number;
  nowMs(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<unknown>;
}

/** Keeps at most `inFlightMax` requests in flight and starts at most `perSecond` in any second. */
export function createRequestPacer({ inFlightMax, perSecond, nowMs, sleep }: RequestPacerOptions): RequestPacer {
  const waiting: (() => void)[] = [];
  let inFlight = 0;
  /** A ring buffer: the next request may start a second after the one it replaces. */
  const startTimes = new Array<number>(perSecond).fill(Number.NEGATIVE_INFINITY);
  let next = 0;

  async function enter(signal: AbortSignal | undefined) {
    signal?.throwIfAborted();
    if (inFlight < inFlightMax) {
      inFlight++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const proceed = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      const abort = () => {
        waiting.splice(waiting.indexOf(proceed), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", abort, { once: true });
      waiting.push(proceed);
    });
  }

  function leave() {
    const proceed = waiting.shift();
    if (proceed) proceed();
    else inFlight--;
  }

  return {
    async run(signal, work) {
      await enter(signal);
      try {
        for (let waitMs = startTimes[next]! + 1000 - nowMs(); waitMs > 0; waitMs = startTimes[next]! + 1000 - nowMs())
          await sleep(waitMs, signal);
        startTimes[next] = nowMs();
        next = (next + 1) % perSecond;
        return await work();
      } finally {
        leave();
      }
    },
  };
}
