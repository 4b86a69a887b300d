import type { Logger as Log } from "pino";
import { errorFields } from "../postgres/database-errors.ts";

/** A background program: `runOnce`, again and again, until it is stopped. */
export interface Loop {
  /** There may be work now. */
  wake(): void;
  /** Waits for the round that is under way. */
  stop(): Promise<void>;
}

const RETRY_MS = 250;
/** Work goes on within this long after an outage. */
const RETRY_MAX_MS = 2_000;

/**
 * @param runOnce  does what is due and returns how many real milliseconds may pass until it is worth looking again;
 *   `wake` cuts them short. When it throws, the loop comes again, a little later each time. It logs `NAME.failed` at the first failure in a row, the second,
 *   the fourth and so on, and `NAME.recovered` when they are over.
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
        if (failures > 0) log.info({ failures }, `${name}.recovered`);
        failures = 0;
      } catch (error) {
        pauseMs = Math.min(RETRY_MS * 2 ** failures++, RETRY_MAX_MS);
        if (Number.isInteger(Math.log2(failures))) log.error({ ...errorFields(error), failures }, `${name}.failed`);
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
