import type { Merchant } from "./merchant.ts";

/** Other records were already stored. */
export interface BatchResult {
  /** New records, or newer versions. */
  stored: number;
  /** Older than the stored version. */
  older: number;
}

/** The whole batch or nothing. */
export type Ingest<Row> = (merchant: Merchant, batch: readonly Row[]) => Promise<BatchResult>;
