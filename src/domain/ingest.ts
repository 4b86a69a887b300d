import type { Merchant } from "./merchant.ts";

/** Other records were already stored. */
export interface BatchResult {
  /** New records, or newer versions. */
  stored: number;
  /** Older than the stored version. */
  older: number;
}

/**
 * The whole batch or nothing.
 *
 * @param traceparent  of the request's sampled trace
 */
export type Ingest<Row> = (
  merchant: Merchant,
  batch: readonly Row[],
  traceparent?: string | null,
) => Promise<BatchResult>;
