import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { type Arranged, arrange } from "../store/arrange.ts";
import type { Database } from "../store/database.ts";
import { idsOf, type Packed, release } from "../store/packed.ts";

/** What became of the records of one batch. The rest of them was known already. */
export interface Stored {
  /** Records that are new, or newer than what was known. */
  stored: number;
  /** Records that are older than what is known, and changed nothing. */
  older: number;
}

/** Told after the commit which events were withdrawn, so that a sender that has read them already drops them. */
export type OnWithdrawn = (merchantId: string, eventIds: readonly string[]) => void;

/** Stores batches of one kind of records, all of them or none; returns what became of each batch. */
export type StoreBatches<Row> = (
  db: Database,
  merchant: Merchant,
  batches: readonly Packed<Row>[],
  ports: Ports,
  onWithdrawn: OnWithdrawn,
) => Promise<Stored[]>;

/** What one statement left as it was. */
export interface Unchanged {
  /** Ids of records that did not change; null: all did. */
  known: readonly string[] | null;
  /** Those of them that are older than what is known. */
  older: readonly string[];
}

/** Arranges batches for statements that run one after the other, and releases their memory in the end. */
export async function inWaves<Row extends { id: string }, Result>(
  batches: readonly Packed<Row>[],
  store: (waves: readonly Arranged<Row>[]) => Promise<Result>,
): Promise<Result> {
  const waves = arrange(batches);
  try {
    return await store(waves);
  } finally {
    for (const wave of waves) release(wave);
  }
}

/** Returns what became of each batch, by what each wave left as it was. */
export function storedOf<Row extends { id: string }>(
  batches: readonly Packed<Row>[],
  waves: readonly Arranged<Row>[],
  unchanged: readonly Unchanged[],
): Stored[] {
  const stored = batches.map(({ count }) => ({ stored: count, older: 0 }));
  for (const [number, { known, older }] of unchanged.entries()) {
    if (known === null || known.length === 0) continue;
    const wave = waves[number]!;
    const [same, behind] = [new Set(known), new Set(older)];
    for (const [index, id] of idsOf(wave).entries()) {
      if (!same.has(id)) continue;
      const batch = stored[wave.batchOf(index)]!;
      batch.stored--;
      if (behind.has(id)) batch.older++;
    }
  }
  return stored;
}

/** Returns the ids of a wave that are not among those that changed; null: all changed. */
export function unchangedIn<Row extends { id: string }>(wave: Arranged<Row>, changed: ReadonlySet<string>) {
  return changed.size === wave.count ? null : idsOf(wave).filter((id) => !changed.has(id));
}
