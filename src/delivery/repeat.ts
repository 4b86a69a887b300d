/**
 * Does `work` again and again, never twice at once, `pauseMs` after its last end. A failure is told and changes nothing.
 *
 * It is no `startLoop`, which logs each failure, waits longer after each, and is waited for when it is stopped. Here the caller says what is
 * told of an outage, a lease is asked for again as soon as the database is back, and a stop waits for no round that hangs.
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
