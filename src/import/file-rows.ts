import { pipeline } from "node:stream";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
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

export interface HistoryFile {
  /** JSON if it starts as a JSON list or is named .jsonl, .ndjson or .json; otherwise CSV. */
  name: string;
  bytes: AsyncIterable<Buffer>;
}

export interface FileRow {
  /** Or the position in a JSON list; from 1. */
  line: number;
  json: string;
  /** How a CSV row was read. */
  csv?: Pick<CsvRecord, "absentWords" | "roundedFields"> & {
    /** As written in the file. */
    state: string | undefined;
  };
}

/** Far more than a record needs. Bounds the memory for a file without line breaks. */
const ROW_CHARS_MAX = 256 * 1024;

/**
 * Reads rows on demand. A JSONL line or a JSON list's entry is a record in the API's format.
 *
 * @param onBegin  receives the mapping of a CSV's columns, or "list", before the first row
 * @throws FileRefusedError where the rest cannot be read
 */
export async function* readFileRows(
  { name, bytes }: HistoryFile,
  kind: RecordKind<unknown>,
  csvFormat: CsvFormat,
  onBegin: (format: HeaderMapping | "list") => void = () => {},
): AsyncGenerator<FileRow> {
  const text = splitIntoChunks(decodeText(bytes));
  const begin = await readBeginning(text);
  const fullText = joinText(begin, text);
  const isJson = /\.(jsonl|ndjson|json)$/i.test(name);
  const isList = isJsonList(begin, kind.name);
  if (isJson || isList) refuseCsvFormatForJson(csvFormat);
  if (isList) {
    onBegin("list");
    yield* rowsOfJsonList(fullText, kind);
  } else if (/\.json$/i.test(name) ? isJsonLines(begin) : isJson) yield* readJsonLines(fullText);
  else if (isJson || isObject(begin)) throw new FileRefusedError(notJsonProblem(kind));
  else yield* readCsvRows(fullText, kind, csvFormat, onBegin);
}

const isObject = (text: string) => /^\s*\{/.test(text);

/** The first line may be a complete object: many programs use .json for JSONL. */
const isJsonLines = (begin: string) => /^\s*\{[^\n]*(?:\}\s*(?:\n|$)|$)/.test(begin);

const notJsonProblem = ({ name }: RecordKind<unknown>) =>
  `it is not a list of ${name}: a .json file must hold [{…}, {…}] or {"${name}": [{…}, {…}]}, and a .jsonl file one record per line`;

async function* rowsOfJsonList(text: AsyncIterable<string>, { name }: RecordKind<unknown>): AsyncGenerator<FileRow> {
  const list = createJsonListSplitter(name, ROW_CHARS_MAX);
  for await (const chunk of text) for (const { record, json } of list.take(chunk)) yield { line: record, json };
  list.end();
}

/** Without a byte order mark. */
async function* decodeText(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  const decoded = (chunk: Buffer, isLast = false) => {
    decoder ??= new TextDecoder(detectEncoding(chunk), { fatal: true });
    try {
      return decoder.decode(chunk, { stream: !isLast });
    } catch {
      throw new FileRefusedError(NOT_TEXT_MESSAGE);
    }
  };
  let begin = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (decoder) yield decoded(chunk);
    else begin = Buffer.concat([begin, chunk]); // a chunk may be a single byte
    if (!decoder && begin.length >= SAMPLE_BYTES) yield decoded(begin);
  }
  yield decoder ? decoded(Buffer.alloc(0), true) : decoded(begin, true);
}

async function* readJsonLines(chunks: AsyncIterable<string>): AsyncGenerator<FileRow> {
  let line = 0;
  let rest = "";
  for await (const text of chunks) {
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
  rawText: AsyncIterable<string>,
  kind: RecordKind<unknown>,
  csvFormat: CsvFormat,
  onHeader: (header: HeaderMapping) => void,
): AsyncGenerator<FileRow> {
  const text = mapCsvRows(rawText, createFormulaReader());
  const { delimiter, begin } = detectDelimiter(await readHeader(text), createColumnFilter(kind.fields, csvFormat));
  const { options, begins: rowLines, tornAt } = createCsvOptions(delimiter);
  const parser = parse({ ...options, max_record_size: ROW_CHARS_MAX });
  pipeline(mapCsvRows(joinText(begin, text), createEmptyRowFilter(delimiter)), parser, () => {}); // the parser throws the errors
  let header: HeaderMapping | undefined;
  let stateIndex = -1;
  try {
    for await (const parsed of parser as AsyncIterable<string[]>) {
      const cells = parsed.map(unwrapFormula);
      const line = rowLines.shift()!; // removed, so that memory does not grow with the file
      if (!header) {
        header = mapHeader(cells, kind.fields, csvFormat);
        if (header.every(([, field]) => field === undefined)) throw new FileRefusedError(noFieldProblem(kind));
        stateIndex = header.findIndex(([, field]) => field === "state");
        onHeader(header);
      } else if (!hasColumns(cells, header)) throw new FileRefusedError(`line ${line}: ${COLUMN_COUNT_MESSAGE}`);
      else {
        const { record, ...details } = csvToRecord(kind, header, cells, csvFormat);
        yield { line, json: JSON.stringify(record), csv: { ...details, state: cells[stateIndex] } };
      }
    }
  } catch (error) {
    if (error instanceof CsvError)
      throw new FileRefusedError(`line ${tornAt(error)}: ${CSV_PROBLEM_BY_CODE[error.code] ?? BAD_QUOTE_MESSAGE}`);
    throw error;
  }
}

const noFieldProblem = ({ name }: RecordKind<unknown>) =>
  `no column name in the first line matches a field of ${name}: send CSV with column names in the first line, or JSONL in a file whose name ends in .jsonl`;

async function* mapCsvRows(
  text: AsyncIterable<string>,
  read: (chunk: string, isLast?: boolean) => string,
): AsyncGenerator<string> {
  for await (const chunk of text) yield read(chunk);
  yield read("", true);
}

/** Parsed in milliseconds, even if every character were a cell. */
const CHARS_PER_CHUNK = 8 * 1024;

/** Yields to other work before each chunk. */
async function* splitIntoChunks(text: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const chunk of text)
    for (let at = 0; at < chunk.length; at += CHARS_PER_CHUNK) {
      await yieldToEventLoop();
      yield chunk.slice(at, at + CHARS_PER_CHUNK);
    }
}

/** Enough to detect the format. */
async function readBeginning(text: AsyncGenerator<string>): Promise<string> {
  let begin = "";
  while (begin.trimStart().length < LIST_SAMPLE_CHARS && begin.length <= ROW_CHARS_MAX) {
    const { value, done } = await text.next();
    if (done) break;
    begin += value;
  }
  return begin;
}

/** To the end of the header, or to a row's maximum length. */
async function readHeader(text: AsyncGenerator<string>): Promise<string> {
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
/** The parser's own messages quote the file, which may hold secrets. */
const CSV_PROBLEM_BY_CODE: Readonly<Record<string, string>> = {
  CSV_MAX_RECORD_SIZE: `${TOO_LONG_PROBLEM}, or a quoted value in it is not closed`,
};
