import { setImmediate as nextTurn } from "node:timers/promises";
import { type CsvFormat, type HeaderMapping, stateWordsOf } from "../domain/csv-format.ts";
import { FileRefusedError } from "../domain/file-refused-error.ts";
import { normalizeStateWord } from "../domain/value-format.ts";
import { REQUIRED_RULE } from "../ingest/batch-problems.ts";
import type { RecordKind } from "../ingest/parse-batch.ts";
import type { ReceptionClock } from "../ingest/refuse-impossible-records.ts";
import { type HistoryFile, readFileRows } from "./file-rows.ts";
import { batchesOf, parseRows } from "./parse-rows.ts";

/** As many as a person reads; what comes after them is counted, and looked at no more. */
export const INVALID_ROWS_MAX = 10_000;
/** The first rows, to look at. */
const SAMPLE_ROW_COUNT = 20;

/** A row that is wrong: where, and why; at least one fault. */
export interface InvalidRowReport {
  line: number;
  faults: {
    /** The column at fault, of JSONL the field, or "" when the row as a whole is. */
    column: string;
    says: string;
  }[];
}

/** The faults of these rows, one after the other. */
export const listFaults = (wrong: readonly InvalidRowReport[]) =>
  wrong.flatMap(({ line, faults }) => faults.map((fault) => ({ line, ...fault })));

/** A fault that several rows share. */
interface GroupedFault {
  column: string;
  says: string;
  lines: number[];
}

/** The same, each fault once and the most frequent first: a column that is written otherwise is wrong in every row. */
export const groupFaults = (wrong: readonly InvalidRowReport[]): GroupedFault[] =>
  [...Map.groupBy(listFaults(wrong), ({ column, says }) => JSON.stringify([column, says])).values()]
    .map((alike) => ({ column: alike[0]!.column, says: alike[0]!.says, lines: alike.map(({ line }) => line) }))
    .sort((a, b) => b.lines.length - a.lines.length);

const LINES_SHOWN = 3;

/** "must be … (300 rows: lines 2, 3, 4 and so on)" */
export function groupedFaultText({ says, lines }: GroupedFault, place: FileImportResult["place"] = "line"): string {
  if (lines.length === 1) return says;
  const more = lines.length > LINES_SHOWN ? " and so on" : "";
  return `${says} (${lines.length.toLocaleString("en")} rows: ${place}s ${lines.slice(0, LINES_SHOWN).join(", ")}${more})`;
}

/** The result of a file. */
export interface FileImportResult {
  /** How the first line of a CSV is read; null for JSON. */
  header: HeaderMapping | null;
  /** Numbers of rows are those of lines, or of records in a JSON list. */
  place: "line" | "record";
  /** In whole batches, as far as the file can be read. */
  rows: number;
  /** The first right ones of them, as they are stored. */
  first: Record<string, unknown>[];
  wrong: InvalidRowReport[];
  /** Words whose meaning was said (--states), and that no row has. */
  unmet: string[];
  /** Words of a CSV that were read as an empty cell, as they stand there, and in how many cells. */
  absent: ReadonlyMap<string, number>;
  copies: DuplicateRows;
  /** Why the file can't be read, or not to its end; null when it was. */
  broken: string | null;
}

export const isComplete = ({ wrong, broken }: FileImportResult) => wrong.length === 0 && broken === null;

/** Rows that are a further copy of a record which stands above them: how many, and the line of the first; 0: none. */
export interface DuplicateRows {
  rows: number;
  line: number;
}

/** So many ids are remembered. A copy of a record behind them is not seen. */
const IDS_MAX = 1_000_000;

/** "2 rows, 1 record: line 3 is a further copy of a record above it"; null where each row is a record of its own. */
export function duplicatesText({
  rows,
  copies,
  place,
}: Pick<FileImportResult, "rows" | "copies" | "place">): string | null {
  if (copies.rows === 0) return null;
  const n = (count: number, noun: string) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const others = copies.rows === 1 ? "" : `, the first of ${copies.rows.toLocaleString("en")}`;
  return `${n(rows, "row")}, ${n(rows - copies.rows, "record")}: ${place} ${copies.line} is a further copy of a record above it${others}`;
}

