import { conditionsSql } from "./action-conditions.ts";
import { wasExecutedSql } from "./action-facets.ts";
import type { Cursor, ListingSql, TimeBounds } from "./action-listing.ts";

const DIRECT_SORT_MAX_ROWS = 5_000;
/** Up to this many actions a day, only days around the page are sorted. */
const SPARSE_DAY_MAX_ROWS = 600;
const SORT_WINDOW_ROWS = 1_500;
/** A range's first day may be shorter than a page. */
const GUIDE_COUNT = 3;

/**
 * Selects one page's `id` and `at` (the order's value). Reads only indexes, each in list order, so the cost depends on the page
 * size, not on the number or rarity of actions.
 *
 * @param total  SQL for the number of actions on all pages
 * @param limit  inlined, because a plan for any number of rows sorts all of them
 */
export function candidatesSql(listing: ListingSql, cursor: Cursor | null, total: string, limit: number): string {
  const { owners, facets, executed, orderBy } = listing;
  const page = { listing, afterCursor: cursor === null ? "" : afterCursorSql(listing, cursor), limit };
  if (owners.length > 0) return inIndexOrderSql(page);
  if (executed !== null && orderBy !== "executed_at") return byDaysSql(page, executed, cursor, total);
  return facets === null ? inIndexOrderSql(page) : mergedFacetsSql(page);
}

interface PageQuery {
  listing: ListingSql;
  /** Empty on the first page. */
  afterCursor: string;
  limit: number;
}

const afterCursorSql = ({ orderBy, descending, parameter }: ListingSql, { at, id }: Cursor) =>
  `and (${orderBy}, id) ${descending ? "<" : ">"} (${parameter(at)}::timestamptz, ${parameter(id)}::uuid)`;

const inIndexOrderSql = ({ listing, afterCursor, limit }: PageQuery) =>
  `select id, ${listing.orderBy} as at from ${listing.table}
   where ${conditionsSql(listing, afterCursor)} ${listing.orderClause(listing.orderBy)} limit ${limit}`;

const matchingFacetsSql = ({ facets, onlyExecuted }: ListingSql) =>
  `select facets, actions from action_counts
   where merchant_id = $1 and actions > 0 and facets like ${facets} ${onlyExecuted ? `and ${wasExecutedSql("facets")}` : ""}`;

/** `guide`: where the guiding parts alone would fill the page. No part is walked beyond. */
const endOfPage = ({ descending }: ListingSql) =>
  descending
    ? ({ last: "min", within: ">=", unlimited: "-infinity" } as const)
    : ({ last: "max", within: "<=", unlimited: "infinity" } as const);

function mergedFacetsSql({ listing, afterCursor, limit }: PageQuery): string {
  const { orderBy, orderClause } = listing;
  const { last, within, unlimited } = endOfPage(listing);
  const conditions = conditionsSql(listing, afterCursor, "facets");
  return `with parts as materialized (${matchingFacetsSql(listing)}),
     guides as materialized (select facets from parts order by actions desc limit ${GUIDE_COUNT}),
     ahead as materialized (
       select at from guides
       cross join lateral (
         select id, ${orderBy} as at from listed_actions
         where ${conditions} and facets = guides.facets
         ${orderClause(orderBy)} limit ${Math.ceil(limit / 2)}
       ) g
       ${orderClause("at")} limit ${limit}
     ),
     guide as materialized (
       select coalesce((select ${last}(at) from ahead having count(*) >= ${limit}), '${unlimited}') as at
     )
   select p.id, p.at from parts
   cross join lateral (
     select id, ${orderBy} as at from listed_actions
     where ${conditions} and facets = parts.facets and ${orderBy} ${within} (select at from guide)
     ${orderClause(orderBy)} limit ${limit}
   ) p
   ${orderClause("at")} limit ${limit}`;
}

/**
 * Lists a range of execution time in another order, by the number of actions:
 * - few: sorts all.
 * - sparse (with facets): sorts a window around the page, because a day's walk would pass many other actions.
 * - many: merges the days, each in list order.
 */
