import type { BatchResult, Ingest } from "../domain/ingest.ts";
import type { Merchant } from "../domain/merchant.ts";
import { isOutage } from "../postgres/database-errors.ts";

/** Stores batches of a merchant, all of them or none. */
export type Flush<Row> = (merchant: Merchant, batches: readonly (readonly Row[])[]) => Promise<BatchResult[]>;

interface PendingRequest<Row> {
  merchant: Merchant;
  batch: readonly Row[];
  settled: PromiseWithResolvers<BatchResult>;
}

/** What a merchant has under way. */
interface MerchantQueue<Row> {
  /** How many requests each flush holds; 0 once it is slow. */
  flushes: Set<{ holds: number }>;
  waiting: PendingRequest<Row>[];
}

/** Ten full batches: a statement with more costs no less for each record, and all of its requests wait for it. */
const MAX_RECORDS_PER_FLUSH = 2_000;

/** One flush at a time leaves all cores of the database but one idle; with more of them each holds fewer requests. */
const MAX_CONCURRENT_FLUSHES = 2;
/** A flush beside another begins once so many requests wait, and no fewer than the other one holds: so both come to hold about half of them. */
const MIN_REQUESTS_BESIDE_FLUSH = 2;
/** What takes longer waits for a lock, or is flushed request by request: nobody waits until as many have come as it holds. */
const SLOW_FLUSH_MS = 50;

function canStartFlush({ flushes, waiting }: MerchantQueue<unknown>): boolean {
  const [other] = flushes;
  if (!other) return waiting.length > 0;
  return flushes.size < MAX_CONCURRENT_FLUSHES && waiting.length >= Math.max(MIN_REQUESTS_BESIDE_FLUSH, other.holds);
}

/**
 * Requests of a merchant that come while one of its is being flushed wait, and are flushed together: one statement and one commit for all. Each is
 * answered after the commit that holds its records. When such a flush fails, each is flushed alone, so that only the one at fault fails.
 *
 * @param slowMs  from when on a flush is a slow one, which nobody waits for
 */
export function createGroupCommit<Row extends { id: string }>(flush: Flush<Row>, slowMs = SLOW_FLUSH_MS): Ingest<Row> {
  const queues = new Map<string, MerchantQueue<Row>>();

  function ingest(merchant: Merchant, batch: readonly Row[]): Promise<BatchResult> {
    const queue = queues.get(merchant.id) ?? { flushes: new Set(), waiting: [] };
    queues.set(merchant.id, queue);
    const settled = Promise.withResolvers<BatchResult>();
    queue.waiting.push({ merchant, batch, settled });
    if (canStartFlush(queue)) drain(merchant.id, queue);
    return settled.promise;
  }

  async function drain(merchantId: string, queue: MerchantQueue<Row>) {
    while (canStartFlush(queue)) {
      const requests = dequeueRequests(queue.waiting);
      const own = { holds: requests.length };
      queue.flushes.add(own);
      const slow = setTimeout(() => {
        own.holds = 0;
        if (canStartFlush(queue)) drain(merchantId, queue);
      }, slowMs);
      await flushTogether(requests);
      clearTimeout(slow);
      queue.flushes.delete(own);
    }
    if (queue.flushes.size === 0) queues.delete(merchantId);
  }

  async function flushTogether(requests: readonly PendingRequest<Row>[]) {
    const batches = requests.map(({ batch }) => batch);
    let stored: BatchResult[];
    try {
      stored = await flush(requests.at(-1)!.merchant, batches);
    } catch (error) {
      // What was stored before stays as it was, so nothing is lost by asking again; while the database is away nothing is gained.
      if (requests.length > 1 && !isOutage(error)) for (const request of requests) await flushTogether([request]);
      else for (const { settled } of requests) settled.reject(error);
      return;
    }
    for (const [index, { settled }] of requests.entries()) settled.resolve(stored[index]!);
  }

  return ingest;
}

/** The first requests that fit into one flush, at least one. */
function dequeueRequests<Row>(waiting: PendingRequest<Row>[]): PendingRequest<Row>[] {
  let records = 0;
  const over = waiting.findIndex((request, index) => {
    records += request.batch.length;
    return index > 0 && records > MAX_RECORDS_PER_FLUSH;
  });
  return waiting.splice(0, over < 0 ? waiting.length : over);
}