/** "3 cells (NULL 2, N/A 1)"; null where there are none. */
export function absentCellsText({ absent }: Pick<FileImportResult, "absent">): string | null {
  const all = [...absent].sort(([, a], [, b]) => b - a);
  const cells = all.reduce((sum, [, count]) => sum + count, 0);
  const words = all.map(([word, count]) => `${word} ${count.toLocaleString("en")}`);
  return cells === 0 ? null : `${cells.toLocaleString("en")} ${cells === 1 ? "cell" : "cells"} (${words.join(", ")})`;
}

/**
 * Read a file batch by batch, each while the next one is on its way: memory stays flat, whatever the length.
 *
 * @param clock  rows that are dated after it are wrong; null: any date is right
 * @param store  gets the records of each batch up to the first that holds a wrong row; from there on rows are only checked
 */
export async function importFile(
  file: HistoryFile,
  kind: RecordKind<unknown>,
  reading: CsvFormat,
  store: (records: unknown[]) => Promise<void> = async () => {},
  clock: ReceptionClock | null = null,
): Promise<FileImportResult> {
  const absent = new Map<string, number>();
  const copies: DuplicateRows = { rows: 0, line: 0 };
  const taken: FileImportResult = {
    header: null,
    place: "line",
    rows: 0,
    first: [],
    wrong: [],
    unmet: [],
    absent,
    copies,
    broken: null,
  };
  const ids = new Set<unknown>();
  const unmet = stateWordsOf(reading);
  const { first, wrong } = taken;
  const rows = readFileRows(file, kind, reading, (how) => {
    if (how === "list") taken.place = "record";
    else taken.header = how;
  });
  try {
    for await (const batch of batchesOf(rows)) {
      await nextTurn(); // what has arrived would be read in one go, and other requests wait
      taken.rows += batch.length;
      for (const { csv } of batch) {
        if (unmet.size > 0) unmet.delete(normalizeStateWord(csv?.state ?? ""));
        for (const word of csv?.absent ?? []) absent.set(word, (absent.get(word) ?? 0) + 1);
      }
      if (wrong.length >= INVALID_ROWS_MAX) continue;
      const read = await parseRows(kind, batch, taken.header ? reading : null, clock);
      for (const { line, faults } of read.wrong)
        wrong.push({
          line,
          faults: faults.map(({ field, says }) => faultAtColumn(taken.header, field, says)),
        });
      for (const [index, { id }] of (read.records as { id: unknown }[]).entries()) {
        if (ids.has(id)) {
          copies.rows++;
          copies.line ||= read.lines[index]!;
        } else if (ids.size < IDS_MAX) ids.add(id);
      }
      if (first.length < SAMPLE_ROW_COUNT)
        first.push(...(read.records.slice(0, SAMPLE_ROW_COUNT - first.length) as typeof first));
      if (wrong.length === 0) await store(read.records);
    }
    if (taken.rows > 0) taken.unmet = [...unmet];
  } catch (error) {
    if (!(error instanceof FileRefusedError)) throw error;
    taken.broken = error.message;
  }
  return taken;
}

/** What is wrong with a field, by the column that holds it. Where none does, who reads "is required" would look for it in the rows. */
function faultAtColumn(header: HeaderMapping | null, field: string, says: string): InvalidRowReport["faults"][number] {
  const column = header?.find(([, held]) => held === field)?.[0];
  if (column !== undefined) return { column, says };
  const isMissing = header !== null && field !== "" && says === REQUIRED_RULE;
  return { column: field, says: isMissing ? `${says}: --map ${field}=COLUMN says which column holds it` : says };
}

/** Columns of a first line that hold no field. */
export const ignoredColumns = (header: HeaderMapping): string[] =>
  header.flatMap(([column, field]) => (field === undefined ? [column] : []));
