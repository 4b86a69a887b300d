import type { Logger as Log } from "pino";
import { errorFields } from "../postgres/database-errors.ts";

export interface Loop {
  /** Ends the current pause. */
  wake(): void;
  /** Waits for the current run. */
  stop(): Promise<void>;
}

const RETRY_MS = 250;
const RETRY_MAX_MS = 2_000;

/**
 * After an error the loop retries with growing delays. It logs `NAME.failed` at the 1st, 2nd, 4th, 8th … failure in a
 * row, and `NAME.recovered` after the next success.
 *
 * @param runOnce  does what is due, and returns the pause before the next run in real milliseconds; `wake` cuts it
 * short
 */
export function startLoop(name: string, log: Log, runOnce: () => Promise<number>): Loop {
  let isStopped = false;
  let isWoken = false;
  let endPause = () => {};
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const ended = (async () => {
    for (let failures = 0; !isStopped; ) {
      isWoken = false;
      let pauseMs: number;
      try {
        pauseMs = await runOnce();
        if (failures > 0) log.info({ failures }, `${name}.recovered`);
        failures = 0;
      } catch (error) {
        pauseMs = Math.min(RETRY_MS * 2 ** failures++, RETRY_MAX_MS);
        if (Number.isInteger(Math.log2(failures))) log.error({ ...errorFields(error), failures }, `${name}.failed`);
      }
      if (!isWoken && !isStopped && pauseMs > 0) await pause(pauseMs);
    }
  })();
  return {
    wake() {
      isWoken = true;
      endPause();
    },
    stop() {
      isStopped = true;
      endPause();
      return ended;
    },
  };
}