function byDaysSql(page: PageQuery, executed: TimeBounds, cursor: Cursor | null, total: string): string {
  const { facets, orderBy, descending, parameter } = page.listing;
  const from = `${parameter(executed.from?.toISOString() ?? "-infinity")}::timestamptz`;
  const to = `${parameter(executed.to?.toISOString() ?? "infinity")}::timestamptz`;
  // The page is near the latest action, not the range's end.
  const latest = "(select max(created_at) from recovery_actions where merchant_id = $1)";
  const start = cursor !== null ? parameter(cursor.at) : orderBy === "created_at" && descending ? latest : null;
  const reachable = reachableDaysSql(page, cursor);
  const few = `(select greatest(${DIRECT_SORT_MAX_ROWS}, ${page.limit} * count(*)) from days)`;
  const sparse = facets === null ? few : `(select greatest(${few}, ${SPARSE_DAY_MAX_ROWS} * count(*)) from days)`;
  const ways = [
    `select * from (${sortedRangeSql(page, executed)}) few where ${total} <= ${few}`,
    `select * from (${mergedDaysSql(page, guideDaysSql(page, start, from, to), reachable)}) many where ${total} > ${sparse}`,
  ];
  if (facets !== null)
    ways.push(
      `select * from (${aroundCursorSql(page, executed, start, from, to, reachable)}) sparse where ${total} > ${few} and ${total} <= ${sparse}`,
    );
  // Empty rather than infinite without executions.
  return `with days as materialized (
     select d::date as day from generate_series(
       greatest(nullif(${dayOf(from)}, '-infinity'), (
         select ${dayOf("min(starts_at)")} from executed_counts where merchant_id = $1 and span = 'day'))::timestamp,
       least(nullif(${dayOf(to)}, 'infinity'), (
         select ${dayOf("max(starts_at)")} from executed_counts where merchant_id = $1 and span = 'day'))::timestamp,
       '1 day') d
   )
   ${ways.join(" union all ")}`;
}

function sortedRangeSql({ listing, afterCursor, limit }: PageQuery, { since, until }: TimeBounds): string {
  const { facets, orderBy, orderClause } = listing;
  // Keeps the planner from walking the order's index, which may find nothing for long.
  const found =
    facets === null
      ? `select id, ${orderBy} from listed_actions
         where merchant_id = $1 and ${since} and ${until} and executed_at is not null ${afterCursor} offset 0`
      : `select r.* from (${matchingFacetsSql(listing)}) f
         cross join lateral (
           select id, ${orderBy} from listed_actions
           where merchant_id = $1 and facets = f.facets and ${since} and ${until} and executed_at is not null ${afterCursor} offset 0
         ) r`;
  return `select id, ${orderBy} as at from (${found}) r ${orderClause(orderBy)} limit ${limit}`;
}

/**
 * @param guideDays  SQL for the days that are likely to fill the page
 * @param reachable  a condition on `parts`, with `where`, or empty
 */
function mergedDaysSql({ listing, afterCursor, limit }: PageQuery, guideDays: string, reachable: string): string {
  const { orderBy, orderClause } = listing;
  const { last, within, unlimited } = endOfPage(listing);
  const conditions = conditionsSql(listing, afterCursor, "executed_on");
  return `with parts as materialized (select day from days),
     guides as materialized (${guideDays}),
     ahead as materialized (
       select at from guides
       cross join lateral (
         select id, ${orderBy} as at from listed_actions
         where ${conditions} and executed_on = guides.day
         ${orderClause(orderBy)} limit ${Math.ceil(limit / 2)}
       ) g
       ${orderClause("at")} limit ${limit}
     ),
     guide as materialized (
       select coalesce((select ${last}(at) from ahead having count(*) >= ${limit}), '${unlimited}') as at
     )
   select p.id, p.at from parts
   cross join lateral (
     select id, ${orderBy} as at from listed_actions
     where ${conditions} and executed_on = parts.day and ${orderBy} ${within} (select at from guide)
     ${orderClause(orderBy)} limit ${limit}
   ) p
   ${reachable} ${orderClause("at")} limit ${limit}`;
}

const isBoundedByExecution = ({ orderBy, descending }: ListingSql) =>
  orderBy === (descending ? "created_at" : "updated_at");

function reachableDaysSql({ listing }: PageQuery, cursor: Cursor | null): string {
  const { descending, parameter } = listing;
  if (isBoundedByExecution(listing))
    return `where parts.day ${descending ? ">=" : "<="} (select ${dayOf("at")} from guide)`;
  return cursor === null ? "" : `where parts.day ${descending ? "<=" : ">="} ${dayOf(parameter(cursor.at))}`;
}

const dayOf = (time: string) => `((${time})::timestamptz at time zone 'UTC')::date`;

/**
 * SQL for the days that guide the others: nearest to the page's start. Excludes days with few actions or cut by the range. If
 * none is ahead, uses one behind: otherwise all days would be walked to their ends.
 *
 * @param start  when the page starts; null: the end of the range
 */
