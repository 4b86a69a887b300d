/** A hanging database must not delay the exit for longer. */
export const FORCED_EXIT_MS = 34_500;
const SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** A terminal signals all processes, and npm forwards its signal, so a second signal this soon is the same one. */
const REPEATED_SIGNAL_MS = 1_000;

/** Resolves at the first signal. A second one ends the process at once, and the embedded server lives on. */
export function waitForStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const onSignal = () => {
      resolve();
      const restoreDefault = () => {
        for (const signal of SIGNALS) process.off(signal, onSignal);
      };
      setTimeout(restoreDefault, REPEATED_SIGNAL_MS).unref();
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
  });
}
