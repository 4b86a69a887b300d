/** A database that hangs must not keep the process from ending for longer. */
export const FORCED_EXIT_MS = 34_500;
const SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** The terminal signals all processes, and npm passes on to its own what they have got: so soon after the first it is the same. */
const REPEATED_SIGNAL_MS = 1_000;

/**
 * Resolves at the first SIGTERM or SIGINT. One that comes later than that means it: it ends the process as if nobody listened, and the
 * embedded server lives on until the next start.
 */
export function waitForStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const heed = () => {
      resolve();
      const letGo = () => {
        for (const signal of SIGNALS) process.off(signal, heed);
      };
      setTimeout(letGo, REPEATED_SIGNAL_MS).unref();
    };
    for (const signal of SIGNALS) process.on(signal, heed);
  });
}
