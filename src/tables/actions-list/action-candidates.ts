import { wasExecutedSql } from "./action-facets.ts";
import type { Cursor, ListingSql } from "./action-listing.ts";
import { conditionsSql } from "./action-total.ts";

/** As many are sorted in 5 ms. */
const DIRECT_SORT_MAX_ROWS = 5_000;
/** With no more on a day, days are sorted that lie around the page. */
const SPARSE_DAY_MAX_ROWS = 600;
/** So many are sorted. */
const SORT_WINDOW_ROWS = 1_500;

/**
 * SQL that selects `id` and `at`, the value of the order, of the actions of one page: the work goes by the length of the page, not by how many
 * actions there are or how rare the wanted ones are. It reads indexes only; each way reads one that has the wanted order.
 *
 * @param total  SQL: how many are on all pages
 * @param limit  rows of the page; part of the text, because a plan for any number of rows sorts all there are
 */
export function candidatesSql(listing: ListingSql, cursor: Cursor | null, total: string, limit: number): string {
  const { owners, facets, executed, orderBy } = listing;
  const page = { listing, beyond: cursor === null ? "" : beyondCursorSql(listing, cursor), limit };
  if (owners.length > 0) return inIndexOrderSql(page);
  if (executed !== null && orderBy !== "executed_at") return byDaysSql(page, cursor, total);
  return facets === null ? inIndexOrderSql(page) : mergedFacetsSql(page);
}

interface PageQuery {
  listing: ListingSql;
  /** A condition: what comes after the page before. */
  beyond: string;
  limit: number;
}

const beyondCursorSql = ({ orderBy, descending, value }: ListingSql, { at, id }: Cursor) =>
  `and (${orderBy}, id) ${descending ? "<" : ">"} (${value(at)}::timestamptz, ${value(id)}::uuid)`;

/** Walk along the index of the order, or sort what one owner has. */
const inIndexOrderSql = ({ listing, beyond, limit }: PageQuery) =>
  `select id, ${listing.orderBy} as at from recovery_actions
   where ${conditionsSql(listing, beyond)} ${listing.sorted(listing.orderBy)} limit ${limit}`;

/** The groups of actions that a merchant has and that fit; each lies in the order of the list. */
const matchingFacetsSql = ({ facets, onlyExecuted }: ListingSql) =>
  `select facets, actions from action_counts
   where merchant_id = $1 and actions > 0 and facets like ${facets} ${onlyExecuted ? `and ${wasExecutedSql("facets")}` : ""}`;

/** Merge the groups that fit, each walked no further than the page goes. */
const mergedFacetsSql = (page: PageQuery) =>
  mergePartsSql(
    page,
    matchingFacetsSql(page.listing),
    "facets",
    "facets",
    `select facets from parts order by actions desc limit ${GUIDE_DAY_COUNT}`,
  );

/** Sort all of a range of time: by its index, or by those of the groups that fit. */
function sortedRangeSql({ listing, beyond, limit }: PageQuery): string {
  const { facets, executed, orderBy } = listing;
  // "offset 0" keeps the planner from walking along the index of the order instead, which may come by nothing for long.
  const range = (and: string) =>
    `select id, ${orderBy} from recovery_actions
     where merchant_id = $1 ${and} and ${executed!.since} and ${executed!.until} and executed_at is not null ${beyond} offset 0`;
  const found =
    facets === null
      ? range("")
      : `select r.* from (${matchingFacetsSql(listing)}) f cross join lateral (${range("and facets = f.facets")}) r`;
  return `select id, ${orderBy} as at from (${found}) r ${listing.sorted(orderBy)} limit ${limit}`;
}

/**
 * Merge the days of execution: within one, all of the day has to be walked at most to come by what is wanted. Where a day has no page full of it, every
 * day would be walked to its end: then all is sorted, which is not much.
 */
