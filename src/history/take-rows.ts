import { setImmediate as nextTurn } from "node:timers/promises";
import type { RecordKind } from "../api/ingest/batch.ts";
import { IS_REQUIRED } from "../api/ingest/problems.ts";
import type { SenderClock } from "../api/ingest/refuse-impossible.ts";
import { FileRefused } from "../domain/file-refused.ts";
import { type Header, type Reading, wordsToMeet } from "../domain/reading.ts";
import { stateWord } from "../domain/written.ts";
import { batchesOf, readRows } from "./read-rows.ts";
import { type HistoryFile, rowsOf } from "./rows.ts";

/** As many as a person reads; what comes after them is counted, and looked at no more. */
export const WRONG_MAX = 10_000;
/** The first rows, to look at. */
const FIRST = 20;

/** A row that is wrong: where, and why; at least one fault. */
export interface WrongRow {
  line: number;
  faults: {
    /** The column at fault, of JSONL the field, or "" when the row as a whole is. */
    column: string;
    says: string;
  }[];
}

/** The faults of these rows, one after the other. */
export const faultsOf = (wrong: readonly WrongRow[]) =>
  wrong.flatMap(({ line, faults }) => faults.map((fault) => ({ line, ...fault })));

/** A fault that several rows share. */
interface AlikeFault {
  column: string;
  says: string;
  lines: number[];
}

/** The same, each fault once and the most frequent first: a column that is written otherwise is wrong in every row. */
export const alikeFaultsOf = (wrong: readonly WrongRow[]): AlikeFault[] =>
  [...Map.groupBy(faultsOf(wrong), ({ column, says }) => JSON.stringify([column, says])).values()]
    .map((alike) => ({ column: alike[0]!.column, says: alike[0]!.says, lines: alike.map(({ line }) => line) }))
    .sort((a, b) => b.lines.length - a.lines.length);

const LINES_SHOWN = 3;

/** "must be … (300 rows: lines 2, 3, 4 and so on)" */
export function alikeWords({ says, lines }: AlikeFault, place: Taken["place"] = "line"): string {
  if (lines.length === 1) return says;
  const more = lines.length > LINES_SHOWN ? " and so on" : "";
  return `${says} (${lines.length.toLocaleString("en")} rows: ${place}s ${lines.slice(0, LINES_SHOWN).join(", ")}${more})`;
}

/** The result of a file. */
export interface Taken {
  /** How the first line of a CSV is read; null for JSON. */
  header: Header | null;
  /** Numbers of rows are those of lines, or of records in a JSON list. */
  place: "line" | "record";
  /** In whole batches, as far as the file can be read. */
  rows: number;
  /** The first right ones of them, as they are stored. */
  first: Record<string, unknown>[];
  wrong: WrongRow[];
  /** Words whose meaning was said (--states), and that no row has. */
  unmet: string[];
  /** Words of a CSV that were read as an empty cell, as they stand there, and in how many cells. */
  absent: ReadonlyMap<string, number>;
  copies: Copies;
  /** Why the file can't be read, or not to its end; null when it was. */
  broken: string | null;
}

export const isWhole = ({ wrong, broken }: Taken) => wrong.length === 0 && broken === null;

/** Rows that are a further copy of a record which stands above them: how many, and the line of the first; 0: none. */
export interface Copies {
  rows: number;
  line: number;
}

/** So many ids are remembered. A copy of a record behind them is not seen. */
const IDS_MAX = 1_000_000;

/** "2 rows, 1 record: line 3 is a further copy of a record above it"; null where each row is a record of its own. */
export function copiesWords({ rows, copies, place }: Pick<Taken, "rows" | "copies" | "place">): string | null {
  if (copies.rows === 0) return null;
  const n = (count: number, noun: string) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const others = copies.rows === 1 ? "" : `, the first of ${copies.rows.toLocaleString("en")}`;
  return `${n(rows, "row")}, ${n(rows - copies.rows, "record")}: ${place} ${copies.line} is a further copy of a record above it${others}`;
}

/** "3 cells (NULL 2, N/A 1)"; null where there are none. */
export function absentWords({ absent }: Pick<Taken, "absent">): string | null {
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
export async function takeRows(
  file: HistoryFile,
  kind: RecordKind<unknown>,
  reading: Reading,
  store: (records: unknown[]) => Promise<void> = async () => {},
  clock: SenderClock | null = null,
): Promise<Taken> {
  const absent = new Map<string, number>();
  const copies: Copies = { rows: 0, line: 0 };
  const taken: Taken = {
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
  const unmet = wordsToMeet(reading);
  const { first, wrong } = taken;
  const rows = rowsOf(file, kind, reading, (how) => {
    if (how === "list") taken.place = "record";
    else taken.header = how;
  });
  try {
    for await (const batch of batchesOf(rows)) {
      await nextTurn(); // what has arrived would be read in one go, and other requests wait
      taken.rows += batch.length;
      for (const { csv } of batch) {
        if (unmet.size > 0) unmet.delete(stateWord(csv?.state ?? ""));
        for (const word of csv?.absent ?? []) absent.set(word, (absent.get(word) ?? 0) + 1);
      }
      if (wrong.length >= WRONG_MAX) continue;
      const read = await readRows(kind, batch, taken.header ? reading : null, clock);
      for (const { line, faults } of read.wrong)
        wrong.push({
          line,
          faults: faults.map(({ field, says }) => faultIn(taken.header, field, says)),
        });
      for (const [index, { id }] of (read.records as { id: unknown }[]).entries()) {
        if (ids.has(id)) {
          copies.rows++;
          copies.line ||= read.lines[index]!;
        } else if (ids.size < IDS_MAX) ids.add(id);
      }
      if (first.length < FIRST) first.push(...(read.records.slice(0, FIRST - first.length) as typeof first));
      if (wrong.length === 0) await store(read.records);
    }
    if (taken.rows > 0) taken.unmet = [...unmet];
  } catch (error) {
    if (!(error instanceof FileRefused)) throw error;
    taken.broken = error.message;
  }
  return taken;
}

/** What is wrong with a field, by the column that holds it. Where none does, who reads "is required" would look for it in the rows. */
function faultIn(header: Header | null, field: string, says: string): WrongRow["faults"][number] {
  const column = header?.find(([, held]) => held === field)?.[0];
  if (column !== undefined) return { column, says };
  const isMissing = header !== null && field !== "" && says === IS_REQUIRED;
  return { column: field, says: isMissing ? `${says}: --map ${field}=COLUMN says which column holds it` : says };
}

/** Columns of a first line that hold no field. */
export const passedOver = (header: Header): string[] =>
  header.flatMap(([column, field]) => (field === undefined ? [column] : []));
