import type { Logger as Log } from "pino";
import { errorFields } from "./store/database.ts";

/** A background program: `runOnce`, again and again, until it is stopped. */
export interface Loop {
  /** There may be work now. */
  wake(): void;
  /** Waits for the round that is under way. */
  stop(): Promise<void>;
}

const RETRY_MS = 250;
const RETRY_MAX_MS = 10_000;

/**
 * @param runOnce  does what is due and returns how many real milliseconds may pass until it is worth looking again;
 *   `wake` cuts them short. When it throws, the loop logs `NAME.failed` and comes again, later each time.
 */
export function startLoop(name: string, log: Log, runOnce: () => Promise<number>): Loop {
  let stopped = false;
  let woken = false;
  let endNap = () => {};
  const nap = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      endNap = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const ended = (async () => {
    for (let failures = 0; !stopped; ) {
      woken = false;
      let pauseMs: number;
      try {
        pauseMs = await runOnce();
        failures = 0;
      } catch (error) {
        pauseMs = Math.min(RETRY_MS * 2 ** failures++, RETRY_MAX_MS);
        log.error({ ...errorFields(error), retryMs: pauseMs }, `${name}.failed`);
      }
      if (!woken && !stopped && pauseMs > 0) await nap(pauseMs);
    }
  })();
  return {
    wake() {
      woken = true;
      endNap();
    },
    stop() {
      stopped = true;
      endNap();
      return ended;
    },
  };
}
