import { setImmediate as nextTurn } from "node:timers/promises";
import type { RecordKind } from "../api/ingest/batch.ts";
import { IS_REQUIRED } from "../api/ingest/problems.ts";
import type { SenderClock } from "../api/ingest/refuse-impossible.ts";
import { FileRefused } from "../domain/file-refused.ts";
import { type Header, type Reading, wordsToMeet } from "../domain/reading.ts";
import { stateWord } from "../domain/written.ts";
import { batchesOf, readRows } from "./read-rows.ts";
import { type HistoryFile, isJson, rowsOf } from "./rows.ts";

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

/** What is wrong with these rows, one fault after the other. */
export const faultsOf = (wrong: readonly WrongRow[]) =>
  wrong.flatMap(({ line, faults }) => faults.map((fault) => ({ line, ...fault })));

/** What is wrong alike in several rows. */
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
export function alikeWords({ says, lines }: AlikeFault): string {
  if (lines.length === 1) return says;
  const more = lines.length > LINES_SHOWN ? " and so on" : "";
  return `${says} (${lines.length.toLocaleString("en")} rows: lines ${lines.slice(0, LINES_SHOWN).join(", ")}${more})`;
}

/** What came of a file. */
export interface Taken {
  /** How the first line of a CSV is read; null for JSONL. */
  header: Header | null;
  /** In whole batches, as far as the file can be read. */
  rows: number;
  /** The first right ones of them, as they are stored. */
  first: Record<string, unknown>[];
  wrong: WrongRow[];
  /** Words whose meaning was said (--states), and that no row has. */
  unmet: string[];
  /** Why the file can't be read, or not to its end; null when it was. */
  broken: string | null;
}

export const isWhole = ({ wrong, broken }: Taken) => wrong.length === 0 && broken === null;

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
  const taken: Taken = { header: null, rows: 0, first: [], wrong: [], unmet: [], broken: null };
  const unmet = wordsToMeet(reading);
  const { first, wrong } = taken;
  const rows = rowsOf(file, kind, reading, (header) => {
    taken.header = header;
  });
  try {
    for await (const batch of batchesOf(rows)) {
      await nextTurn(); // what has arrived would be read in one go, and other requests wait
      taken.rows += batch.length;
      if (unmet.size > 0) for (const { state = "" } of batch) unmet.delete(stateWord(state));
      if (wrong.length >= WRONG_MAX) continue;
      const read = readRows(kind, batch, isJson(file.name) ? null : reading, clock);
      for (const { line, faults } of read.wrong)
        wrong.push({
          line,
          faults: faults.map(({ field, says }) => faultIn(taken.header, field, says)),
        });
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
