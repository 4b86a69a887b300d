export interface RequestPacer {
  /** Does the work when it may begin. @throws the signal's reason when it is aborted before that */
  run<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
}

export interface RequestPacerOptions {
  inFlightMax: number;
  perSecond: number;
  /** Never goes backwards. */
  nowMs(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<unknown>;
}

/** Lets work begin so that never more than `maxInFlight` are under way, and never more than `perSecond` begin in any second. */
export function createRequestPacer({ inFlightMax, perSecond, nowMs, sleep }: RequestPacerOptions): RequestPacer {
  const waiting: (() => void)[] = [];
  let inFlight = 0;
  /** When the last ones began, a ring: the next may begin a second after the one whose place it takes. */
  const begun = new Array<number>(perSecond).fill(Number.NEGATIVE_INFINITY);
  let place = 0;

  async function enter(signal: AbortSignal | undefined) {
    signal?.throwIfAborted();
    if (inFlight < inFlightMax) {
      inFlight++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const take = () => {
        signal?.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        waiting.splice(waiting.indexOf(take), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      waiting.push(take);
    });
  }

  function leave() {
    const take = waiting.shift();
    if (take) take();
    else inFlight--;
  }

  return {
    async run(signal, work) {
      await enter(signal);
      try {
        for (let waitMs = begun[place]! + 1000 - nowMs(); waitMs > 0; waitMs = begun[place]! + 1000 - nowMs())
          await sleep(waitMs, signal);
        begun[place] = nowMs();
        place = (place + 1) % perSecond;
        return await work();
      } finally {
        leave();
      }
    },
  };
}
