import type { RecordKind } from "../api/ingest/batch.ts";
import { FileRefused } from "./file-refused.ts";

/** Which column holds which field; a field that is not named is held by the column of its own name. */
export type Columns = ReadonlyMap<string, string>;

/** What a first line says: each column, in its order, and the field that it holds, if it holds one. */
export type Header = readonly (readonly [column: string, field: string | undefined])[];

/**
 * Read `FIELD=COLUMN,…`.
 *
 * @throws FileRefused when it is something else, or names a field that records of this kind have not
 */
export function columnsOf(map: string, { fields }: RecordKind<unknown>): Columns {
  const columns = new Map<string, string>();
  for (const pair of map === "" ? [] : map.split(",")) {
    const [field = "", column = ""] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    if (!pair.includes("=") || !fields.has(field) || column === "")
      throw new FileRefused(`Columns are written FIELD=COLUMN, not "${pair}". Fields: ${[...fields.keys()].join(" ")}`);
    columns.set(field, column);
  }
  return columns;
}

/** The fields that the columns of a first line hold. */
export function headerOf(names: readonly string[], kind: RecordKind<unknown>, columns: Columns): Header {
  const missing = [...columns.values()].find((column) => !names.includes(column));
  if (missing !== undefined) throw new FileRefused(`the file has no column ${missing}`);
  const fieldOf = new Map([...columns].map(([field, column]) => [column, field]));
  const header = names.map(
    (column) =>
      [column, fieldOf.get(column) ?? (kind.fields.has(column) && !columns.has(column) ? column : undefined)] as const,
  );
  if (header.every(([, field]) => field === undefined))
    throw new FileRefused(
      `no column of the first line holds a field of ${kind.name}: a file is CSV, with a first line of column names, or JSONL, with a name that ends in .jsonl`,
    );
  return header;
}
