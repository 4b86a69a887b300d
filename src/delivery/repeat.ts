/**
 * Unlike `startLoop`, does not wait longer after a failure, so that leases are renewed as soon as the database is back, and a
 * stop does not wait for a hanging run.
 */
export function repeatWork(
  pauseMs: number,
  work: () => Promise<void>,
  onFailure: (error: unknown) => void,
): { stop(): void } {
  let stopped = false;
  let timer = setTimeout(run, pauseMs);
  function run() {
    work()
      .catch(onFailure)
      .then(() => {
        if (!stopped) timer = setTimeout(run, pauseMs);
      });
  }
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
