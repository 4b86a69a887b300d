import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { CsvFormat } from "../domain/csv-format.ts";
import { ApiError } from "../http/errors.ts";
import { findInvalidFields } from "../ingest/batch-problems.ts";
import { BATCH_RECORDS_MAX, parseBatch, type RecordKind } from "../ingest/parse-batch.ts";
import { type ReceptionClock, refuseImpossibleRecords } from "../ingest/refuse-impossible-records.ts";
import { csvFieldRequirement, ROUNDED_ID_PROBLEM } from "./csv-to-record.ts";
import type { FileRow } from "./file-rows.ts";

export interface RowFault {
  /** "" for the whole row. */
  field: string;
  problem: string;
}

export interface InvalidRow {
  line: number;
  faults: RowFault[];
}

/** Like an API body, so that a batch takes no longer. */
const BATCH_CHARS_MAX = 1024 * 1024;

/** Checked one by one, with other work in between. */
const ROWS_PER_YIELD = 20;

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
 * Uses the code that parses requests.
 *
 * @param csvFormat  null for JSON
 */
export async function parseRows<Record>(
  kind: RecordKind<Record>,
  rows: readonly FileRow[],
  csvFormat: CsvFormat | null,
  clock: ReceptionClock | null = null,
): Promise<{ records: Record[]; lines: number[]; wrong: InvalidRow[] }> {
  try {
    if (!rows.some(hasRoundedIds))
      return { records: parseRecords(kind, rows, clock), lines: rows.map(({ line }) => line), wrong: [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  const records: Record[] = [];
  const lines: number[] = [];
  const wrong: InvalidRow[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % ROWS_PER_YIELD === 0) await yieldToEventLoop();
    const faults: RowFault[] = (row.csv?.roundedFields ?? []).map((field) => ({ field, problem: ROUNDED_ID_PROBLEM }));
    try {
      const record = parseRecords(kind, [row], clock);
      if (faults.length === 0) {
        records.push(...record);
        lines.push(row.line);
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      faults.push(...faultsOf(kind, row, error, csvFormat));
    }
    if (faults.length > 0) wrong.push({ line: row.line, faults });
  }
  return { records, lines, wrong };
}

const hasRoundedIds = ({ csv }: FileRow) => csv !== undefined && csv.roundedFields.length > 0;

/** The fault that refused a row, then those of other fields. */
function faultsOf(kind: RecordKind<unknown>, row: FileRow, error: ApiError, csvFormat: CsvFormat | null): RowFault[] {
  const refused = error.problems.flatMap(({ field, rule }) => {
    const name = /^\w+\[0\]\.(.+)$/.exec(field)?.[1];
    return name === undefined ? [] : [[name, rule] as const];
  });
  if (refused.length === 0) {
    // The message is about a request's body, which here is the row.
    const problem = error.message.replace(/^\w+\[0\] /, "").replace(/^the body (is not valid JSON).*/, "$1");
    return [{ field: "", problem }];
  }
  const record = JSON.parse(bodyOf(kind, [row]))[kind.name][0];
  const others = [...findInvalidFields(kind, record)].filter(([key]) => !refused.some(([name]) => name === key));
  return [...refused, ...others].map(([key, problem]) => {
    const isFieldRule = problem === kind.fields.get(key)?.rule;
    const csvRule = csvFormat && isFieldRule ? csvFieldRequirement(kind, key, record, csvFormat) : undefined;
    return { field: key, problem: csvRule || problem };
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
  // A line may hold two records with a comma in between, and their errors would be reported for another line.
  if (records.length !== rows.length) throw new ApiError(400, "must hold one record");
  if (clock) refuseImpossibleRecords(kind.name, records, clock);
  return records;
}
