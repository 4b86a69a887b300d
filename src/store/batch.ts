import { binaryArray } from "./binary-array.ts";
import { prepared, type Statement } from "./database.ts";

/** A column of a table, its PostgreSQL type, and the field of the row that holds its value. */
export type Column<Row> = readonly [name: string, type: string, field: keyof Row & string];

/** `$2::text[], $3::int8[], …`: one array parameter for each column. */
export const arrays = <Row>(columns: readonly Column<Row>[], first: number) =>
  columns.map(([, type], index) => `$${first + index}::${type}[]`).join(", ");

/** The values of `rows`, column by column, as `unnest` takes them. */
export const columnValues = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Buffer[] =>
  columns.map(([, type, field]) => binaryArray(rows, field, type));

/**
 * Keep the newer copy of each record: one statement for every batch size.
 * `$1` is the merchant, then one array for each column. Rows must be sorted by id with no id twice.
 * Returns `id` and `inserted` of the records that changed.
 */
export function upsertNewer<Row>(table: string, columns: readonly Column<Row>[]): Statement {
  const names = columns.map(([name]) => name);
  return prepared(
    `upsert_${table}`,
    `insert into ${table} (merchant_id, ${names.join(", ")})
     select $1::uuid, * from unnest(${arrays(columns, 2)})
     on conflict (merchant_id, id) do update
       set ${names
         .filter((name) => name !== "id")
         .map((name) => `${name} = excluded.${name}`)
         .join(", ")}
       where ${table}.updated_at < excluded.updated_at
     returning id, (xmax = 0) as inserted`,
  );
}

/** Columns as a select list, named by their fields. */
export const selectList = <Row>(columns: readonly Column<Row>[]) =>
  columns.map(([name, , field]) => `${name} as "${field}"`).join(", ");

/** A record as the domain has it: what is not known is absent, not null. */
export const withoutNulls = <Row extends object>(row: Row): Row =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Row;

/** What changed by an upsert. */
export interface Changed {
  id: string;
  inserted: boolean;
}

/** The newest copy of each id, sorted by id, so that two batches take their row locks in the same order. */
export function newestById<Row extends { id: string; updatedAt: Date }>(rows: readonly Row[]): Row[] {
  const newest = new Map<string, Row>();
  for (const row of rows) {
    const known = newest.get(row.id);
    if (!known || known.updatedAt <= row.updatedAt) newest.set(row.id, row);
  }
  return [...newest.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}
