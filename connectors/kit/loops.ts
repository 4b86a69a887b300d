export interface LoopStep {
  name: string;
  /** Real milliseconds between two runs; a run that did something is followed by the next one at once. */
  everyMs: number;
  /** Returns how much it did. */
  run(): Promise<number>;
}

export interface LoopOptions {
  sleep(ms: number, signal: AbortSignal): Promise<unknown>;
  onError(name: string, error: unknown): void;
  onSuccess?(name: string): void;
}

/** Runs steps side by side until stopped. A step that fails runs again after its pause. */
export function startLoops(
  steps: readonly LoopStep[],
  { sleep, onError, onSuccess }: LoopOptions,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const loops = steps.map(async ({ name, everyMs, run }) => {
    while (!signal.aborted) {
      const done = await run().then(
        (count) => {
          onSuccess?.(name);
          return count;
        },
        (error) => {
          onError(name, error);
          return 0;
        },
      );
      if (done === 0) await sleep(everyMs, signal).catch(() => {});
    }
  });
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

/** Does work for each item, at most `limit` at once. The work must not throw. */
export async function forEachAtOnce<T>(items: readonly T[], limit: number, work: (item: T) => Promise<unknown>) {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
