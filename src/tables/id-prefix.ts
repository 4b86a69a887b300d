import { prepared, type Tx } from "../postgres/database.ts";

/** `to` is exclusive. */
export interface IdRange {
  from: string;
  to: string;
}

/** U+FFFF would leave out characters beyond the first plane, such as emoji. */
const LAST_CHARACTER = "\u{10ffff}";

/** All ids that begin with `prefix`. */
export const idsWithPrefix = (prefix: string): IdRange => ({ from: prefix, to: prefix + LAST_CHARACTER });

/** @param from  SQL of a parameter, as `to` */
export const inIdRangeSql = (column: string, from: string, to: string) =>
  `${column} >= ${from}::text and ${column} < ${to}::text`;

/** Up to this many rows are found by their ids first. Of more, most of a list matches, and walking it is quicker. */
const FOUND_MAX = 5_000;

/** What a search found: the rows' ids, or the range if there are too many of them. */
export type Found = { ids: readonly string[] } | { range: IdRange };

const OWNER_COLUMNS = ["invoice_id", "customer_id", "subscription_id"] as const;

/**
 * SQL for a row whose invoice, customer or subscription is in the range.
 *
 * @param table  its alias with a dot, if there are several tables
 */
export const ownedByRangeSql = (from: string, to: string, table = "") =>
  `(${OWNER_COLUMNS.map((column) => `(${inIdRangeSql(table + column, from, to)})`).join(" or ")})`;

// Unnamed: the range decides which index is best.
const CASES = prepared(
  "",
  `select id from (
     ${OWNER_COLUMNS.map(
       (column) =>
         `(select id from cases where merchant_id = $1 and ${inIdRangeSql(column, "$2", "$3")}${column === "subscription_id" ? " and subscription_id is not null" : ""} limit ${FOUND_MAX + 1})`,
     ).join("\n     union ")}
   ) found limit ${FOUND_MAX + 1}`,
);

/** Finds cases by the start of an invoice's, customer's or subscription's id. */
export async function findCasesByPrefix(tx: Tx, merchantId: string, prefix: string): Promise<Found> {
  const range = idsWithPrefix(prefix);
  const { rows } = await tx.run<{ id: string }>(CASES, [merchantId, range.from, range.to]);
  return rows.length > FOUND_MAX ? { range } : { ids: rows.map(({ id }) => id) };
}

const EVENTS = prepared(
  "",
  `select id from (
     (select id from events where merchant_id = $1 and id >= $4 and id <= $5 limit ${FOUND_MAX + 1})
     union
     (select e.id
      from (select id from cases where merchant_id = $1 and ${inIdRangeSql("invoice_id", "$2", "$3")} limit ${FOUND_MAX + 1}) c
      join events e on e.merchant_id = $1 and e.case_id = c.id limit ${FOUND_MAX + 1})
   ) found limit ${FOUND_MAX + 1}`,
);

/** Finds events by the start of their id or their invoice's. */
export async function findEventsByPrefix(tx: Tx, merchantId: string, prefix: string): Promise<Found> {
  const range = idsWithPrefix(prefix);
  const [first, last] = uuidsWithPrefix(prefix);
  const { rows } = await tx.run<{ id: string }>(EVENTS, [merchantId, range.from, range.to, first, last]);
  return rows.length > FOUND_MAX ? { range } : { ids: rows.map(({ id }) => id) };
}

const UUID_SHAPE = "00000000-0000-0000-0000-000000000000";
const NONE: readonly [string, string] = ["ffffffff-ffff-ffff-ffff-ffffffffffff", UUID_SHAPE];

/** The first and the last id with this prefix; an empty range if no id can have it. */
export function uuidsWithPrefix(prefix: string): readonly [first: string, last: string] {
  const text = prefix.toLowerCase();
  const rest = UUID_SHAPE.slice(text.length);
  if (text.length > UUID_SHAPE.length || !/^[0-9a-f-]+$/.test(text)) return NONE;
  if (text.replaceAll(/[0-9a-f]/g, "0") !== UUID_SHAPE.slice(0, text.length)) return NONE;
  return [text + rest, text + rest.replaceAll("0", "f")];
}
