import type { Job } from "../domain/job.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { findBrand } from "../engine/rules/card-networks.ts";
import { normalizeGatewayCode, normalizeNetworkCode } from "../engine/rules/gateway-codes.ts";
import { isUnsent } from "../engine/rules/unsent-attempts.ts";
import type { Database } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { insertJob } from "../tables/job-queue.ts";
import { readAttemptsAfter, type StoredAttempt } from "../tables/past-attempts.ts";
import { type ClaimedJob, JobFailure, type JobHandler } from "./run-jobs.ts";

/** Attempts are read and handed over so many at a time: a part is a few milliseconds of the service's thread. */
const ATTEMPTS_PER_PART = 1_000;
/** What a thread can hold: about two kilobytes each. */
const MAX_ATTEMPTS = 250_000;
const HEARTBEAT_MS = 5_000;

export interface BacktestProgress {
  /** Attempts that were read. */
  read?: number;
  isJudging?: boolean;
}

/** `isCut`: there were more attempts than fit, so invoices whose ids come first are left out. */
export type BacktestJob<Result> = Job<unknown, BacktestProgress, { backtest: Result; isCut: boolean }>;

/**
 * Ask for a merchant's history to be judged.
 *
 * @returns the id of the job, or null when one is under way already
 */
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
    await writeAuditEntry(tx, merchantId, actor, { deed: "backtest.asked", object: "payment attempts" }, ports);
    return id;
  });
}

/** Where the arithmetic is done: elsewhere than in the service's own thread. */
export interface BacktestRunner {
  add(attempts: readonly PastAttempt[]): void;
  /** What the attempts say; rejects when it is stopped or fails. */
  judge(): Promise<object>;
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

/** Not an attempt that its gateway blocked: it tells nothing of when a bank approves. */
const isBacktested = ({ approved, networkDeclineCode, gatewayCode, gatewayStatus }: StoredAttempt) =>
  !isUnsent({
    state: approved ? "PAID" : "FAILED",
    networkDeclineCode,
    paymentGatewayErrorCode: gatewayCode,
    paymentGatewayStatus: gatewayStatus,
  });

/**
 * Hands a merchant's attempts over, invoice by invoice, as many as fit: of an invoice that is cut in two, what paid it might be missing.
 *
 * @param goesOn  told of how many were read; false: stop
 * @returns how many were handed over, and whether some were left out; null when it was stopped
 */
async function sendAttempts(
  { db, job: { merchantId } }: Pick<ClaimedJob, "db" | "job">,
  judge: BacktestRunner,
  { most, size }: { most: number; size: number },
  goesOn: (read: number) => boolean,
): Promise<{ judged: number; isCut: boolean } | null> {
  let read = 0;
  let last: StoredAttempt | null = null;
  /** Those of the latest invoice: more of it may come. */
  let held: StoredAttempt[] = [];
  // One more than fits is asked for: that tells whether any is left.
  while (read <= most) {
    if (!goesOn(read)) return null;
    const limit = Math.min(size, most + 1 - read);
    const part: StoredAttempt[] = await readAttemptsAfter(db, merchantId, last, limit);
    read += part.length;
    last = part.at(-1) ?? last;
    const known = [...held, ...part];
    const isEnd = part.length < limit;
    const whole = isEnd ? known.length : known.findIndex(({ invoiceId }) => invoiceId === last!.invoiceId);
    // Oldest first, as attempts of one moment were made.
    judge.add(known.slice(0, whole).filter(isBacktested).map(toPastAttempt).reverse());
    held = known.slice(whole);
    if (isEnd) break;
  }
  return { judged: read - held.length, isCut: read > most };
}

const NO_ATTEMPTS_MESSAGE = "No payment attempt is known yet, so there is nothing to judge. Import some first.";
const tooManyAttemptsMessage = (most: number) =>
  `The invoice whose id comes last has more than ${most.toLocaleString("en")} payment attempts. No more can be judged, so nothing was.`;

/** Does such a job. `most`: attempts that fit; `size`: attempts that are read at a time. */
export const createBacktestHandler =
  (newJudge: () => BacktestRunner, most = MAX_ATTEMPTS, size = ATTEMPTS_PER_PART): JobHandler =>
  async ({ job, db, keep, signal }) => {
    const judge = newJudge();
    const stop = () => void judge.stop();
    signal.addEventListener("abort", stop);
    let isLost = false;
    let progress: BacktestProgress = {};
    const beat = setInterval(async () => {
      isLost ||= !(await keep(progress).catch(() => true));
      if (isLost) stop();
    }, HEARTBEAT_MS);
    try {
      const handed = await sendAttempts({ db, job }, judge, { most, size }, (read) => {
        progress = { read };
        return !signal.aborted && !isLost;
      });
      if (!handed) return null;
      const { judged, isCut } = handed;
      if (judged === 0) throw new JobFailure(isCut ? tooManyAttemptsMessage(most) : NO_ATTEMPTS_MESSAGE);
      progress = { read: judged, isJudging: true };
      await keep(progress);
      const result = await judge.judge();
      return { result: { backtest: result, isCut } };
    } catch (error) {
      if (signal.aborted || isLost) return null;
      throw error;
    } finally {
      clearInterval(beat);
      signal.removeEventListener("abort", stop);
      await judge.stop();
    }
  };
