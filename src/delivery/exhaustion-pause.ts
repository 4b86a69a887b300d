import type { Logger as Log } from "pino";

const PROBE_INTERVAL_MS = 1_000;

/** While this process is out of a resource, starts one attempt per interval. */
export interface ExhaustionPause {
  isOn(): boolean;
  /** An attempt was not sent. */
  begin(reason: string): void;
  /** An attempt was sent. */
  end(): void;
  /** Since the process started. */
  unsent(): number;
  clear(): void;
}

export function createExhaustionPause(log: Log, onOver: () => void): ExhaustionPause {
  let timer: NodeJS.Timeout | null = null;
  let isLogged = false;
  let unsent = 0;
  return {
    isOn: () => timer !== null,
    begin(reason) {
      unsent++;
      if (!isLogged) log.error({ why: reason }, "deliveries.held");
      isLogged = true;
      timer ??= setTimeout(() => {
        timer = null;
        onOver();
      }, PROBE_INTERVAL_MS);
    },
    end() {
      if (!isLogged || timer !== null) return;
      isLogged = false;
      log.info({ unsent }, "deliveries.resumed");
    },
    unsent: () => unsent,
    clear() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
