import { hasExecuted } from "./action-facets.ts";
import type { Cursor, ListingText } from "./action-listing.ts";
import { conditions } from "./action-total.ts";

/** As many are sorted in 5 ms. */
const FEW = 5_000;

/**
 * SQL that selects `id` and `at`, the value of the order, of the actions of one page: the work goes by the length of the page, not by how many
 * actions there are or how rare the wanted ones are. It reads indexes only; each way reads one that has the wanted order.
 *
 * @param total  SQL: how many are on all pages
 * @param limit  rows of the page; part of the text, because a plan for any number of rows sorts all there are
 */
export function candidates(listing: ListingText, cursor: Cursor | null, total: string, limit: number): string {
  const { owners, facets, executed, orderBy } = listing;
  const page = { listing, beyond: cursor === null ? "" : beyondText(listing, cursor), limit };
  if (owners.length > 0) return inOrder(page);
  if (executed !== null && orderBy !== "executed_at") return byDays(page, cursor, total);
  return facets === null ? inOrder(page) : byFacets(page);
}

interface Page {
  listing: ListingText;
  /** A condition: what comes after the page before. */
  beyond: string;
  limit: number;
}

const beyondText = ({ orderBy, descending, value }: ListingText, { at, id }: Cursor) =>
  `and (${orderBy}, id) ${descending ? "<" : ">"} (${value(at)}::timestamptz, ${value(id)}::uuid)`;

/** Walk along the index of the order, or sort what one owner has. */
const inOrder = ({ listing, beyond, limit }: Page) =>
  `select id, ${listing.orderBy} as at from recovery_actions
   where ${conditions(listing, beyond)} ${listing.sorted(listing.orderBy)} limit ${limit}`;

/** The groups of actions that a merchant has and that fit; each lies in the order of the list. */
const facetsOf = ({ facets, onlyExecuted }: ListingText) =>
  `select facets, actions from action_counts
   where merchant_id = $1 and actions > 0 and facets like ${facets} ${onlyExecuted ? `and ${hasExecuted("facets")}` : ""}`;

/** Merge the groups that fit, each walked no further than the page goes. */
const byFacets = (page: Page) =>
  merge(
    page,
    facetsOf(page.listing),
    "facets",
    "facets",
    `select facets from parts order by actions desc limit ${GUIDES}`,
  );

/** Sort all of a range of time: by its index, or by those of the groups that fit. */
function sorting({ listing, beyond, limit }: Page): string {
  const { facets, executed, orderBy } = listing;
  // "offset 0" keeps the planner from walking along the index of the order instead, which may come by nothing for long.
  const range = (and: string) =>
    `select id, ${orderBy} from recovery_actions
     where merchant_id = $1 ${and} and ${executed!.since} and ${executed!.until} and executed_at is not null ${beyond} offset 0`;
  const found =
    facets === null
      ? range("")
      : `select r.* from (${facetsOf(listing)}) f cross join lateral (${range("and facets = f.facets")}) r`;
  return `select id, ${orderBy} as at from (${found}) r ${listing.sorted(orderBy)} limit ${limit}`;
}

/**
 * Merge the days of execution: within one, all of the day has to be walked at most to come by what is wanted. Where a day has no page full of it, every
 * day would be walked to its end: then all is sorted, which is not much.
 */
function byDays(page: Page, cursor: Cursor | null, total: string): string {
  const { executed, orderBy, descending, value } = page.listing;
  const from = `${value(executed!.from?.toISOString() ?? "-infinity")}::timestamptz`;
  const to = `${value(executed!.to?.toISOString() ?? "infinity")}::timestamptz`;
  const known = (which: "min" | "max") =>
    `(select ${day(`${which}(starts_at)`)} from executed_counts where merchant_id = $1 and span = 'day')`;
  // Where nothing was executed, an open end must leave the series without one, not without end.
  const days = `select d::date as day from generate_series(
    greatest(nullif(${day(from)}, '-infinity'), ${known("min")})::timestamp,
    least(nullif(${day(to)}, 'infinity'), ${known("max")})::timestamp, '1 day') d`;
  // The first page of what was created last is where that is, not at the end of the range.
  const latest = "(select max(created_at) from recovery_actions where merchant_id = $1)";
  const at = cursor !== null ? value(cursor.at) : orderBy === "created_at" && descending ? latest : null;
  const guides = guideDays(page, at, from, to);
  // Nothing is executed before it is planned, or changed for the last time before it is executed: so days beyond the guide have nothing for the page.
  const [isBounded, comparison] = descending ? [orderBy === "created_at", ">="] : [orderBy === "updated_at", "<="];
  const reached = isBounded ? `where parts.day ${comparison} (select ${day("at")} from guide)` : "";
  const few = `(select greatest(${FEW}, ${page.limit} * count(*)) from days)`;
  return `with days as materialized (${days})
    select * from (${sorting(page)}) few where ${total} <= ${few}
    union all
    select * from (${merge(page, "select day from days", "day", "executed_on", guides, reached)}) many where ${total} > ${few}`;
}

