import { pipeline } from "node:stream";
import { CsvError, type Info, parse } from "csv-parse";
import type { RecordKind } from "../api/ingest/batch.ts";
import { separatorOf } from "../domain/separator.ts";
import { type Columns, type Header, headerOf } from "./columns.ts";
import { FileRefused } from "./file-refused.ts";

/** A file of records of one kind, as it comes. */
export interface HistoryFile {
  /** Says what is in it: JSONL by its end, else CSV. */
  name: string;
  bytes: AsyncIterable<Buffer>;
}

/** A row of a file: where it stands, and the JSON of the record that it says. */
export interface Row {
  /** Of the file, from 1. */
  line: number;
  json: string;
}

/** Far more than a record needs, and little enough to be held: what has no line breaks at all is not kept in memory. */
const ROW_CHARS_MAX = 256 * 1024;

/**
 * The rows of a file, read as they are asked for. A line of a JSONL file is a record as the API takes it.
 *
 * @param onHeader  told how the first line of a CSV is read, before any row
 * @throws FileRefused at the place from which on nothing can be read
 */
export const rowsOf = (
  { name, bytes }: HistoryFile,
  kind: RecordKind<unknown>,
  columns: Columns,
  onHeader: (header: Header) => void = () => {},
): AsyncIterable<Row> =>
  /\.(jsonl|ndjson)$/i.test(name) ? linesOf(bytes) : csvRowsOf(textOf(bytes), kind, columns, onHeader);

/** What the bytes say, in pieces and without a mark of the byte order. */
async function* textOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decoded = (piece?: Buffer) => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw new FileRefused("the file is not UTF-8 text: save or export it as CSV in UTF-8");
    }
  };
  for await (const piece of bytes) yield decoded(piece);
  yield decoded();
}

async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<Row> {
  let line = 0;
  let rest = "";
  for await (const text of textOf(bytes)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const each of lines) {
      line++;
      if (each.trim() !== "") yield { line, json: each.replace(/\r$/, "") };
    }
    if (rest.length > ROW_CHARS_MAX) throw new FileRefused(`line ${line + 1}: ${TOO_LONG}`);
  }
  if (rest.trim() !== "") yield { line: line + 1, json: rest };
}

async function* csvRowsOf(
  text: AsyncGenerator<string>,
  kind: RecordKind<unknown>,
  columns: Columns,
  onHeader: (header: Header) => void,
): AsyncGenerator<Row> {
  const begin = await firstLine(text);
  const parser = parse({
    delimiter: separatorOf(begin),
    info: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true, // a spreadsheet's empty rows
    max_record_size: ROW_CHARS_MAX,
  });
  pipeline(joined(begin, text), parser, () => {}); // what goes wrong comes out of the parser
  let header: Header | undefined;
  let line = 1;
  let twice = 0; // breaks that the parser counted so: of a quoted \r\n it counts each sign
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      twice += countIn(record, /\r\n/g);
      const end = info.lines - twice;
      // By where the row ends: between it and the one before empty ones may stand.
      if (header) yield { line: end - countIn(record, BREAK), json: JSON.stringify(recordOf(kind, header, record)) };
      else {
        header = headerOf(record, kind, columns);
        onHeader(header);
      }
      line = end + 1;
    }
  } catch (error) {
    if (error instanceof CsvError) {
      // Rows before it may not have been taken yet; of a text without an end the parser says the end of the file.
      const at = error.code.includes("INVALID") ? Number(error.lines) : line;
      throw new FileRefused(`line ${at}: ${UNREADABLE[error.code] ?? BAD_QUOTE}`);
    }
    throw error;
  }
}

const BREAK = /\r\n|[\r\n]/g;
const countIn = (cells: readonly string[], sign: RegExp) =>
  cells.reduce((sum, cell) => sum + (cell.match(sign)?.length ?? 0), 0);

/** What a text begins with, its first line that is not empty at least, unless that is longer than a row may be. */
async function firstLine(text: AsyncGenerator<string>): Promise<string> {
  let begin = "";
  while (begin.length <= ROW_CHARS_MAX && !/[\r\n]/.test(begin.trimStart())) {
    const { value, done } = await text.next();
    if (done) break;
    begin += value;
  }
  return begin;
}

async function* joined(begin: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield begin;
  yield* rest;
}

const TOO_LONG = `it is longer than ${ROW_CHARS_MAX} characters`;
const BAD_QUOTE = "a quoted text has no end, or a quote stands where none may stand";
/** The parser's own words quote what it could not read, which may be anything. */
const UNREADABLE: Readonly<Record<string, string>> = {
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: "it has not as many columns as the first line",
  CSV_MAX_RECORD_SIZE: `${TOO_LONG}, or a quoted text in it has no end`,
};

/** What a row says, in the types that the API wants. What is empty is absent. */
function recordOf(kind: RecordKind<unknown>, header: Header, cells: readonly string[]) {
  const record: Record<string, unknown> = {};
  for (const [index, [, field]] of header.entries()) {
    const cell = cells[index]!;
    if (field === undefined || cell === "") continue;
    const { form, schema } = kind.fields.get(field)!;
    const isBoolean = (schema as { type?: string }).type === "boolean" && /^(true|false)$/.test(cell);
    if (isBoolean) record[field] = cell === "true";
    else record[field] = form === "integer" && /^(0|[1-9]\d{0,15})$/.test(cell) ? Number(cell) : cell;
  }
  return record;
}
