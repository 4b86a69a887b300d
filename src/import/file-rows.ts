import { pipeline } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CsvError, parse } from "csv-parse";
import {
  type CsvFormat,
  createColumnFilter,
  type HeaderMapping,
  mapHeader,
  refuseCsvFormatForJson,
} from "../domain/csv-format.ts";
import {
  BAD_QUOTE_MESSAGE,
  COLUMN_COUNT_MESSAGE,
  createCsvOptions,
  createEmptyRowFilter,
  createFormulaReader,
  detectDelimiter,
  firstLineOf,
  hasColumns,
  unwrapFormula,
} from "../domain/csv-input.ts";
import { FileRefusedError } from "../domain/file-refused-error.ts";
import { createJsonListSplitter, isJsonList, LIST_SAMPLE_CHARS } from "../domain/json-list.ts";
import { detectEncoding, NOT_TEXT_MESSAGE, SAMPLE_BYTES } from "../domain/text-encoding.ts";
import type { RecordKind } from "../ingest/parse-batch.ts";
import { type CsvRecord, csvToRecord } from "./csv-to-record.ts";

/** A file of records of one kind, as it comes. */
export interface HistoryFile {
  /** Its end says what is in it, .jsonl, .ndjson or .json, where it does not begin as a JSON list. Else it is CSV. */
  name: string;
  bytes: AsyncIterable<Buffer>;
}

/** A row of a file: where it stands, and the JSON of the record that it says. */
export interface FileRow {
  /** The line in the file, or the place of the record in a JSON list; from 1. */
  line: number;
  json: string;
  /** How a row of a CSV was read. */
  csv?: Pick<CsvRecord, "absent" | "mangled"> & {
    /** The word for its state as it stands in the file. */
    state: string | undefined;
  };
}

/** Far more than a record needs, and little enough to be held: what has no line breaks at all is not kept in memory. */
const ROW_CHARS_MAX = 256 * 1024;

/**
 * The rows of a file, read as they are asked for. A line of a JSONL file is a record as the API takes it, and so is an entry of a JSON list.
 *
 * @param onBegin  told how the first line of a CSV is read, or that the file is a list, before any row
 * @throws FileRefused at the place from which on nothing can be read
 */
export async function* readFileRows(
  { name, bytes }: HistoryFile,
  kind: RecordKind<unknown>,
  reading: CsvFormat,
  onBegin: (how: HeaderMapping | "list") => void = () => {},
): AsyncGenerator<FileRow> {
  const text = splitIntoTurns(decodeText(bytes));
  const begin = await readBeginning(text);
  const whole = joinText(begin, text);
  const isJson = /\.(jsonl|ndjson|json)$/i.test(name);
  const isList = isJsonList(begin, kind.name);
  if (isJson || isList) refuseCsvFormatForJson(reading);
  if (isList) {
    onBegin("list");
    yield* rowsOfJsonList(whole, kind);
  } else if (/\.json$/i.test(name) ? isJsonLines(begin) : isJson) yield* readJsonLines(whole);
  else if (isJson || isObject(begin)) throw new FileRefusedError(notJsonProblem(kind));
  else yield* readCsvRows(whole, kind, reading, onBegin);
}

const isObject = (text: string) => /^\s*\{/.test(text);

/** Whether the first line is an object as a whole, or may be: many programs write .json for .jsonl. */
const isJsonLines = (begin: string) => /^\s*\{[^\n]*(?:\}\s*(?:\n|$)|$)/.test(begin);

const notJsonProblem = ({ name }: RecordKind<unknown>) =>
  `it is no list of ${name}: a .json file holds [{…}, {…}] or {"${name}": [{…}, {…}]}, and a .jsonl file a record in each line`;

async function* rowsOfJsonList(text: AsyncIterable<string>, { name }: RecordKind<unknown>): AsyncGenerator<FileRow> {
  const list = createJsonListSplitter(name, ROW_CHARS_MAX);
  for await (const piece of text) for (const { record, json } of list.take(piece)) yield { line: record, json };
  list.end();
}

/** What the bytes say, in pieces and without a mark of the byte order. */
async function* decodeText(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  const decoded = (piece: Buffer, isLast = false) => {
    decoder ??= new TextDecoder(detectEncoding(piece), { fatal: true });
    try {
      return decoder.decode(piece, { stream: !isLast });
    } catch {
      throw new FileRefusedError(NOT_TEXT_MESSAGE);
    }
  };
  let begin = Buffer.alloc(0);
  for await (const piece of bytes) {
    if (decoder) yield decoded(piece);
    else begin = Buffer.concat([begin, piece]); // a piece may be one byte
    if (!decoder && begin.length >= SAMPLE_BYTES) yield decoded(begin);
  }
  yield decoder ? decoded(Buffer.alloc(0), true) : decoded(begin, true);
}

async function* readJsonLines(pieces: AsyncIterable<string>): AsyncGenerator<FileRow> {
  let line = 0;
  let rest = "";
  for await (const text of pieces) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const each of lines) {
      line++;
      if (each.trim() !== "") yield { line, json: each.replace(/\r$/, "") };
    }
    if (rest.length > ROW_CHARS_MAX) throw new FileRefusedError(`line ${line + 1}: ${TOO_LONG_PROBLEM}`);
  }
  if (rest.trim() !== "") yield { line: line + 1, json: rest };
}

