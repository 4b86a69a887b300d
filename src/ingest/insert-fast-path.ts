/** A failed attempt costs an eighth of an upsert, so this many further batches skip it. */
const PAUSE_BATCH_COUNT = 16;
const pausedBatchesByMerchant = new Map<string, number>();

/**
 * Whether to insert the next batch as if all invoices were new, without an upsert. That suits first imports. A wrong guess only
 * costs time.
 */
export function shouldTryFastPath(merchantId: string): boolean {
  const pausedBatches = pausedBatchesByMerchant.get(merchantId) ?? 0;
  if (pausedBatches > 1) pausedBatchesByMerchant.set(merchantId, pausedBatches - 1);
  else pausedBatchesByMerchant.delete(merchantId);
  return pausedBatches === 0;
}

/** Call it when a batch held a stored record. */
export const pauseFastPath = (merchantId: string) => pausedBatchesByMerchant.set(merchantId, PAUSE_BATCH_COUNT);