function byDaysSql(page: PageQuery, cursor: Cursor | null, total: string): string {
  const { executed, facets, orderBy, descending, value } = page.listing;
  const from = `${value(executed!.from?.toISOString() ?? "-infinity")}::timestamptz`;
  const to = `${value(executed!.to?.toISOString() ?? "infinity")}::timestamptz`;
  const known = (which: "min" | "max") =>
    `(select ${dayOfSql(`${which}(starts_at)`)} from executed_counts where merchant_id = $1 and span = 'day')`;
  // Where nothing was executed, an open end must leave the series without one, not without end.
  const days = `select d::date as day from generate_series(
    greatest(nullif(${dayOfSql(from)}, '-infinity'), ${known("min")})::timestamp,
    least(nullif(${dayOfSql(to)}, 'infinity'), ${known("max")})::timestamp, '1 day') d`;
  // The first page of what was created last is where that is, not at the end of the range.
  const latest = "(select max(created_at) from recovery_actions where merchant_id = $1)";
  const at = cursor !== null ? value(cursor.at) : orderBy === "created_at" && descending ? latest : null;
  const reached = reachableDaysSql(page, cursor);
  const few = `(select greatest(${DIRECT_SORT_MAX_ROWS}, ${page.limit} * count(*)) from days)`;
  const sparse = facets === null ? few : `(select greatest(${few}, ${SPARSE_DAY_MAX_ROWS} * count(*)) from days)`;
  const many = mergePartsSql(
    page,
    "select day from days",
    "day",
    "executed_on",
    guideDaysSql(page, at, from, to),
    reached,
  );
  const parts = [
    `select * from (${sortedRangeSql(page)}) few where ${total} <= ${few}`,
    `select * from (${many}) many where ${total} > ${sparse}`,
  ];
  if (facets !== null)
    parts.push(
      `select * from (${aroundCursorSql(page, at, from, to, reached)}) sparse where ${total} > ${few} and ${total} <= ${sparse}`,
    );
  return `with days as materialized (${days}) ${parts.join(" union all ")}`;
}

/** Nothing is executed before it is planned, or changed for the last time before it is executed: so in half of the orders nothing of a page was executed beyond it. */
const isBoundedByExecution = ({ orderBy, descending }: ListingSql) =>
  orderBy === (descending ? "created_at" : "updated_at");

/**
 * A condition on `parts`, days of execution, with `where`: those that may have anything of the page. By the same rule the other orders have nothing of
 * it on days before the page.
 */
function reachableDaysSql({ listing }: PageQuery, cursor: Cursor | null): string {
  const { descending, value } = listing;
  if (isBoundedByExecution(listing))
    return `where parts.day ${descending ? ">=" : "<="} (select ${dayOfSql("at")} from guide)`;
  return cursor === null ? "" : `where parts.day ${descending ? "<=" : ">="} ${dayOfSql(value(cursor.at))}`;
}

const dayOfSql = (at: string) => `((${at})::timestamptz at time zone 'UTC')::date`;
const startOfDaySql = (at: string) => `date_trunc('day', ${at}::timestamptz, 'UTC')`;

/**
 * SQL that selects the days of a range that guide the others. Most of a page was executed on the day on which it is: what was created then, too.
 *
 * @param at  SQL: where the page begins; null: at the end of the range
 */
function guideDaysSql(page: PageQuery, at: string | null, from: string, to: string): string {
  const { facets, descending } = page.listing;
  const fits = facets === null ? "" : `and facets like ${facets}`;
  // Days with little in them are no example, nor are those that the range cuts: most of such a day may have to be walked for what is in the range.
  const nearest = (where: string, direction: string, count: number) =>
    `(select ${dayOfSql("starts_at")} as day from executed_counts
      where merchant_id = $1 and span = 'day' and starts_at >= ${from} and starts_at <= ${to} - interval '1 day' ${fits} ${where}
      group by starts_at having sum(actions) >= ${guideRowsPerDay(page)} order by starts_at ${direction} limit ${count})`;
  const [onward, back] = descending ? ["desc", "asc"] : ["asc", "desc"];
  if (at === null) return nearest("", onward, GUIDE_DAY_COUNT);
  const [ahead, behind] = descending
    ? [`starts_at <= ${at}`, `starts_at > ${at}`]
    : [`starts_at >= ${startOfDaySql(at)}`, `starts_at < ${startOfDaySql(at)}`];
  // Where the days ahead have nothing, as beyond an end of the range, one behind must do: without a guide all would be walked to their ends.
  return `${nearest(`and ${ahead}`, onward, GUIDE_DAY_COUNT)} union all ${nearest(`and ${behind}`, back, 1)}`;
}

/** So many parts guide the others. One alone may be short of a page: the first day of a range has just begun. */
const GUIDE_DAY_COUNT = 3;
/** Rows of each of them: two fill a page. */
const guideRowsPerDay = ({ limit }: PageQuery) => Math.ceil(limit / 2);

/**
 * Merge the parts of an index, each of which has the order of the list.
 *
 * @param parts  SQL that selects the values, as `name`, of what the index has before the order
 * @param column  what that is
 * @param guides  SQL that selects the parts which are likely to fill a page soonest: no other is walked beyond where they would end it
 * @param reached  a condition, with `where`, on `parts`: those that may have anything as far as `guide` goes; empty: any may
 */