const day = (at: string) => `((${at})::timestamptz at time zone 'UTC')::date`;
const startOfDay = (at: string) => `date_trunc('day', ${at}::timestamptz, 'UTC')`;

/**
 * SQL that selects the days of a range that guide the others. Most of a page was executed on the day on which it is: what was created then, too.
 *
 * @param at  SQL: where the page begins; null: at the end of the range
 */
function guideDays(page: Page, at: string | null, from: string, to: string): string {
  const { facets, descending } = page.listing;
  const fits = facets === null ? "" : `and facets like ${facets}`;
  // Days with little in them are no example, nor are those that the range cuts: most of such a day may have to be walked for what is in the range.
  const nearest = (where: string, direction: string, count: number) =>
    `(select ${day("starts_at")} as day from executed_counts
      where merchant_id = $1 and span = 'day' and starts_at >= ${from} and starts_at <= ${to} - interval '1 day' ${fits} ${where}
      group by starts_at having sum(actions) >= ${guideRows(page)} order by starts_at ${direction} limit ${count})`;
  const [onward, back] = descending ? ["desc", "asc"] : ["asc", "desc"];
  if (at === null) return nearest("", onward, GUIDES);
  const [ahead, behind] = descending
    ? [`starts_at <= ${at}`, `starts_at > ${at}`]
    : [`starts_at >= ${startOfDay(at)}`, `starts_at < ${startOfDay(at)}`];
  // Where the days ahead have nothing, as beyond an end of the range, one behind must do: without a guide all would be walked to their ends.
  return `${nearest(`and ${ahead}`, onward, GUIDES)} union all ${nearest(`and ${behind}`, back, 1)}`;
}

/** So many parts guide the others. One alone may be short of a page: the first day of a range has just begun. */
const GUIDES = 3;
/** Rows of each of them: two fill a page. */
const guideRows = ({ limit }: Page) => Math.ceil(limit / 2);

/**
 * Merge the parts of an index, each of which has the order of the list.
 *
 * @param parts  SQL that selects the values, as `name`, of what the index has before the order
 * @param column  what that is
 * @param guides  SQL that selects the parts which are likely to fill a page soonest: no other is walked beyond where they would end it
 * @param reached  a condition, with `where`, on `parts`: those that may have anything as far as `guide` goes; empty: any may
 */
function merge(
  page: Page,
  parts: string,
  name: string,
  column: "facets" | "executed_on",
  guides: string,
  reached = "",
): string {
  const { listing, beyond, limit } = page;
  const { orderBy, descending, sorted } = listing;
  const part = (of: string, and: string, rows: number) =>
    `select id, ${orderBy} as at from recovery_actions
     where ${conditions(listing, beyond, column)} and ${column} = ${of} ${and} ${sorted(orderBy)} limit ${rows}`;
  const [end, comparison, never] = descending ? ["min", ">=", "-infinity"] : ["max", "<=", "infinity"];
  return `with parts as materialized (${parts}),
     guides as materialized (${guides}),
     ahead as materialized (select at from guides
       cross join lateral (${part(`guides.${name}`, "", guideRows(page))}) g ${sorted("at")} limit ${limit}),
     guide as materialized (select coalesce((select ${end}(at) from ahead having count(*) >= ${limit}), '${never}') as at)
   select p.id, p.at from parts
   cross join lateral (${part(`parts.${name}`, `and ${orderBy} ${comparison} (select at from guide)`, limit)}) p
   ${reached} ${sorted("at")} limit ${limit}`;
}
