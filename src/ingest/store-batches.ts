import type { OnWithdrawn } from "../domain/event.ts";
import type { BatchResult } from "../domain/ingest.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import type { Wave } from "../postgres/merge-batches.ts";
import type { TracedRecord } from "../tables/case-traces.ts";

/** Of each batch's request; null: not sampled. */
export type Traceparents = readonly (string | null)[];

/** Stores all batches or none. One result per batch. */
export type StoreBatches<Row> = (
  db: Database,
  merchant: Merchant,
  batches: readonly (readonly Row[])[],
  ports: Ports,
  onWithdrawn: OnWithdrawn,
  traceparents?: Traceparents,
) => Promise<BatchResult[]>;

export interface UnchangedIds {
  /** null if every record changed. */
  unchangedIds: readonly string[] | null;
  olderIds: readonly string[];
}

export function countBatchResults<Row extends { id: string }>(
  batches: readonly (readonly Row[])[],
  waves: readonly Wave<Row>[],
  unchanged: readonly UnchangedIds[],
): BatchResult[] {
  const results = batches.map(({ length }) => ({ stored: length, older: 0 }));
  for (const [waveIndex, { unchangedIds, olderIds }] of unchanged.entries()) {
    if (unchangedIds === null || unchangedIds.length === 0) continue;
    const wave = waves[waveIndex]!;
    const [unchangedSet, olderSet] = [new Set(unchangedIds), new Set(olderIds)];
    for (const [index, { id }] of wave.rows.entries()) {
      if (!unchangedSet.has(id)) continue;
      const result = results[wave.batchIndexes[index]!]!;
      result.stored--;
      if (olderSet.has(id)) result.older++;
    }
  }
  return results;
}

/** null if all changed. */
export function findUnchangedIds({ rows }: Wave<{ id: string }>, changed: ReadonlySet<string>) {
  return changed.size === rows.length ? null : rows.map(({ id }) => id).filter((id) => !changed.has(id));
}

/** The records of a wave that changed and came with a sampled request. */
export function listTraced<Row extends { id: string }>(
  { rows, batchIndexes }: Wave<Row>,
  { unchangedIds }: UnchangedIds,
  traceparents: Traceparents,
  idOf: (row: Row) => string,
): TracedRecord[] {
  if (traceparents.every((each) => each === null)) return [];
  const unchanged = new Set(unchangedIds);
  return rows.flatMap((row, index) => {
    const traceparent = traceparents[batchIndexes[index]!] ?? null;
    return traceparent === null || unchanged.has(row.id) ? [] : [{ id: idOf(row), traceparent }];
  });
}
