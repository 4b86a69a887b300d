// Runs one backtest in its own thread, because it may compute for minutes.
import { parentPort } from "node:worker_threads";
import { runBacktest } from "../backtest/backtest.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import type { NumberedRule } from "../domain/recovery-rule.ts";
import { fromPretrained, type PretrainedModel } from "../engine/learned/pretrained-model.ts";

/** Attempts arrive in parts, then the model, the time and the merchant's rules. */
export type WorkerMessage =
  | { attempts: PastAttempt[] }
  | { prior: PretrainedModel; now: Date; rules: readonly NumberedRule[] };

const attempts: PastAttempt[] = [];
parentPort!.on("message", (message: WorkerMessage) => {
  if ("attempts" in message) return void attempts.push(...message.attempts);
  const history = { attempts, problems: [], leftOut: 0, passedOver: [], unmet: [], repeated: 0 };
  parentPort!.postMessage(runBacktest(history, fromPretrained(message.prior), message.now, message.rules));
});
