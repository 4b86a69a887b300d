import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { type Info, parse } from "csv-parse";
import type { RecordKind } from "../../api/ingest/batch.ts";
import { Failure } from "../command.ts";

/** A row of a file: where it stands, and the JSON of the record that it says. */
export interface Row {
  /** Of the file, from 1. */
  line: number;
  json: string;
  /** How much of the file was read with it. */
  bytes: number;
}

/** Which column holds which field; a field that is not named is held by the column of its own name. */
export type Columns = ReadonlyMap<string, string>;

/** The rows of a file, read as they are asked for. A line of a JSONL file is a record as the API takes it. */
export const rowsOf = (path: string, kind: RecordKind<unknown>, columns: Columns): AsyncIterable<Row> =>
  /\.(jsonl|ndjson)$/i.test(path) ? linesOf(path) : csvRowsOf(path, kind, columns);

async function* linesOf(path: string): AsyncGenerator<Row> {
  let line = 0;
  let bytes = 0;
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    line++;
    bytes += Buffer.byteLength(text) + 1;
    if (text.trim() !== "") yield { line, json: line === 1 ? text.replace(/^\ufeff/, "") : text, bytes };
  }
}

async function* csvRowsOf(path: string, kind: RecordKind<unknown>, columns: Columns): AsyncGenerator<Row> {
  const parser = createReadStream(path).pipe(parse({ bom: true, info: true, skip_empty_lines: true }));
  let header: (string | undefined)[] | undefined;
  let line = 1;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      if (header) yield { line, json: JSON.stringify(recordOf(kind, header, record)), bytes: info.bytes };
      else header = fieldsIn(record, kind, columns);
      line = info.lines + 1; // where the next one begins: a quoted text may have lines
    }
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith("CSV_")) throw new Failure(`line ${line}: ${messageOf(error)}`);
    throw error;
  }
}

/** The parser quotes what it could not read, which may be anything. */
const messageOf = (error: unknown) =>
  (error as { code: string }).code === "CSV_RECORD_INCONSISTENT_FIELDS_LENGTH"
    ? "it has not as many columns as the first line"
    : "a quoted text has no end, or a quote stands where none may stand";

/** The field that each column holds; undefined for columns of no interest. */
function fieldsIn(header: readonly string[], kind: RecordKind<unknown>, columns: Columns): (string | undefined)[] {
  const missing = [...columns.values()].find((column) => !header.includes(column));
  if (missing !== undefined) throw new Failure(`the file has no column ${missing}`);
  const fieldOf = new Map([...columns].map(([field, column]) => [column, field]));
  return header.map(
    (column) => fieldOf.get(column) ?? (kind.fields.has(column) && !columns.has(column) ? column : undefined),
  );
}

/** What a row says, in the types that the API wants. What is empty is absent. */
function recordOf(kind: RecordKind<unknown>, header: readonly (string | undefined)[], cells: readonly string[]) {
  const record: Record<string, unknown> = {};
  for (const [index, field] of header.entries()) {
    const cell = cells[index]!;
    if (field === undefined || cell === "") continue;
    const { integer, schema } = kind.fields.get(field)!;
    const isBoolean = (schema as { type?: string }).type === "boolean" && /^(true|false)$/.test(cell);
    if (isBoolean) record[field] = cell === "true";
    else record[field] = integer && /^(0|[1-9]\d{0,15})$/.test(cell) ? Number(cell) : cell;
  }
  return record;
}
