import { ApiError } from "../api/errors.ts";
import { BATCH_MAX, type RecordKind, readAny } from "../api/ingest/batch.ts";
import type { Row } from "./rows.ts";

/** What is wrong with a row. */
export interface Wrong {
  line: number;
  /** The field at fault, or "" when the row as a whole is. */
  field: string;
  says: string;
}

/** As long as a body of the API's may be, so that reading a batch takes no longer. */
const BATCH_CHARS_MAX = 1024 * 1024;

/** Rows in batches of the API's size. */
export async function* batchesOf(rows: AsyncIterable<Row>): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  let chars = 0;
  for await (const row of rows) {
    batch.push(row);
    chars += row.json.length;
    if (batch.length < BATCH_MAX && chars < BATCH_CHARS_MAX) continue;
    yield batch;
    batch = [];
    chars = 0;
  }
  if (batch.length > 0) yield batch;
}

/** The records of these rows and what is wrong with the others, by the code that reads the bodies of requests. */
export function readRows<Record>(
  kind: RecordKind<Record>,
  rows: readonly Row[],
): { records: Record[]; wrong: Wrong[] } {
  try {
    return { records: read(kind, rows), wrong: [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  const records: Record[] = [];
  const wrong: Wrong[] = [];
  for (const row of rows)
    try {
      records.push(...read(kind, [row]));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const field = /^\w+\[0\]\.(.+)$/.exec(error.field ?? "")?.[1] ?? "";
      // Of a body, which the caller never saw: here it is the row.
      const whole = error.message.replace(/^\w+\[0\] /, "").replace(/^the body (is not valid JSON).*/, "$1");
      const says = field === "" ? whole : error.message.slice(error.field!.length + 1);
      wrong.push({ line: row.line, field, says });
    }
  return { records, wrong };
}

function read<Record>(kind: RecordKind<Record>, rows: readonly Row[]): Record[] {
  const records = readAny(kind, Buffer.from(`{"${kind.name}":[${rows.map(({ json }) => json).join()}]}`));
  // A line may hold two records with a comma between them, and its errors would be another line's.
  if (records.length !== rows.length) throw new ApiError(400, "must hold one record");
  return records;
}
