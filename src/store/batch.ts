import { binaryArray } from "./binary-array.ts";
import { plannedOnce, prepared, type Statement, type Tx } from "./database.ts";

/** A column of a table, its PostgreSQL type, and the field of the row that holds its value. */
export type Column<Row> = readonly [name: string, type: string, field: keyof Row & string];

/** `$2::text[], $3::int8[], …`: one array parameter for each column. */
export const arrays = <Row>(columns: readonly Column<Row>[], first: number) =>
  columns.map(([, type], index) => `$${first + index}::${type}[]`).join(", ");

/**
 * `unnest($2::text[]) as id, unnest($3::int8[]) as amount, …`: a select list with the values of each row. So the arrays are
 * read side by side; `from unnest($2, $3, …)` writes each into a store of its own first, which is a tenth of an upsert.
 */
export const unnested = <Row>(columns: readonly Column<Row>[], first: number) =>
  columns.map(([name, type], index) => `unnest($${first + index}::${type}[]) as ${name}`).join(", ");

/** The merchant, `$1`, then the values of each row. */
const selectRows = <Row>(columns: readonly Column<Row>[]) => `select $1::uuid, ${unnested(columns, 2)}`;

/** The values of `rows`, column by column, as `unnest` takes them. */
export const columnValues = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Buffer[] =>
  columns.map(([, type, field]) => binaryArray(rows, field, type));

/** Store all records. Parameters as of `upsertText`. */
export const insertText = <Row>(table: string, columns: readonly Column<Row>[]) =>
  `insert into ${table} (merchant_id, ${columns.map(([name]) => name).join(", ")}) ${selectRows(columns)}`;

/**
 * Keep the newer copy of each record: one statement for every batch size.
 * `$1` is the merchant, then one array for each column. Rows must be sorted by id with no id twice.
 * Returns `returning` of the records that changed.
 *
 * @param also  what else is set in those that were known, by their older copies, whose name is that of the table
 */
export function upsertText<Row>(
  table: string,
  columns: readonly Column<Row>[],
  returning: string,
  also: readonly string[] = [],
): string {
  const names = columns.map(([name]) => name);
  return `${insertText(table, columns)}
     on conflict (merchant_id, id) do update
       set ${names
         .filter((name) => name !== "id")
         .map((name) => `${name} = excluded.${name}`)
         .concat(also)
         .join(", ")}
       where ${table}.updated_at < excluded.updated_at
     returning ${returning}`;
}

/** `upsertText` that returns `id` and `inserted`. */
export const upsertNewer = <Row>(table: string, columns: readonly Column<Row>[]): Statement =>
  prepared(`upsert_${table}`, upsertText(table, columns, "id, (xmax = 0) as inserted"));

/** Columns as a select list, named by their fields. */
export const selectList = <Row>(columns: readonly Column<Row>[]) =>
  columns.map(([name, , field]) => `${name} as "${field}"`).join(", ");

/**
 * A record as the domain has it: what is not known is undefined, not null. Changed in place, so that all records of a kind are of one form: made
 * anew without what is not known, they cost more than reading them did.
 */
export function withoutNulls<Row extends object>(row: Row): Row {
  for (const field in row) if (row[field] === null) row[field] = undefined as Row[typeof field];
  return row;
}

/** As many as are read at once. In the text: of a number that it does not know PostgreSQL would plan for a tenth of all rows. */
const PAGE = 1_000;

/** The `PAGE` records of a merchant, `$1`, that come after an id, `$2`, in the order of ids. */
export const selectAfter = <Row>(table: string, columns: readonly Column<Row>[]): Statement =>
  plannedOnce(
    `${table}_after`,
    `select ${selectList(columns)} from ${table} where merchant_id = $1 and id > $2 order by id limit ${PAGE}`,
  );

/** Runs what `selectAfter` made. `last`: undefined asks for the first ones; none come after the last ones. */
export async function recordsAfter<Row extends { id: string }>(
  tx: Tx,
  after: Statement,
  merchantId: string,
  last: Row | undefined,
) {
  return (await tx.run<Row>(after, [merchantId, last?.id ?? ""])).rows.map(withoutNulls);
}

/** What changed by an upsert. */
export interface Changed {
  id: string;
  inserted: boolean;
}
