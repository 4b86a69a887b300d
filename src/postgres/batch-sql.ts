import { encodeBinaryArray } from "./binary-array.ts";
import { prepared, preparedGeneric, type Statement, type Tx } from "./database.ts";

/** A column of a table, its PostgreSQL type, and the field of the row that holds its value. */
export type Column<Row> = readonly [name: string, type: string, field: keyof Row & string];

/** `$2::text[], $3::int8[], …`: one array parameter for each column. */
export const arrayParameters = <Row>(columns: readonly Column<Row>[], first: number) =>
  columns.map(([, type], index) => `$${first + index}::${type}[]`).join(", ");

/**
 * `unnest($2::text[]) as id, unnest($3::int8[]) as amount, …`: a select list with the values of each row. So the arrays are
 * read side by side; `from unnest($2, $3, …)` writes each into a store of its own first, which is a tenth of an upsert.
 */
export const unnestColumns = <Row>(columns: readonly Column<Row>[], first: number) =>
  columns.map(([name, type], index) => `unnest($${first + index}::${type}[]) as ${name}`).join(", ");

/** The values of `rows`, column by column, as `unnest` takes them. */
export const columnValues = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Buffer[] =>
  columns.map(([, type, field]) => encodeBinaryArray(rows, field, type));

/** A column of a table beside those of its records, and the SQL of its value. */
type ComputedColumn = readonly [name: string, value: string];

/** The date of a version: a first one that the sender does not date is dated by its creation. */
const VERSION_DATE = "coalesce(updated_at, created_at)";
/** `version_at` of a record that the sender never dated. */
const NO_VERSION_DATE = "'-infinity'::timestamptz";

/**
 * Store all records. Parameters as of `upsertSql`.
 *
 * @param also  columns that are computed from those of the record, which the values name as they are
 */
export function insertSql<Row>(table: string, columns: readonly Column<Row>[], also: readonly ComputedColumn[] = []) {
  const names = columns.map(([name]) => name);
  const computed: ComputedColumn[] = [
    ["version_at", `case when updated_at is null then ${NO_VERSION_DATE} end`],
    ...also,
  ];
  return `insert into ${table} (merchant_id, ${[...names, ...computed.map(([name]) => name)].join(", ")})
     select $1::uuid, ${names.map((name) => (name === "updated_at" ? VERSION_DATE : name)).join(", ")}, ${computed.map(([, value]) => value).join(", ")}
     from (select ${unnestColumns(columns, 2)}) pushed`;
}

/** How versions of a record are told apart beside their dates. */
export interface VersionRules<Row> {
  table: string;
  columns: readonly Column<Row>[];
  /** States from the first to the one that is furthest along: of two versions of one date the latter wins. */
  order: readonly string[];
  /** Columns that are computed when a record is new. */
  insertAlso?: readonly ComputedColumn[];
  /** Columns that are computed when a record was known: `excluded` is the new version, the table's name the stored one. */
  updateAlso?: readonly ComputedColumn[];
  /** Columns of the record whose new value depends on the stored one. */
  adjusted?: readonly ComputedColumn[];
}

const stateRankSql = (order: readonly string[], state: string) =>
  `array_position(array[${order.map((each) => `'${each}'`).join(", ")}], ${state})`;
/** The date that a new version is compared with. */
const storedVersionDateSql = (table: string) => `coalesce(${table}.version_at, ${table}.updated_at)`;

/**
 * Returns the text of a statement that keeps the version of each record that is the truth (decision 52), for every batch size. `$1` is the merchant, then one array
 * for each column, then service time. Rows must be sorted by id with no id twice. Returns `returning` of the records that changed.
 *
 * - A version with a date wins if it is newer than any the sender dated before, and of the same date if its state is at least as far along.
 * - A version without a date wins: it came later.
 * - One that says what is stored changes nothing.
 */
