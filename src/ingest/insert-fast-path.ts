/** To look for nothing costs an eighth of an upsert: who pushed something known is looked at again after so many batches. */
const PAUSE_BATCH_COUNT = 16;
const pausedBatchesByMerchant = new Map<string, number>();

/**
 * Whether it is worth a look that all records of a merchant's batch are new: first imports are years of such batches, and billing systems that push an
 * invoice when it is made send some, while others push what changed as well. A guess of this process; whoever is wrong about it only does more work.
 */
export function shouldTryFastPath(merchantId: string): boolean {
  const left = pausedBatchesByMerchant.get(merchantId) ?? 0;
  if (left > 1) pausedBatchesByMerchant.set(merchantId, left - 1);
  else pausedBatchesByMerchant.delete(merchantId);
  return left === 0;
}

/** Such a look found a record that was known. */
export const pauseFastPath = (merchantId: string) => pausedBatchesByMerchant.set(merchantId, PAUSE_BATCH_COUNT);
