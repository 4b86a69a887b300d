import type { BatchResult, Ingest } from "../domain/ingest.ts";
import type { Merchant } from "../domain/merchant.ts";
import { isOutage } from "../postgres/database-errors.ts";
import type { Traceparents } from "./store-batches.ts";

/** @param traceparents  of the batches' requests, in the same order */
export type Flush<Row> = (
  merchant: Merchant,
  batches: readonly (readonly Row[])[],
  traceparents: Traceparents,
) => Promise<BatchResult[]>;

interface PendingRequest<Row> {
  merchant: Merchant;
  batch: readonly Row[];
  traceparent: string | null;
  result: PromiseWithResolvers<BatchResult>;
}

interface MerchantQueue<Row> {
  /** `requestCount` becomes 0 once a flush is slow. */
  flushes: Set<{ requestCount: number }>;
  waiting: PendingRequest<Row>[];
}

/** Ten full batches. Larger statements are not cheaper per record, and keep more requests waiting. */
const MAX_RECORDS_PER_FLUSH = 2_000;

/** One flush would use a single core of the database. More than two would each combine fewer requests. */
const MAX_CONCURRENT_FLUSHES = 2;
/** A second flush needs this many waiting requests, and at least as many as the first one holds, to balance the two. */
const MIN_REQUESTS_BESIDE_FLUSH = 2;
/** A slower flush waits for a lock or stores its requests one by one. A second one then starts with any number. */
const SLOW_FLUSH_MS = 50;

function canStartFlush({ flushes, waiting }: MerchantQueue<unknown>): boolean {
  const [otherFlush] = flushes;
  if (!otherFlush) return waiting.length > 0;
  return (
    flushes.size < MAX_CONCURRENT_FLUSHES &&
    waiting.length >= Math.max(MIN_REQUESTS_BESIDE_FLUSH, otherFlush.requestCount)
  );
}

/**
 * Combines a merchant's requests: those that arrive during a flush are stored in one transaction, and answered after its commit.
 * If it fails, they are flushed one by one, so that only those at fault fail.
 *
 * @param slowMs  after this time, a flush counts as slow
 */
export function createGroupCommit<Row extends { id: string }>(flush: Flush<Row>, slowMs = SLOW_FLUSH_MS): Ingest<Row> {
  const queues = new Map<string, MerchantQueue<Row>>();

  function ingest(merchant: Merchant, batch: readonly Row[], traceparent: string | null = null): Promise<BatchResult> {
    const queue = queues.get(merchant.id) ?? { flushes: new Set(), waiting: [] };
    queues.set(merchant.id, queue);
    const result = Promise.withResolvers<BatchResult>();
    queue.waiting.push({ merchant, batch, traceparent, result });
    if (canStartFlush(queue)) drain(merchant.id, queue);
    return result.promise;
  }

  async function drain(merchantId: string, queue: MerchantQueue<Row>) {
    while (canStartFlush(queue)) {
      const requests = dequeueRequests(queue.waiting);
      const current = { requestCount: requests.length };
      queue.flushes.add(current);
      const slowTimer = setTimeout(() => {
        current.requestCount = 0;
        if (canStartFlush(queue)) drain(merchantId, queue);
      }, slowMs);
      await flushTogether(requests);
      clearTimeout(slowTimer);
      queue.flushes.delete(current);
    }
    if (queue.flushes.size === 0) queues.delete(merchantId);
  }

  async function flushTogether(requests: readonly PendingRequest<Row>[]) {
    const batches = requests.map(({ batch }) => batch);
    const traceparents = requests.map(({ traceparent }) => traceparent);
    let results: BatchResult[];
    try {
      results = await flush(requests.at(-1)!.merchant, batches, traceparents);
    } catch (error) {
      // Nothing was stored, so repeating is safe, though useless during an outage.
      if (requests.length > 1 && !isOutage(error)) for (const request of requests) await flushTogether([request]);
      else for (const { result } of requests) result.reject(error);
      return;
    }
    for (const [index, { result }] of requests.entries()) result.resolve(results[index]!);
  }

  return ingest;
}

function dequeueRequests<Row>(waiting: PendingRequest<Row>[]): PendingRequest<Row>[] {
  let records = 0;
  const firstExcess = waiting.findIndex((request, index) => {
    records += request.batch.length;
    return index > 0 && records > MAX_RECORDS_PER_FLUSH;
  });
  return waiting.splice(0, firstExcess < 0 ? waiting.length : firstExcess);
}