export function upsertSql<Row>(versions: VersionRules<Row>, returning: string): string {
  const { table, columns, order, insertAlso = [], updateAlso = [], adjusted = [] } = versions;
  const isDated = "excluded.version_at is null";
  const now = `$${columns.length + 2}::timestamptz`;
  const values = new Map(columns.map(([name]) => [name, `excluded.${name}`]));
  for (const [name, value] of adjusted) values.set(name, value);
  const date = `case when ${isDated} then excluded.updated_at else greatest(${now}, ${table}.updated_at) end`;
  const compared = [...values.keys()].filter((name) => name !== "id" && name !== "updated_at");
  const list = (value: (name: string) => string) => compared.map(value).join(", ");
  const set = [
    ...compared.map((name) => `${name} = ${values.get(name)}`),
    `updated_at = ${date}`,
    `version_at = case when not ${isDated} then ${storedVersionDateSql(table)} end`,
    ...updateAlso.map(([name, value]) => `${name} = ${value.replaceAll("DATE", date)}`),
  ];
  return `${insertSql(table, columns, insertAlso)}
     on conflict (merchant_id, id) do update set ${set.join(", ")}
     where case
       when ${isDated} and excluded.updated_at > ${storedVersionDateSql(table)} then true
       when ${isDated} and (excluded.updated_at < ${storedVersionDateSql(table)} or ${stateRankSql(order, "excluded.state")} < ${stateRankSql(order, `${table}.state`)}) then false
       else (${list((name) => `${table}.${name}`)}) is distinct from (${list((name) => values.get(name)!)}) end
     returning ${returning}`;
}

/** The two statements of a table of versions. */
export interface VersionedTable<Row> {
  /** Keeps the version of each record that is the truth; returns those that changed. `now`: service time. */
  upsert(tx: Tx, merchantId: string, records: readonly Row[], now: Date): Promise<UpsertChanges[]>;
  /** Returns the ids of those versions that are older than what is stored. */
  older(tx: Tx, merchantId: string, records: readonly Row[]): Promise<string[]>;
}

export function versionedTable<Row extends { id: string }>(versions: VersionRules<Row>): VersionedTable<Row> {
  const upsert = prepared(`upsert_${versions.table}`, upsertSql(versions, "id, (xmax = 0) as inserted"));
  return {
    upsert: async (tx, merchantId, records, now) =>
      (await tx.run<UpsertChanges>(upsert, [merchantId, ...columnValues(records, versions.columns), now])).rows,
    older: createOlderVersionsFinder(versions),
  };
}

/** Makes what finds, among all versions that a statement was to store, those that are older than what is stored. */
export function createOlderVersionsFinder<Row extends { id: string }>({
  table,
  columns,
  order,
}: VersionRules<Row>): VersionedTable<Row>["older"] {
  const older = prepared(
    `older_${table}`,
    `select p.id from unnest($2::text[], $3::timestamptz[], $4::text[]) as p (id, updated_at, state)
     cross join lateral (select * from ${table} where merchant_id = $1 and id = p.id offset 0) s
     where p.updated_at < ${storedVersionDateSql("s")} or (p.updated_at = ${storedVersionDateSql("s")} and ${stateRankSql(order, "p.state")} < ${stateRankSql(order, "s.state")})`,
  );
  const compared = ["id", "updatedAt", "state"].map((name) => columns.find(([, , field]) => field === name)!);
  return async (tx, merchantId, records) => {
    const { rows } = await tx.run<{ id: string }>(older, [merchantId, ...columnValues(records, compared)]);
    return rows.map(({ id }) => id);
  };
}

/** Columns as a select list, named by their fields. */
export const selectList = <Row>(columns: readonly Column<Row>[]) =>
  columns.map(([name, , field]) => `${name} as "${field}"`).join(", ");

/**
 * A record as the domain has it: what is not known is undefined, not null. Changed in place, so that all records of a kind are of one form: made
 * anew without what is not known, they cost more than reading them did.
 */
export function nullsToUndefined<Row extends object>(row: Row): Row {
  for (const field in row) if (row[field] === null) row[field] = undefined as Row[typeof field];
  return row;
}

/** As many as are read at once. In the text: of a number that it does not know PostgreSQL would plan for a tenth of all rows. */
const PAGE_SIZE = 1_000;

/** The `PAGE` records of a merchant, `$1`, that come after an id, `$2`, in the order of ids. */
export const selectPageAfter = <Row>(table: string, columns: readonly Column<Row>[]): Statement =>
  preparedGeneric(
    `${table}_after`,
    `select ${selectList(columns)} from ${table} where merchant_id = $1 and id > $2 order by id limit ${PAGE_SIZE}`,
  );

/** Runs what `selectPageAfter` made. `last`: undefined asks for the first ones; none come after the last ones. */
export async function readPageAfter<Row extends { id: string }>(
  tx: Tx,
  after: Statement,
  merchantId: string,
  last: Row | undefined,
) {
  return (await tx.run<Row>(after, [merchantId, last?.id ?? ""])).rows.map(nullsToUndefined);
}

/** What changed by an upsert. */
export interface UpsertChanges {
  id: string;
  inserted: boolean;
}
