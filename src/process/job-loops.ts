import { Worker } from "node:worker_threads";
import type { Logger as Log } from "pino";
import type { JobKind } from "../domain/job.ts";
import type { Ports } from "../domain/ports.ts";
import type { PretrainedModel } from "../engine/learned/pretrained-model.ts";
import { type BacktestRunner, createBacktestHandler } from "../jobs/backtest-job.ts";
import { createReplayHandler } from "../jobs/replay-job.ts";
import { JobFailure, type JobHandler, runNextJob } from "../jobs/run-jobs.ts";
import type { Database } from "../postgres/database.ts";
import type { TenantDatabase } from "../postgres/tenant-database.ts";
import { createShadowHandler } from "../shadow/shadow-job.ts";
import type { WorkerMessage } from "./backtest-worker.ts";
import { startLoop } from "./loop.ts";

/** Jobs that another process took and left are found within this long. */
const JOB_POLL_MS = 5_000;
/** A history beyond what fits in here is told of, and the service lives on. */
const BACKTEST_HEAP_MB = 1_024;

interface JobLoopOptions {
  everyone: Database;
  walled: TenantDatabase;
  ports: Ports;
  log: Log;
  /** What is known before a history is looked at; null: backtests can't be made. */
  prior: PretrainedModel | null;
  /** Events of this merchant are due again. */
  onReplayed(merchantId: string): void;
}

/** Does what people ask for on pages and what takes longer than a page: a loop for each kind, so that none waits for another kind. */
export function startJobLoops({ prior, onReplayed, ...rest }: JobLoopOptions) {
  const ending = new AbortController();
  const works: Record<JobKind, JobHandler> = {
    replay: createReplayHandler(rest.ports, onReplayed),
    backtest: createBacktestHandler(() => runBacktestInWorker(prior, rest.ports)),
    shadow: createShadowHandler(rest.ports),
  };
  const kinds = Object.keys(works) as JobKind[];
  const loops = new Map(
    kinds.map((kind) => {
      const once = () => runNextJob({ ...rest, kind, work: works[kind], signal: ending.signal });
      return [kind, startLoop(`job_${kind}`, rest.log, async () => ((await once()) ? 0 : JOB_POLL_MS))];
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
export function runBacktestInWorker(prior: PretrainedModel | null, { now }: Pick<Ports, "now">): BacktestRunner {
  if (!prior) throw new JobFailure("The engine's prior can't be read here, so nothing can be judged.");
  const resourceLimits = { maxOldGenerationSizeMb: BACKTEST_HEAP_MB };
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
  const send = (message: WorkerMessage) => worker.postMessage(message);
  return {
    add: (attempts) => send({ attempts: [...attempts] }),
    judge() {
      send({ prior, now: now() });
      return judged;
    },
    stop: () => worker.terminate(),
  };
}
