// A thread of its own for one backtest: seconds to minutes of arithmetic, during which the service goes on.
import { parentPort } from "node:worker_threads";
import { backtest } from "./backtest/backtest.ts";
import type { PastAttempt } from "./domain/past-attempt.ts";
import { fromPrior, type Prior } from "./model/prior.ts";

/** Attempts come in parts, then what is known before, and the moment. */
export type ToWorker = { attempts: PastAttempt[] } | { prior: Prior; now: Date };

const attempts: PastAttempt[] = [];
parentPort!.on("message", (message: ToWorker) => {
  if ("attempts" in message) return void attempts.push(...message.attempts);
  const history = { attempts, problems: [], leftOut: 0, passedOver: [], unmet: [], repeated: 0 };
  parentPort!.postMessage(backtest(history, fromPrior(message.prior), message.now));
});
