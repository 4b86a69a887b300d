/** For one statement: no duplicate ids, and sorted so that concurrent statements lock rows in the same order. */
export interface Wave<Row> {
  rows: readonly Row[];
  /** Each row's batch. */
  batchIndexes: readonly number[];
}

/**
 * Merges batches into few statements. A record's later versions go to later waves, so that they are stored in order of arrival.
 */
export function mergeBatches<Row extends { id: string }>(batches: readonly (readonly Row[])[]): Wave<Row>[] {
  const rows = batches.flat();
  const batchOfRow = batches.flatMap(({ length }, batchIndex) => new Array<number>(length).fill(batchIndex));
  const order = isAscending(rows) ? null : sortedOrder(rows);
  const waves: { rows: Row[]; batchIndexes: number[] }[] = [];
  let version = 0;
  let idBefore: string | null = null;
  for (let n = 0; n < rows.length; n++) {
    const place = order === null ? n : order[n]!;
    const row = rows[place]!;
    version = row.id === idBefore ? version + 1 : 0;
    idBefore = row.id;
    waves[version] ??= { rows: [], batchIndexes: [] };
    waves[version]!.rows.push(row);
    waves[version]!.batchIndexes.push(batchOfRow[place]!);
  }
  return waves;
}

function isAscending(rows: readonly { id: string }[]): boolean {
  for (let n = 1; n < rows.length; n++) if (rows[n]!.id <= rows[n - 1]!.id) return false;
  return true;
}

/** Rows by id; a record's versions keep their order. */
function sortedOrder(rows: readonly { id: string }[]): number[] {
  const ids = rows.map(({ id }) => id);
  return ids.map((_, place) => place).sort((a, b) => (ids[a]! < ids[b]! ? -1 : ids[a]! > ids[b]! ? 1 : a - b));
}
