import { encodeBinaryArray } from "./binary-array.ts";
import { prepared, preparedGeneric, type Statement, type Tx } from "./database.ts";

export type Column<Row> = readonly [name: string, type: string, field: keyof Row & string];

/** `$2::text[], $3::int8[], …` */
export const arrayParameters = <Row>(columns: readonly Column<Row>[], first: number) =>
  columns.map(([, type], index) => `$${first + index}::${type}[]`).join(", ");

/**
 * `unnest($2::text[]) as id, unnest($3::int8[]) as amount, …` reads the arrays side by side. `from unnest($2, …)` would first
 * copy each array.
 */
export const unnestColumns = <Row>(columns: readonly Column<Row>[], first: number) =>
  columns.map(([name, type], index) => `unnest($${first + index}::${type}[]) as ${name}`).join(", ");

/** Values for `arrayParameters`. */
export const columnValues = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Buffer[] =>
  columns.map(([, type, field]) => encodeBinaryArray(rows, field, type));

/** `id, amount, …` */
export const columnNames = <Row>(columns: readonly Column<Row>[]) => columns.map(([name]) => name).join(", ");

/** `id, created_at as "createdAt", …` */
export const selectList = <Row>(columns: readonly Column<Row>[]) =>
  columns.map(([name, , field]) => `${name} as "${field}"`).join(", ");

export interface VersionRules<Row> {
  table: string;
  columns: readonly Column<Row>[];
  /** Of two versions with the same date, the later state in this order wins. */
  stateOrder: readonly string[];
}

/** For `array_position`. */
export const stateArray = (states: readonly string[]) => `array[${states.map((state) => `'${state}'`).join(", ")}]`;

export interface UpsertChanges {
  id: string;
  inserted: boolean;
}

/** Leads the rows that a statement stores for merchant $1, so that Citus sends the statement to the merchant's server as it is. */
export const OWNER = "(select id as merchant_id from merchants where id = $1) owner";

/**
 * Ends an insert of selected rows that needs no other end. Without it, Citus copies the rows to the merchant's server by COPY, which
 * row-level security does not allow.
 */
export const STORED = "returning true as stored";

export interface VersionedTable<Row> {
  /**
   * Stores each record's winning version (decision 52) and returns the records that changed.
   *
   * @param records  sorted by id, without duplicate ids
   * @param now  service time
   */
  upsert(tx: Tx, merchantId: string, records: readonly Row[], now: Date): Promise<UpsertChanges[]>;
  /** Returns the ids of versions older than the stored ones. */
  older(tx: Tx, merchantId: string, records: readonly Row[]): Promise<string[]>;
}

/**
 * Keeps each record's winning version:
 * - A dated version wins over an older date, and over an earlier state with the same date.
 * - A version without a date wins, because it arrived later. `version_at` keeps the sender's last date (migration 0031).
 * - A version that equals the stored one changes nothing.
 */
export function versionedTable<Row extends { id: string }>(rules: VersionRules<Row>): VersionedTable<Row> {
  const { table, columns, stateOrder } = rules;
  const states = stateArray(stateOrder);
  const names = columns.map(([name]) => name);
  const compared = names.filter((name) => name !== "id" && name !== "updated_at");
  const upsert = prepared(
    `upsert_${table}`,
    `insert into ${table} as stored (merchant_id, ${names.join(", ")}, version_at)
     select merchant_id, ${names.map((name) => (name === "updated_at" ? "coalesce(updated_at, created_at)" : name)).join(", ")},
       case when updated_at is null then '-infinity'::timestamptz end
     from ${OWNER}, (select ${unnestColumns(columns, 2)}) pushed
     on conflict (merchant_id, id) do update set
       ${compared.map((name) => `${name} = excluded.${name}`).join(", ")},
       updated_at = case
         when excluded.version_at is null then excluded.updated_at
         else greatest($${columns.length + 2}::timestamptz, stored.updated_at) end,
       version_at = case when excluded.version_at is not null then coalesce(stored.version_at, stored.updated_at) end
     where case
       when excluded.version_at is null and excluded.updated_at > coalesce(stored.version_at, stored.updated_at) then true
       when excluded.version_at is null and (
         excluded.updated_at < coalesce(stored.version_at, stored.updated_at)
         or array_position(${states}, excluded.state) < array_position(${states}, stored.state)) then false
       else (${compared.map((name) => `stored.${name}`).join(", ")})
         is distinct from (${compared.map((name) => `excluded.${name}`).join(", ")}) end
     returning id, (xmax = 0) as inserted`,
  );
  return {
    upsert: async (tx, merchantId, records, now) =>
      (await tx.run<UpsertChanges>(upsert, [merchantId, ...columnValues(records, columns), now])).rows,
    older: createOlderVersionsFinder(rules),
  };
}

export function createOlderVersionsFinder<Row extends { id: string }>({
  table,
  columns,
  stateOrder,
}: VersionRules<Row>): VersionedTable<Row>["older"] {
  const states = stateArray(stateOrder);
  const older = prepared(
    `older_${table}`,
    `select pushed.id
     from unnest($2::text[], $3::timestamptz[], $4::text[]) as pushed (id, updated_at, state)
     cross join lateral (select * from ${table} where merchant_id = $1 and id = pushed.id offset 0) stored
     where pushed.updated_at < coalesce(stored.version_at, stored.updated_at)
       or (pushed.updated_at = coalesce(stored.version_at, stored.updated_at)
         and array_position(${states}, pushed.state) < array_position(${states}, stored.state))`,
  );
  const compared = ["id", "updatedAt", "state"].map((name) => columns.find(([, , field]) => field === name)!);
  return async (tx, merchantId, records) => {
    const { rows } = await tx.run<{ id: string }>(older, [merchantId, ...columnValues(records, compared)]);
    return rows.map(({ id }) => id);
  };
}

/**
 * Unknown values are undefined in the domain. Changes the row in place, so that all rows keep the same shape: new objects without
 * the null fields would cost more than reading the rows.
 */
export function nullsToUndefined<Row extends object>(row: Row): Row {
  for (const field in row) if (row[field] === null) row[field] = undefined as Row[typeof field];
  return row;
}

/** Inlined in the statement: PostgreSQL plans a parameterized LIMIT as 10% of the rows. */
const PAGE_SIZE = 1_000;

/** For `readPageAfter`: `$1` is the merchant, `$2` the id after which the page starts. */
export const selectPageAfter = <Row>(table: string, columns: readonly Column<Row>[]): Statement =>
  preparedGeneric(
    `${table}_after`,
    `select ${selectList(columns)} from ${table} where merchant_id = $1 and id > $2 order by id limit ${PAGE_SIZE}`,
  );

/** Ordered by id. `last` undefined: the first page. */
export async function readPageAfter<Row extends { id: string }>(
  tx: Tx,
  after: Statement,
  merchantId: string,
  last: Row | undefined,
) {
  return (await tx.run<Row>(after, [merchantId, last?.id ?? ""])).rows.map(nullsToUndefined);
}
