import type { Merchant } from "./merchant.ts";

/** What became of the records of one batch. The rest of them was known already. */
export interface BatchResult {
  /** Records that are new, or newer than what was known. */
  stored: number;
  /** Records that are older than what is known, and changed nothing. */
  older: number;
}

/** Stores a batch, all of it or none; returns what became of its records. */
export type Ingest<Row> = (merchant: Merchant, batch: readonly Row[]) => Promise<BatchResult>;
