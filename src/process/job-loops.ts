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

/** Finds jobs that another process abandoned. */
const JOB_POLL_MS = 5_000;
/** A larger history fails its job, and not the service. */
const BACKTEST_HEAP_MB = 1_024;

interface JobLoopOptions {
  everyone: Database;
  walled: TenantDatabase;
  ports: Ports;
  log: Log;
  /** Null makes backtests impossible. */
  prior: PretrainedModel | null;
  onReplayed(merchantId: string): void;
}

/** One loop for each kind, so that no kind waits for another. */
export function startJobLoops({ prior, onReplayed, ...rest }: JobLoopOptions) {
  const ending = new AbortController();
  const handlers: Record<JobKind, JobHandler> = {
    replay: createReplayHandler(rest.ports, onReplayed),
    backtest: createBacktestHandler(() => runBacktestInWorker(prior, rest.ports)),
    shadow: createShadowHandler(rest.ports),
  };
  const kinds = Object.keys(handlers) as JobKind[];
  const loops = new Map(
    kinds.map((kind) => {
      const once = () => runNextJob({ ...rest, kind, work: handlers[kind], signal: ending.signal });
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

/** In a thread, so that the service can answer requests meanwhile. */
export function runBacktestInWorker(prior: PretrainedModel | null, { now }: Pick<Ports, "now">): BacktestRunner {
  if (!prior) throw new JobFailure("The pretrained model cannot be read, so backtests are not possible.");
  const resourceLimits = { maxOldGenerationSizeMb: BACKTEST_HEAP_MB };
  const worker = new Worker(new URL("./backtest-worker.ts", import.meta.url), { resourceLimits });
  const result = new Promise<object>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", (error) =>
      reject(
        (error as { code?: string }).code === "ERR_WORKER_OUT_OF_MEMORY"
          ? new JobFailure("The history is too large for a backtest.")
          : error,
      ),
    );
    worker.once("exit", () => reject(new Error("the backtest thread exited")));
  });
  // It may fail before its result is awaited.
  result.catch(() => {});
  const send = (message: WorkerMessage) => worker.postMessage(message);
  return {
    add: (attempts) => send({ attempts: [...attempts] }),
    judge(rules) {
      send({ prior, now: now(), rules });
      return result;
    },
    stop: () => worker.terminate(),
  };
}
