import type { Job } from "../domain/job.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { NumberedRule } from "../domain/recovery-rule.ts";
import { findBrand } from "../engine/rules/card-networks.ts";
import { normalizeGatewayCode, normalizeNetworkCode } from "../engine/rules/gateway-codes.ts";
import { isUnsent } from "../engine/rules/unsent-attempts.ts";
import type { Database } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { insertJob } from "../tables/job-queue.ts";
import { readAttemptsAfter, type StoredAttempt } from "../tables/past-attempts.ts";
import { listRecoveryRules } from "../tables/recovery-rules.ts";
import { type ClaimedJob, JobFailure, type JobHandler } from "./run-jobs.ts";

/** A page takes the main thread a few milliseconds. */
const ATTEMPTS_PER_PAGE = 1_000;
/** The worker needs about 2 KB per attempt. */
const MAX_ATTEMPTS = 250_000;
const HEARTBEAT_MS = 5_000;

export interface BacktestProgress {
  read?: number;
  isJudging?: boolean;
}

/** `isCut`: invoices with the first ids did not fit. */
export type BacktestJob<Result> = Job<unknown, BacktestProgress, { backtest: Result; isCut: boolean }>;

/** Returns the job's id, or null if one is queued or running. */
export async function requestBacktest(
  db: Database,
  merchantId: string,
  actor: Actor,
  ports: Ports,
): Promise<string | null> {
  const id = ports.newId();
  return db.transaction(async (tx) => {
    const job = { merchantId, id, kind: "backtest", askedAt: ports.now(), actor, input: {}, progress: {} } as const;
    if (!(await insertJob(tx, job, ports.realNow()))) return null;
    await writeAuditEntry(tx, merchantId, actor, { operation: "backtest.asked", object: "payment attempts" }, ports);
    return id;
  });
}

export interface BacktestRunner {
  add(attempts: readonly PastAttempt[]): void;
  /** Rejects if the runner stops or fails. */
  judge(rules: readonly NumberedRule[]): Promise<object>;
  stop(): Promise<unknown>;
}

const toPastAttempt = ({ id, gateway, gatewayType, gatewayStatus, ...attempt }: StoredAttempt): PastAttempt => ({
  ...attempt,
  networkDeclineCode: normalizeNetworkCode(
    attempt.networkDeclineCode,
    findBrand(attempt.cardBrand, attempt.paymentMethodType),
    gateway,
    gatewayType,
  ),
  gatewayCode: normalizeGatewayCode(attempt.gatewayCode, gateway, gatewayType),
});

/** An attempt that the gateway blocked says nothing about the bank. */
const isBacktested = ({ approved, networkDeclineCode, gatewayCode, gatewayStatus }: StoredAttempt) =>
  !isUnsent({
    state: approved ? "PAID" : "FAILED",
    networkDeclineCode,
    paymentGatewayErrorCode: gatewayCode,
    paymentGatewayStatus: gatewayStatus,
  });

/**
 * Sends as many whole invoices as fit. A partial one could lack its payment.
 *
 * @param canContinue  gets the number of read attempts; false stops
 * @returns null if stopped
 */
async function sendAttempts(
  { db, job: { merchantId } }: Pick<ClaimedJob, "db" | "job">,
  runner: BacktestRunner,
  { maxAttempts, pageSize }: { maxAttempts: number; pageSize: number },
  canContinue: (read: number) => boolean,
): Promise<{ judged: number; isCut: boolean } | null> {
  let read = 0;
  let last: StoredAttempt | null = null;
  /** The next page may continue the latest invoice. */
  let pending: StoredAttempt[] = [];
  // One attempt more than fits shows whether any are left out.
  while (read <= maxAttempts) {
    if (!canContinue(read)) return null;
    const limit = Math.min(pageSize, maxAttempts + 1 - read);
    const page: StoredAttempt[] = await readAttemptsAfter(db, merchantId, last, limit);
    read += page.length;
    last = page.at(-1) ?? last;
    const attempts = [...pending, ...page];
    const isEnd = page.length < limit;
    const completeCount = isEnd
      ? attempts.length
      : attempts.findIndex(({ invoiceId }) => invoiceId === last!.invoiceId);
    // Pages are newest first, and the order matters for attempts with the same time.
    runner.add(attempts.slice(0, completeCount).filter(isBacktested).map(toPastAttempt).reverse());
    pending = attempts.slice(completeCount);
    if (isEnd) break;
  }
  return { judged: read - pending.length, isCut: read > maxAttempts };
}

const NO_ATTEMPTS_MESSAGE = "No payment attempts are stored, so a backtest is not possible. Import history first.";
const tooManyAttemptsMessage = (maxAttempts: number) =>
  `The invoice with the last id has more than ${maxAttempts.toLocaleString("en")} payment attempts, the limit of a backtest. No backtest was made.`;

/**
 * @param maxAttempts  attempts that fit
 * @param pageSize  attempts read at a time
 */
export const createBacktestHandler =
  (createRunner: () => BacktestRunner, maxAttempts = MAX_ATTEMPTS, pageSize = ATTEMPTS_PER_PAGE): JobHandler =>
  async ({ job, db, extendLease, signal }) => {
    const runner = createRunner();
    const stop = () => void runner.stop();
    signal.addEventListener("abort", stop);
    let isLost = false;
    let progress: BacktestProgress = {};
    const heartbeat = setInterval(async () => {
      isLost ||= !(await extendLease(progress).catch(() => true));
      if (isLost) stop();
    }, HEARTBEAT_MS);
    try {
      const sent = await sendAttempts({ db, job }, runner, { maxAttempts, pageSize }, (read) => {
        progress = { read };
        return !signal.aborted && !isLost;
      });
      if (!sent) return null;
      const { judged, isCut } = sent;
      if (judged === 0) throw new JobFailure(isCut ? tooManyAttemptsMessage(maxAttempts) : NO_ATTEMPTS_MESSAGE);
      progress = { read: judged, isJudging: true };
      await extendLease(progress);
      const result = await runner.judge(await listRecoveryRules(db, job.merchantId));
      return { result: { backtest: result, isCut } };
    } catch (error) {
      if (signal.aborted || isLost) return null;
      throw error;
    } finally {
      clearInterval(heartbeat);
      signal.removeEventListener("abort", stop);
      await runner.stop();
    }
  };
