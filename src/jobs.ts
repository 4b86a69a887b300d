import { Worker } from "node:worker_threads";
import type { Logger as Log } from "pino";
import type { ToWorker } from "./backtest-worker.ts";
import type { JobKind } from "./domain/job.ts";
import type { Ports } from "./domain/ports.ts";
import { startLoop } from "./loop.ts";
import type { Prior } from "./model/prior.ts";
import { backtestWork, type Judge } from "./recovery/backtest-job.ts";
import { JobFailure, jobsDue, type Work } from "./recovery/jobs.ts";
import { replayWork } from "./recovery/replay-job.ts";
import { shadowWork } from "./recovery/shadow-job.ts";
import type { Database } from "./store/database.ts";
import type { Walled } from "./store/walled.ts";

/** Jobs that another process took and left are found within this long. */
const LOOK_MS = 5_000;
/** A history beyond what fits in here is told of, and the service lives on. */
const HEAP_MB = 1_024;

interface Jobs {
  everyone: Database;
  walled: Walled;
  ports: Ports;
  log: Log;
  /** What is known before a history is looked at; null: backtests can't be made. */
  prior: Prior | null;
  /** Events of this merchant are due again. */
  onReplayed(merchantId: string): void;
}

/** Does what people ask for on pages and what takes longer than a page: a loop for each kind, so that none waits for another kind. */
export function startJobs({ prior, onReplayed, ...rest }: Jobs) {
  const ending = new AbortController();
  const works: Record<JobKind, Work> = {
    replay: replayWork(rest.ports, onReplayed),
    backtest: backtestWork(() => judgeInThread(prior, rest.ports)),
    shadow: shadowWork(rest.ports),
  };
  const kinds = Object.keys(works) as JobKind[];
  const loops = new Map(
    kinds.map((kind) => {
      const once = () => jobsDue({ ...rest, kind, work: works[kind], signal: ending.signal });
      return [kind, startLoop(`job_${kind}`, rest.log, async () => ((await once()) ? 0 : LOOK_MS))];
    }),
  );
  return {
    wake: (kind: JobKind) => loops.get(kind)!.wake(),
    async stop() {
      ending.abort();
      await Promise.all([...loops.values()].map((loop) => loop.stop()));
    },
  };
}

/** A backtest in a thread of its own, so that the service's stays free for requests. */
export function judgeInThread(prior: Prior | null, { now }: Pick<Ports, "now">): Judge {
  if (!prior) throw new JobFailure("The engine's prior can't be read here, so nothing can be judged.");
  const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB };
  const worker = new Worker(new URL("./backtest-worker.ts", import.meta.url), { resourceLimits });
  const judged = new Promise<object>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", (error) =>
      reject(
        (error as { code?: string }).code === "ERR_WORKER_OUT_OF_MEMORY"
          ? new JobFailure("The history is too large to be judged.")
          : error,
      ),
    );
    worker.once("exit", () => reject(new Error("the thread of the backtest has ended")));
  });
  // It may end before anybody asks for its answer.
  judged.catch(() => {});
  const send = (message: ToWorker) => worker.postMessage(message);
  return {
    add: (attempts) => send({ attempts: [...attempts] }),
    judge() {
      send({ prior, now: now() });
      return judged;
    },
    stop: () => worker.terminate(),
  };
}
