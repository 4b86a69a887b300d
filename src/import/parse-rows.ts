import { setImmediate as nextTurn } from "node:timers/promises";
import type { CsvFormat } from "../domain/csv-format.ts";
import { ApiError } from "../http/errors.ts";
import { findInvalidFields } from "../ingest/batch-problems.ts";
import { BATCH_RECORDS_MAX, parseBatch, type RecordKind } from "../ingest/parse-batch.ts";
import { type ReceptionClock, refuseImpossibleRecords } from "../ingest/refuse-impossible-records.ts";
import { csvFieldRequirement, MANGLED_ID_PROBLEM } from "./csv-to-record.ts";
import type { FileRow } from "./file-rows.ts";

/** The fault of a row. */
export interface RowFault {
  /** The field at fault, or "" when the row as a whole is. */
  field: string;
  says: string;
}

/** A row that is wrong: where, and why; at least one fault. */
export interface InvalidRow {
  line: number;
  faults: RowFault[];
}

/** As long as a body of the API's may be, so that reading a batch takes no longer. */
const BATCH_CHARS_MAX = 1024 * 1024;

/** So many rows are read one by one before other work has its turn. */
const ROWS_PER_TURN = 20;

/** Rows in batches of the API's size. */
export async function* batchesOf(rows: AsyncIterable<FileRow>): AsyncGenerator<FileRow[]> {
  let batch: FileRow[] = [];
  let chars = 0;
  for await (const row of rows) {
    batch.push(row);
    chars += row.json.length;
    if (batch.length < BATCH_RECORDS_MAX && chars < BATCH_CHARS_MAX) continue;
    yield batch;
    batch = [];
    chars = 0;
  }
  if (batch.length > 0) yield batch;
}

/**
 * The records of these rows, the line of each, and what is wrong with the other rows, by the code that reads the bodies of requests.
 *
 * @param reading  how a CSV was read; null for JSONL
 */
export async function parseRows<Record>(
  kind: RecordKind<Record>,
  rows: readonly FileRow[],
  reading: CsvFormat | null,
  clock: ReceptionClock | null = null,
): Promise<{ records: Record[]; lines: number[]; wrong: InvalidRow[] }> {
  try {
    if (!rows.some(hasMangledCells))
      return { records: parseRecords(kind, rows, clock), lines: rows.map(({ line }) => line), wrong: [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  const records: Record[] = [];
  const lines: number[] = [];
  const wrong: InvalidRow[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % ROWS_PER_TURN === 0) await nextTurn();
    const faults: RowFault[] = (row.csv?.mangled ?? []).map((field) => ({ field, says: MANGLED_ID_PROBLEM }));
    try {
      const record = parseRecords(kind, [row], clock);
      if (faults.length === 0) {
        records.push(...record);
        lines.push(row.line);
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      faults.push(...faultsOf(kind, row, error, reading));
    }
    if (faults.length > 0) wrong.push({ line: row.line, faults });
  }
  return { records, lines, wrong };
}

const hasMangledCells = ({ csv }: FileRow) => csv !== undefined && csv.mangled.length > 0;

/** The fault that refused a row, followed by the other faults of its fields. */
function faultsOf(kind: RecordKind<unknown>, row: FileRow, error: ApiError, reading: CsvFormat | null): RowFault[] {
  const refused = error.problems.flatMap(({ field, rule }) => {
    const name = /^\w+\[0\]\.(.+)$/.exec(field)?.[1];
    return name === undefined ? [] : [[name, rule] as const];
  });
  if (refused.length === 0) {
    // Of a body, which the caller never saw: here it is the row.
    const says = error.message.replace(/^\w+\[0\] /, "").replace(/^the body (is not valid JSON).*/, "$1");
    return [{ field: "", says }];
  }
  const record = JSON.parse(bodyOf(kind, [row]))[kind.name][0];
  const others = [...findInvalidFields(kind, record)].filter(([key]) => !refused.some(([name]) => name === key));
  return [...refused, ...others].map(([key, says]) => {
    const isOwn = says === kind.fields.get(key)?.rule;
    return { field: key, says: (reading && isOwn && csvFieldRequirement(kind, key, record, reading)) || says };
  });
}

const bodyOf = ({ name }: RecordKind<unknown>, rows: readonly FileRow[]) =>
  `{"${name}":[${rows.map(({ json }) => json).join()}]}`;

function parseRecords<Record>(
  kind: RecordKind<Record>,
  rows: readonly FileRow[],
  clock: ReceptionClock | null,
): Record[] {
  const records = parseBatch(kind, Buffer.from(bodyOf(kind, rows)));
  // A line may hold two records with a comma between them, and its errors would be another line's.
  if (records.length !== rows.length) throw new ApiError(400, "must hold one record");
  if (clock) refuseImpossibleRecords(kind.name, records, clock);
  return records;
}