function guideDaysSql(page: PageQuery, start: string | null, from: string, to: string): string {
  const { facets, descending } = page.listing;
  const [onward, backward] = descending ? ["desc", "asc"] : ["asc", "desc"];
  const nearest = (where: string, direction: string, count: number) =>
    `(select ${dayOf("starts_at")} as day from executed_counts
      where merchant_id = $1 and span = 'day' and starts_at >= ${from} and starts_at <= ${to} - interval '1 day'
        ${facets === null ? "" : `and facets like ${facets}`} ${where}
      group by starts_at having sum(actions) >= ${Math.ceil(page.limit / 2)}
      order by starts_at ${direction} limit ${count})`;
  if (start === null) return nearest("", onward, GUIDE_COUNT);
  const startOfDay = `date_trunc('day', ${start}::timestamptz, 'UTC')`;
  const [ahead, behind] = descending
    ? [`starts_at <= ${start}`, `starts_at > ${start}`]
    : [`starts_at >= ${startOfDay}`, `starts_at < ${startOfDay}`];
  return `${nearest(`and ${ahead}`, onward, GUIDE_COUNT)} union all ${nearest(`and ${behind}`, backward, 1)}`;
}

/**
 * Sorts actions executed around the page's start. Days beyond are walked only for actions before the page's end.
 *
 * - `earlier` and `later` walk away from the start, for about the same time; only one if the other has nothing on the page.
 * - `low` and `high`: all groups were walked up to here. A group that ended counts as fully walked.
 *
 * @param start  when the page starts; null: the end of the range
 */
function aroundCursorSql(
  { listing, afterCursor, limit }: PageQuery,
  { since, until }: TimeBounds,
  start: string | null,
  from: string,
  to: string,
  reachable: string,
): string {
  const { orderBy, descending, orderClause } = listing;
  const { last, within, unlimited } = endOfPage(listing);
  const sides = isBoundedByExecution(listing) ? [EARLIER_SIDE, LATER_SIDE] : [descending ? EARLIER_SIDE : LATER_SIDE];
  const cursorTime = `${start}::timestamptz + interval '${orderBy === "updated_at" && descending ? 1 : 0} microsecond'`;
  const walked = sides.map(
    ({ name, comparison, direction }) => `${name} as materialized (
       select g.facets, g.rows, r.* from groups g
       cross join lateral (
         select id, ${orderBy} as at, executed_at from listed_actions
         where merchant_id = $1 and facets = g.facets and ${since} and ${until} and executed_at is not null
           and executed_at ${comparison} (select at from start)
         order by executed_at ${direction}, id ${direction} limit g.rows
       ) r),`,
  );
  const walkedUntil = (side: CursorSide) => {
    const lastTimes = `select ${side.furthest}(executed_at) as at from ${side.name} group by facets, rows having count(*) >= rows`;
    const found = sides.includes(side)
      ? `select ${side.nearest}(at) from (${lastTimes}) l`
      : "select null::timestamptz";
    return `(select coalesce((${found}), '${side.end}') as at)`;
  };
  return `with start as materialized (select ${start === null ? (descending ? to : from) : cursorTime} as at),
     groups as materialized (
       select facets, ceil(${SORT_WINDOW_ROWS / sides.length} * actions / sum(actions) over () + 10)::int8 as rows
       from (${matchingFacetsSql(listing)}) f
     ),
     ${walked.join("\n     ")}
     low as materialized ${walkedUntil(EARLIER_SIDE)},
     high as materialized ${walkedUntil(LATER_SIDE)},
     found as materialized (
       select id, at, executed_at from (${sides.map(({ name }) => `select * from ${name}`).join(" union all ")}) e
       where true ${afterCursor.replace(orderBy, "at")}
     ),
     ahead as materialized (select at from found ${orderClause("at")} limit ${limit}),
     guide as materialized (
       select coalesce((select ${last}(at) from ahead having count(*) >= ${limit}), '${unlimited}') as at
     )
   select id, at from (
     select id, at from found where executed_at > (select at from low) and executed_at < (select at from high)
     union all
     select p.id, p.at from (
       select day from days as parts ${reachable} ${reachable === "" ? "where" : "and"}
         (day <= ${dayOf("(select at from low)")} or day >= ${dayOf("(select at from high)")})
     ) parts
     cross join lateral (
       select id, ${orderBy} as at from listed_actions
       where ${conditionsSql(listing, afterCursor, "executed_on")} and executed_on = parts.day
         and (executed_at <= (select at from low) or executed_at >= (select at from high)) is true
         and ${orderBy} ${within} (select at from guide)
       ${orderClause(orderBy)} limit ${limit}
     ) p
   ) p
   ${orderClause("at")} limit ${limit}`;
}

interface CursorSide {
  name: "earlier" | "later";
  comparison: "<" | ">=";
  /** Away from the start. */
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
