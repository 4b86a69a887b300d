import type { OnWithdrawn } from "../domain/event.ts";
import type { BatchResult } from "../domain/ingest.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import type { Wave } from "../postgres/merge-batches.ts";

/** Stores batches of one kind of records, all of them or none; returns what became of each batch. */
export type StoreBatches<Row> = (
  db: Database,
  merchant: Merchant,
  batches: readonly (readonly Row[])[],
  ports: Ports,
  onWithdrawn: OnWithdrawn,
) => Promise<BatchResult[]>;

/** What one statement left as it was. */
export interface UnchangedIds {
  /** Ids of records that did not change; null: all did. */
  known: readonly string[] | null;
  /** Those of them that are older than what is known. */
  older: readonly string[];
}

/** Returns what became of each batch, by what each wave left as it was. */
export function countBatchResults<Row extends { id: string }>(
  batches: readonly (readonly Row[])[],
  waves: readonly Wave<Row>[],
  unchanged: readonly UnchangedIds[],
): BatchResult[] {
  const stored = batches.map(({ length }) => ({ stored: length, older: 0 }));
  for (const [number, { known, older }] of unchanged.entries()) {
    if (known === null || known.length === 0) continue;
    const wave = waves[number]!;
    const [same, behind] = [new Set(known), new Set(older)];
    for (const [index, { id }] of wave.rows.entries()) {
      if (!same.has(id)) continue;
      const batch = stored[wave.batchIndexes[index]!]!;
      batch.stored--;
      if (behind.has(id)) batch.older++;
    }
  }
  return stored;
}

/** Returns the ids of a wave that are not among those that changed; null: all changed. */
export function findUnchangedIds({ rows }: Wave<{ id: string }>, changed: ReadonlySet<string>) {
  return changed.size === rows.length ? null : rows.map(({ id }) => id).filter((id) => !changed.has(id));
}