async function* readCsvRows(
  written: AsyncIterable<string>,
  kind: RecordKind<unknown>,
  reading: CsvFormat,
  onHeader: (header: HeaderMapping) => void,
): AsyncGenerator<FileRow> {
  const text = mapCsvRows(written, createFormulaReader());
  const { delimiter, begin } = detectDelimiter(await readHeading(text), createColumnFilter(kind.fields, reading));
  const { options, begins, tornAt } = createCsvOptions(delimiter);
  const parser = parse({ ...options, max_record_size: ROW_CHARS_MAX });
  pipeline(mapCsvRows(joinText(begin, text), createEmptyRowFilter(delimiter)), parser, () => {}); // the parser throws the errors
  let header: HeaderMapping | undefined;
  let stateAt = -1;
  try {
    for await (const parsed of parser as AsyncIterable<string[]>) {
      const cells = parsed.map(unwrapFormula);
      const line = begins.shift()!; // so that what is kept does not grow with the file
      if (!header) {
        header = mapHeader(cells, kind.fields, reading);
        if (header.every(([, field]) => field === undefined)) throw new FileRefusedError(noFieldProblem(kind));
        stateAt = header.findIndex(([, field]) => field === "state");
        onHeader(header);
      } else if (!hasColumns(cells, header)) throw new FileRefusedError(`line ${line}: ${COLUMN_COUNT_MESSAGE}`);
      else {
        const { record, ...how } = csvToRecord(kind, header, cells, reading);
        yield { line, json: JSON.stringify(record), csv: { ...how, state: cells[stateAt] } };
      }
    }
  } catch (error) {
    if (error instanceof CsvError)
      throw new FileRefusedError(`line ${tornAt(error)}: ${CSV_PROBLEM_BY_CODE[error.code] ?? BAD_QUOTE_MESSAGE}`);
    throw error;
  }
}

const noFieldProblem = ({ name }: RecordKind<unknown>) =>
  `no column of the first line holds a field of ${name}: a file is CSV, with a first line of column names, or JSONL, with a name that ends in .jsonl`;

async function* mapCsvRows(
  text: AsyncIterable<string>,
  read: (piece: string, isLast?: boolean) => string,
): AsyncGenerator<string> {
  for await (const piece of text) yield read(piece);
  yield read("", true);
}

/** Little enough to be parsed within milliseconds, were each sign a cell. */
const CHARS_PER_TURN = 8 * 1024;

/** Cuts a text into pieces, and lets other work have its turn before each. */
async function* splitIntoTurns(text: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const piece of text)
    for (let at = 0; at < piece.length; at += CHARS_PER_TURN) {
      await nextTurn();
      yield piece.slice(at, at + CHARS_PER_TURN);
    }
}

/** The beginning of a text: enough to tell its format, or all of it. */
async function readBeginning(text: AsyncGenerator<string>): Promise<string> {
  let begin = "";
  while (begin.trimStart().length < LIST_SAMPLE_CHARS && begin.length <= ROW_CHARS_MAX) {
    const { value, done } = await text.next();
    if (done) break;
    begin += value;
  }
  return begin;
}

/** The beginning of a text with its heading, unless the heading is longer than a row may be. */
async function readHeading(text: AsyncGenerator<string>): Promise<string> {
  let begin = "";
  while (begin.length <= ROW_CHARS_MAX && firstLineOf(begin) === undefined) {
    const { value, done } = await text.next();
    if (done) break;
    begin += value;
  }
  return begin;
}

async function* joinText(begin: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield begin;
  yield* rest;
}

const TOO_LONG_PROBLEM = `it is longer than ${ROW_CHARS_MAX} characters`;
/** The parser's own words quote what it could not read, which may be anything. */
const CSV_PROBLEM_BY_CODE: Readonly<Record<string, string>> = {
  CSV_MAX_RECORD_SIZE: `${TOO_LONG_PROBLEM}, or a quoted text in it has no end`,
};
