import { type Html, html } from "../html.ts";
import { PageError } from "../page-error.ts";
import { listHref } from "./list-page.ts";
import { formatCount } from "./number-format.ts";

export const LIST_ROWS = 25;

/** A row at a page's edge. Its address is `key~id~number`. */
export interface ListCursor {
  /** The order's value; empty if the id is the order. */
  key: string;
  id: string;
  /** Its number in the list, from 1; null if unknown. Rows that are added later do not change it. */
  number: number | null;
}

export interface ListPosition {
  cursor: ListCursor | null;
  /** The page ends before the cursor, instead of starting after it. */
  isBack: boolean;
}

/** @param isCursor  checks key and id, which statements cast to the column's type */
export function readPosition(query: URLSearchParams, isCursor: (key: string, id: string) => boolean): ListPosition {
  const [after, back] = [query.get("after") || null, query.get("back") || null];
  if (after !== null && back !== null)
    throw new PageError(400, 'The address contains both "after" and "back".', "back");
  const text = after ?? back;
  if (text === null) return { cursor: null, isBack: false };
  const [key, id, number, ...more] = text.split("~");
  if (!isCursor(key!, id ?? "") || !/^(-?\d{1,15})?$/.test(number ?? "-") || more.length > 0)
    throw new PageError(400, `"${after === null ? "back" : "after"}" is not the end of a page.`);
  return { cursor: { key: key!, id: id!, number: number === "" ? null : Number(number) }, isBack: back !== null };
}

export interface ListRows<Row> {
  rows: readonly Row[];
  /** The first row's number in the list; null if unknown. */
  first: number | null;
  hasPrevious: boolean;
  hasNext: boolean;
}

/**
 * Reads one page. Rows that arrive meanwhile move no other row, so following either link shows each row once.
 *
 * @param read  returns rows beyond the cursor, nearest first; `isBack` reverses the list's order
 */
export async function readListRows<Row>(
  { cursor, isBack }: ListPosition,
  read: (cursor: ListCursor | null, isBack: boolean, limit: number) => Promise<readonly Row[]>,
): Promise<ListRows<Row>> {
  const found = await read(cursor, isBack, LIST_ROWS + 1);
  // All rows before the cursor are gone.
  if (isBack && found.length === 0) return readListRows({ cursor: null, isBack: false }, read);
  const hasMore = found.length > LIST_ROWS;
  const rows = found.slice(0, LIST_ROWS);
  const number = cursor === null ? 0 : cursor.number;
  if (!isBack)
    return { rows, first: number === null ? null : number + 1, hasPrevious: cursor !== null, hasNext: hasMore };
  const first = !hasMore ? 1 : number === null ? null : number - rows.length;
  return { rows: rows.toReversed(), first, hasPrevious: hasMore, hasNext: true };
}

/**
 * @param total  such as "312"; null if it is unknown
 * @param cursorOf  a row's key and id
 */
export function pager<Row>(
  { rows, first, hasPrevious, hasNext }: ListRows<Row>,
  total: string | null,
  cursorOf: (row: Row) => readonly [key: string, id: string],
  { path, query }: { path: string; query: URLSearchParams },
): Html | null {
  if (rows.length === 0 && !hasPrevious) return null;
  const edge = (row: Row, number: number | null) => [...cursorOf(row), number ?? ""].join("~");
  const last = first === null ? null : first + rows.length - 1;
  const previous = rows.length > 0 && hasPrevious ? listHref(path, query, { back: edge(rows[0]!, first) }) : null;
  const next = hasNext ? listHref(path, query, { after: edge(rows.at(-1)!, last) }) : null;
  const range =
    rows.length === 0 || first === null || first < 1
      ? ""
      : `${formatCount(first)} to ${formatCount(last!)}${total === null ? "" : ` of ${total}`}`;
  return html`<nav class="pager" aria-label="Pages of the list"><span class="tab">${range}</span>
<span class="tools">${rows.length === 0 ? html`<a class="button" href="${listHref(path, query, {})}">First page</a>` : pageLink("Previous", "prev", previous)}${pageLink("Next", "next", next)}</span></nav>`;
}

const pageLink = (words: string, rel: string, href: string | null): Html =>
  href === null
    ? html`<span class="button off">${words}</span>`
    : html`<a class="button" rel="${rel}" href="${href}">${words}</a>`;

/** Larger counts are not exact, and their amounts are not added: a page must not take longer as the table grows. */
export const COUNTED_MAX = 20_000;

/** "312", or "20,000+" for a count that was not finished. */
export const formatCountUpTo = (count: number): string =>
  count > COUNTED_MAX ? `${formatCount(COUNTED_MAX)}+` : formatCount(count);
