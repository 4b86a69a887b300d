/** Runs a call when its turn has come. */
export type Pacer = <T>(call: () => Promise<T>) => Promise<T>;

/** Lets at most so many calls begin per second, in their order. */
export function createPacer(
  perSecond: number,
  { nowMs, sleep }: { nowMs(): number; sleep(ms: number): Promise<unknown> },
): Pacer {
  const gapMs = 1_000 / perSecond;
  let nextAt = 0;
  return async (call) => {
    const now = nowMs();
    const at = Math.max(now, nextAt);
    nextAt = at + gapMs;
    if (at > now) await sleep(at - now);
    return await call();
  };
}