function mergePartsSql(
  page: PageQuery,
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
     where ${conditionsSql(listing, beyond, column)} and ${column} = ${of} ${and} ${sorted(orderBy)} limit ${rows}`;
  const [end, comparison, never] = descending ? ["min", ">=", "-infinity"] : ["max", "<=", "infinity"];
  return `with parts as materialized (${parts}),
     guides as materialized (${guides}),
     ahead as materialized (select at from guides
       cross join lateral (${part(`guides.${name}`, "", guideRowsPerDay(page))}) g ${sorted("at")} limit ${limit}),
     guide as materialized (select coalesce((select ${end}(at) from ahead having count(*) >= ${limit}), '${never}') as at)
   select p.id, p.at from parts
   cross join lateral (${part(`parts.${name}`, `and ${orderBy} ${comparison} (select at from guide)`, limit)}) p
   ${reached} ${sorted("at")} limit ${limit}`;
}

/**
 * Sort what was executed around the place where the page begins, by the groups that fit, and look into days beyond that only for what comes before the
 * page would end so. Where few of a day's actions are wanted, a walk along the day in another order comes by many that are not.
 *
 * @param at  SQL: where the page begins; null: at the end of the range
 */
function aroundCursorSql(page: PageQuery, at: string | null, from: string, to: string, reached: string): string {
  const { listing, beyond, limit } = page;
  const { executed, orderBy, descending, sorted } = listing;
  const sides = isBoundedByExecution(listing) ? [EARLIER_SIDE, LATER_SIDE] : [descending ? EARLIER_SIDE : LATER_SIDE];
  // What was changed just when the page before ended may have been executed then.
  const then = `${at}::timestamptz + interval '${orderBy === "updated_at" && descending ? 1 : 0} microsecond'`;
  const start = at === null ? (descending ? to : from) : then;
  // Each group reaches about as far in time as the others.
  const groups = `select facets, ceil(${SORT_WINDOW_ROWS / sides.length} * actions / sum(actions) over () + 10)::int8 as rows from (${matchingFacetsSql(listing)}) f`;
  const walked = sides.map(
    ({ name, comparison, direction }) => `${name} as materialized (
       select g.facets, g.rows, r.* from groups g cross join lateral (
         select id, ${orderBy} as at, executed_at from recovery_actions
         where merchant_id = $1 and facets = g.facets and ${executed!.since} and ${executed!.until} and executed_at is not null
           and executed_at ${comparison} (select at from start) order by executed_at ${direction}, id ${direction} limit g.rows) r),`,
  );
  // As far as all groups were walked; those that have no more were walked to their ends, as is the side that has nothing of the page.
  const reach = (side: CursorSide) => {
    const last = `select ${side.furthest}(executed_at) as at from ${side.name} group by facets, rows having count(*) >= rows`;
    const found = sides.includes(side) ? `select ${side.nearest}(at) from (${last}) l` : "select null::timestamptz";
    return `(select coalesce((${found}), '${side.end}') as at)`;
  };
  const [end, comparison, never] = descending ? ["min", ">=", "-infinity"] : ["max", "<=", "infinity"];
  const low = "(select at from low)";
  const high = "(select at from high)";
  const further = `(day <= ${dayOfSql(low)} or day >= ${dayOfSql(high)})`;
  return `with start as materialized (select ${start} as at),
     groups as materialized (${groups}),
     ${walked.join("\n")}
     low as materialized ${reach(EARLIER_SIDE)},
     high as materialized ${reach(LATER_SIDE)},
     found as materialized (
       select id, at, executed_at from (${sides.map(({ name }) => `select * from ${name}`).join(" union all ")}) e
       where true ${beyond.replace(orderBy, "at")}),
     ahead as materialized (select at from found ${sorted("at")} limit ${limit}),
     guide as materialized (select coalesce((select ${end}(at) from ahead having count(*) >= ${limit}), '${never}') as at)
   select id, at from (
     select id, at from found where executed_at > ${low} and executed_at < ${high}
     union all
     select p.id, p.at from (select day from days as parts ${reached} ${reached === "" ? "where" : "and"} ${further}) parts
     cross join lateral (
       select id, ${orderBy} as at from recovery_actions
       where ${conditionsSql(listing, beyond, "executed_on")} and executed_on = parts.day
         and (executed_at <= ${low} or executed_at >= ${high}) is true
         and ${orderBy} ${comparison} (select at from guide) ${sorted(orderBy)} limit ${limit}) p
   ) p ${sorted("at")} limit ${limit}`;
}

/** What was executed on one side of a moment. */
interface CursorSide {
  name: "earlier" | "later";
  comparison: "<" | ">=";
  /** Away from it. */
  direction: "asc" | "desc";
  furthest: "min" | "max";
  nearest: "min" | "max";
  end: "-infinity" | "infinity";
}

const EARLIER_SIDE: CursorSide = {
  name: "earlier",
  comparison: "<",
  direction: "desc",
  furthest: "min",
  nearest: "max",
  end: "-infinity",
};
const LATER_SIDE: CursorSide = {
  name: "later",
  comparison: ">=",
  direction: "asc",
  furthest: "max",
  nearest: "min",
  end: "infinity",
};
