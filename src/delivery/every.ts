/** Does `work` again and again, never twice at once, `pauseMs` after its last end. A failure is told and changes nothing. */
export function every(
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
