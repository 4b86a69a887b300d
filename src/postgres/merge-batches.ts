/** Records for one statement: without duplicate ids, and sorted by id so that concurrent statements lock rows in the same order. */
export interface Wave<Row> {
  rows: readonly Row[];
  /** For each row, the index of the batch that holds it. */
  batchIndexes: readonly number[];
}

/**
 * Merges batches into as few statements as possible. Later versions of a record go to later waves, so that they are stored in
 * order of arrival.
 */
export function mergeBatches<Row extends { id: string }>(batches: readonly (readonly Row[])[]): Wave<Row>[] {
  const records = batches.flatMap((rows, batchIndex) => rows.map((row) => ({ row, batchIndex })));
  records.sort((a, b) => (a.row.id < b.row.id ? -1 : a.row.id > b.row.id ? 1 : 0));
  const waves: { rows: Row[]; batchIndexes: number[] }[] = [];
  let version = 0;
  for (const [index, { row, batchIndex }] of records.entries()) {
    version = index > 0 && row.id === records[index - 1]!.row.id ? version + 1 : 0;
    const wave = waves[version] ?? { rows: [], batchIndexes: [] };
    waves[version] = wave;
    wave.rows.push(row);
    wave.batchIndexes.push(batchIndex);
  }
  return waves;
}
