import type { Logger as Log } from "pino";

/** Whoever ran out of files or memory makes it no better by trying at once. */
const PROBE_INTERVAL_MS = 1_000;

/** While this process has no more of something it begins no attempt, but for one now and then. */
export interface ExhaustionPause {
  isOn(): boolean;
  /** An attempt could not be sent, for this reason. */
  begin(why: string): void;
  /** An attempt was sent. */
  end(): void;
  /** Attempts that were not sent since the start. */
  unsent(): number;
  clear(): void;
}

/** @param onOver  it is time for another attempt */
export function createExhaustionPause(log: Log, onOver: () => void): ExhaustionPause {
  let timer: NodeJS.Timeout | null = null;
  let isTold = false;
  let unsent = 0;
  return {
    isOn: () => timer !== null,
    begin(why) {
      unsent++;
      if (!isTold) log.error({ why }, "deliveries.held");
      isTold = true;
      timer ??= setTimeout(() => {
        timer = null;
        onOver();
      }, PROBE_INTERVAL_MS);
    },
    end() {
      if (!isTold || timer !== null) return;
      isTold = false;
      log.info({ unsent }, "deliveries.resumed");
    },
    unsent: () => unsent,
    clear() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
