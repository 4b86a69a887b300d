import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { type CsvFormat, type HeaderMapping, stateWordsOf } from "../domain/csv-format.ts";
import { FileRefusedError } from "../domain/file-refused-error.ts";
import { normalizeStateWord } from "../domain/value-format.ts";
import { REQUIRED_RULE } from "../ingest/batch-problems.ts";
import type { RecordKind } from "../ingest/parse-batch.ts";
import type { ReceptionClock } from "../ingest/refuse-impossible-records.ts";
import { type HistoryFile, readFileRows } from "./file-rows.ts";
import { batchesOf, parseRows } from "./parse-rows.ts";

/** More than a person reads. Further rows are only counted. */
export const INVALID_ROWS_MAX = 10_000;
/** For a preview. */
const SAMPLE_ROW_COUNT = 20;

export interface InvalidRowReport {
  line: number;
  faults: {
    /** The field for JSON, or "" for the whole row. */
    column: string;
    says: string;
  }[];
}

export const listFaults = (wrong: readonly InvalidRowReport[]) =>
  wrong.flatMap(({ line, faults }) => faults.map((fault) => ({ line, ...fault })));

interface GroupedFault {
  column: string;
  says: string;
  lines: number[];
}

/** Most frequent first: a column in another format is wrong in every row. */
export const groupFaults = (wrong: readonly InvalidRowReport[]): GroupedFault[] =>
  [...Map.groupBy(listFaults(wrong), ({ column, says }) => JSON.stringify([column, says])).values()]
    .map((group) => ({ column: group[0]!.column, says: group[0]!.says, lines: group.map(({ line }) => line) }))
    .sort((a, b) => b.lines.length - a.lines.length);

const LINES_SHOWN = 3;

/** "must be … (300 rows: lines 2, 3, 4 and so on)" */
export function groupedFaultText({ says, lines }: GroupedFault, place: FileImportResult["place"] = "line"): string {
  if (lines.length === 1) return says;
  const more = lines.length > LINES_SHOWN ? " and so on" : "";
  return `${says} (${lines.length.toLocaleString("en")} rows: ${place}s ${lines.slice(0, LINES_SHOWN).join(", ")}${more})`;
}

export interface FileImportResult {
  /** null for JSON. */
  header: HeaderMapping | null;
  /** Row numbers count lines, or records of a JSON list. */
  place: "line" | "record";
  rows: number;
  /** Valid rows, as they are stored. */
  first: Record<string, unknown>[];
  wrong: InvalidRowReport[];
  /** Words of --states that no row has. */
  unmet: string[];
  /** Cells by the word that was read as empty. */
  absent: ReadonlyMap<string, number>;
  copies: DuplicateRows;
  /** Why the file cannot be read to its end. */
  broken: string | null;
}

export const isComplete = ({ wrong, broken }: FileImportResult) => wrong.length === 0 && broken === null;

/** They repeat an earlier record's id. */
export interface DuplicateRows {
  rows: number;
  line: number;
}

/** Duplicates of further ids are not counted. */
const IDS_MAX = 1_000_000;

/** null without duplicates. */
export function duplicatesText({
  rows,
  copies,
  place,
}: Pick<FileImportResult, "rows" | "copies" | "place">): string | null {
  if (copies.rows === 0) return null;
  const n = (count: number, noun: string) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const repeats =
    copies.rows === 1
      ? "repeats the id of an earlier record"
      : `is the first of ${copies.rows.toLocaleString("en")} rows that repeat the id of an earlier record`;
  return `${n(rows, "row")}, ${n(rows - copies.rows, "record")}: ${place} ${copies.line} ${repeats}`;
}

/** "3 cells (NULL 2, N/A 1)", or null. */
export function absentCellsText({ absent }: Pick<FileImportResult, "absent">): string | null {
  const all = [...absent].sort(([, a], [, b]) => b - a);
  const cells = all.reduce((sum, [, count]) => sum + count, 0);
  const counts = all.map(([word, count]) => `${word} ${count.toLocaleString("en")}`);
  return cells === 0 ? null : `${cells.toLocaleString("en")} ${cells === 1 ? "cell" : "cells"} (${counts.join(", ")})`;
}

/**
 * Reads a file batch by batch, so that memory stays constant.
 *
 * @param clock  refuses later records; null accepts any date
 * @param store  receives each batch before the first invalid row; later rows are only checked
 */
export async function importFile(
  file: HistoryFile,
  kind: RecordKind<unknown>,
  csvFormat: CsvFormat,
  store: (records: unknown[]) => Promise<void> = async () => {},
  clock: ReceptionClock | null = null,
): Promise<FileImportResult> {
  const absent = new Map<string, number>();
  const copies: DuplicateRows = { rows: 0, line: 0 };
  const result: FileImportResult = {
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
  const unusedStateWords = stateWordsOf(csvFormat);
  const { first, wrong } = result;
  const rows = readFileRows(file, kind, csvFormat, (format) => {
    if (format === "list") result.place = "record";
    else result.header = format;
  });
  try {
    for await (const batch of batchesOf(rows)) {
      await yieldToEventLoop(); // otherwise, buffered batches would block other requests
      result.rows += batch.length;
      for (const { csv } of batch) {
        if (unusedStateWords.size > 0) unusedStateWords.delete(normalizeStateWord(csv?.state ?? ""));
        for (const word of csv?.absentWords ?? []) absent.set(word, (absent.get(word) ?? 0) + 1);
      }
      if (wrong.length >= INVALID_ROWS_MAX) continue;
      const parsed = await parseRows(kind, batch, result.header ? csvFormat : null, clock);
      for (const { line, faults } of parsed.wrong)
        wrong.push({
          line,
          faults: faults.map(({ field, problem }) => faultAtColumn(result.header, field, problem)),
        });
      for (const [index, { id }] of (parsed.records as { id: unknown }[]).entries()) {
        if (ids.has(id)) {
          copies.rows++;
          copies.line ||= parsed.lines[index]!;
        } else if (ids.size < IDS_MAX) ids.add(id);
      }
      if (first.length < SAMPLE_ROW_COUNT)
        first.push(...(parsed.records.slice(0, SAMPLE_ROW_COUNT - first.length) as typeof first));
      if (wrong.length === 0) await store(parsed.records);
    }
    if (result.rows > 0) result.unmet = [...unusedStateWords];
  } catch (error) {
    if (!(error instanceof FileRefusedError)) throw error;
    result.broken = error.message;
  }
  return result;
}

/** If no column holds a required field, names the option that maps one. */
function faultAtColumn(
  header: HeaderMapping | null,
  field: string,
  problem: string,
): InvalidRowReport["faults"][number] {
  const column = header?.find(([, mappedField]) => mappedField === field)?.[0];
  if (column !== undefined) return { column, says: problem };
  const isMissing = header !== null && field !== "" && problem === REQUIRED_RULE;
  return { column: field, says: isMissing ? `${problem}: name its column with --map ${field}=COLUMN` : problem };
}

export const ignoredColumns = (header: HeaderMapping): string[] =>
  header.flatMap(([column, field]) => (field === undefined ? [column] : []));
