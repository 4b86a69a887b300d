import type { Ports } from "../domain/ports.ts";
import { errorFields, isLockTimeout } from "../postgres/database-errors.ts";
import { merchantsWithWork, nextDueCase, postponeFailedCase } from "../tables/due-cases.ts";
import { failureBackoffMs } from "./failure-backoff.ts";
import { type BatchProcessing, processBatch } from "./process-batch.ts";

const CASES_PER_BATCH = 100;
/** A round is over after so long, so that who fell due meanwhile is seen. */
const MAX_ROUND_MS = 250;

export interface CaseProcessing extends BatchProcessing {
  /** For so many merchants at once, 1 unless it is said; every second worker begins with those that wait for the shortest time. */
  merchantsAtOnce?: number;
}

/**
 * Takes the cases that are due or poked once, one step for each, and writes the next due time with the result.
 *
 * @returns how many cases were stepped, and when the next one falls due (null: none)
 */
export async function processDueCases(deciding: CaseProcessing): Promise<{ stepped: number; nextDueAt: Date | null }> {
  const { db, ports, merchantsAtOnce = 1 } = deciding;
  const now = ports.now();
  const due = await merchantsWithWork(db, now);
  if (due.length === 0) return { stepped: 0, nextDueAt: await nextDueCase(db, now) };
  const waiting = due.map(({ merchantId }) => merchantId);
  const workers = Math.min(merchantsAtOnce, waiting.length);
  const isOver = createRoundTimer(ports, workers);
  let stepped = 0;
  const work = async (isNewestFirst: boolean) => {
    while (!isOver()) {
      const merchantId = isNewestFirst ? waiting.pop() : waiting.shift();
      if (merchantId === undefined) return;
      const done = await processMerchant(deciding, merchantId);
      stepped += done; // read after the wait, for others add to it meanwhile
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: workers }, (_, n) => work(n % 2 === 1)));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
  return { stepped, nextDueAt: now };
}

/** Whether a round has lasted long enough. One worker comes to everybody. */
function createRoundTimer({ monotonicMs }: Pick<Ports, "monotonicMs">, workers: number) {
  const begunMs = monotonicMs();
  return () => workers > 1 && monotonicMs() - begunMs > MAX_ROUND_MS;
}

/** One batch, so that a merchant with many due cases does not keep the others waiting. */
async function processMerchant(deciding: CaseProcessing, merchantId: string): Promise<number> {
  try {
    return await processBatch(deciding, merchantId, CASES_PER_BATCH);
  } catch (error) {
    if (isLockTimeout(error)) {
      deciding.log.warn({ ...errorFields(error), merchantId }, "decide.held_up");
      return 0;
    }
    deciding.log.error({ ...errorFields(error), merchantId }, "decide.failed");
    return await processOneByOne(deciding, merchantId);
  }
}

/** A batch failed: find the case that does it, set it aside, and let the others go on. */
async function processOneByOne(deciding: CaseProcessing, merchantId: string): Promise<number> {
  for (let stepped = 0; stepped < CASES_PER_BATCH; stepped++) {
    let first: { id: string; failures: number } | undefined;
    try {
      const done = await processBatch(deciding, merchantId, 1, (taken) => {
        first = taken;
      });
      if (done === 0) return stepped;
    } catch (error) {
      if (!first) throw error;
      deciding.log.error({ ...errorFields(error), merchantId, caseId: first.id }, "decide.failed");
      const again = new Date(deciding.ports.now().getTime() + failureBackoffMs(first.failures));
      await postponeFailedCase(deciding.db, merchantId, first.id, again);
    }
  }
  return CASES_PER_BATCH;
}
