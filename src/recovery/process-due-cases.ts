import type { Ports } from "../domain/ports.ts";
import { errorFields, isLockTimeout } from "../postgres/database-errors.ts";
import { merchantsWithWork, nextDueCase, postponeFailedCase } from "../tables/due-cases.ts";
import { failureBackoffMs } from "./failure-backoff.ts";
import { type BatchProcessing, processBatch } from "./process-batch.ts";

const CASES_PER_BATCH = 100;
/** A round then ends, so that merchants that became due meanwhile are seen. */
const MAX_ROUND_MS = 250;

export interface CaseProcessing extends BatchProcessing {
  /** Processed in parallel, 1 by default. Every second worker begins with the merchants that became due last. */
  merchantsAtOnce?: number;
}

/**
 * Processes each queued or due case once.
 *
 * @returns how many cases were processed, and when the next one is due (null: none)
 */
export async function processDueCases(
  processing: CaseProcessing,
): Promise<{ processedCount: number; nextDueAt: Date | null }> {
  const { db, ports, merchantsAtOnce = 1 } = processing;
  const now = ports.now();
  const merchants = await merchantsWithWork(db, now);
  if (merchants.length === 0) return { processedCount: 0, nextDueAt: await nextDueCase(db, now) };
  const waiting = merchants.map(({ merchantId }) => merchantId);
  const workers = Math.min(merchantsAtOnce, waiting.length);
  const isOver = createRoundTimer(ports, workers);
  let processedCount = 0;
  const runWorker = async (isNewestFirst: boolean) => {
    while (!isOver()) {
      const merchantId = isNewestFirst ? waiting.pop() : waiting.shift();
      if (merchantId === undefined) return;
      const count = await processMerchant(processing, merchantId);
      processedCount += count; // Read after the wait, because other workers add to it meanwhile.
    }
  };
  const results = await Promise.allSettled(Array.from({ length: workers }, (_, n) => runWorker(n % 2 === 1)));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
  return { processedCount, nextDueAt: now };
}

/** Returns whether a round has lasted long enough. A single worker visits every merchant. */
function createRoundTimer({ monotonicMs }: Pick<Ports, "monotonicMs">, workers: number) {
  const begunMs = monotonicMs();
  return () => workers > 1 && monotonicMs() - begunMs > MAX_ROUND_MS;
}

/** One batch only, so that a merchant with many due cases does not delay the others. */
async function processMerchant(processing: CaseProcessing, merchantId: string): Promise<number> {
  try {
    return await processBatch(processing, merchantId, CASES_PER_BATCH);
  } catch (error) {
    if (isLockTimeout(error)) {
      processing.log.warn({ ...errorFields(error), merchantId }, "decide.held_up");
      return 0;
    }
    processing.log.error({ ...errorFields(error), merchantId }, "decide.failed");
    return await processOneByOne(processing, merchantId);
  }
}

/** After a failed batch; postpones the case that fails. */
async function processOneByOne(processing: CaseProcessing, merchantId: string): Promise<number> {
  for (let processedCount = 0; processedCount < CASES_PER_BATCH; processedCount++) {
    let first: { id: string; failures: number } | undefined;
    try {
      const count = await processBatch(processing, merchantId, 1, (firstCase) => {
        first = firstCase;
      });
      if (count === 0) return processedCount;
    } catch (error) {
      if (!first) throw error;
      processing.log.error({ ...errorFields(error), merchantId, caseId: first.id }, "decide.failed");
      const retryAt = new Date(processing.ports.now().getTime() + failureBackoffMs(first.failures));
      await postponeFailedCase(processing.db, merchantId, first.id, retryAt);
    }
  }
  return CASES_PER_BATCH;
}
