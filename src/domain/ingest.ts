import type { Merchant } from "./merchant.ts";

/** The other records were already stored. */
export interface BatchResult {
  /** New records, or newer versions. */
  stored: number;
  /** Records older than the stored version. */
  older: number;
}

/** Stores a whole batch or nothing. */
export type Ingest<Row> = (merchant: Merchant, batch: readonly Row[]) => Promise<BatchResult>;
