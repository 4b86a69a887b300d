/** Runs a call when its turn has come. */
export type Pacer = <T>(call: () => Promise<T>) => Promise<T>;

export interface PacerOptions {
  nowMs(): number;
  sleep(ms: number): Promise<unknown>;
  /** Whether the provider refused a call, before it did anything, because there were too many. */
  isRefused(error: unknown): boolean;
  onCall?(outcome: "answered" | "refused" | "failed"): void;
}

const REFUSALS_MAX = 6;
const FIRST_WAIT_MS = 500;

/**
 * Lets at most so many calls begin per second, in their order. A refused call is made again, and all calls wait longer after each
 * refusal.
 */
export function createPacer(perSecond: number, { nowMs, sleep, isRefused, onCall = () => {} }: PacerOptions): Pacer {
  const gapMs = 1_000 / perSecond;
  let nextAt = 0;
  return async (call) => {
    for (let refusals = 0; ; refusals++) {
      const now = nowMs();
      const at = Math.max(now, nextAt);
      nextAt = at + gapMs;
      if (at > now) await sleep(at - now);
      try {
        const answer = await call();
        onCall("answered");
        return answer;
      } catch (error) {
        const isTooFast = isRefused(error);
        onCall(isTooFast ? "refused" : "failed");
        if (!isTooFast || refusals === REFUSALS_MAX) throw error;
        nextAt = Math.max(nextAt, nowMs() + FIRST_WAIT_MS * 2 ** refusals);
      }
    }
  };
}
