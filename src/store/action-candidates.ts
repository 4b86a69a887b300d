import { hasExecuted } from "./action-facets.ts";
import type { Cursor, ListingText } from "./action-listing.ts";
import { conditions } from "./action-total.ts";

/** As many are sorted in 5 ms; with more, enough of those that a walk in order comes by are wanted. */
const FEW = 5_000;

/**
 * SQL that selects `id` and `at`, the value of the order, of the actions of one page: the work goes by the length of the page, not by how many
 * actions there are or how rare the wanted ones are. It reads indexes only; each way reads one that has the wanted order.
 *
 * @param total  SQL: how many are on all pages
 * @param limit  SQL: rows of the page
 */
export function candidates(listing: ListingText, cursor: Cursor | null, total: string, limit: string): string {
  const { owners, facets, executed, orderBy } = listing;
  const page = { listing, beyond: cursor === null ? "" : beyondText(listing, cursor), limit };
  if (owners.length > 0) return inOrder(page);
  if (executed !== null && orderBy !== "executed_at")
    return `select * from (${sorting(page)}) few where ${total} <= ${FEW}
      union all select * from (${byMonth(page, cursor)}) many where ${total} > ${FEW}`;
  return facets === null ? inOrder(page) : byFacets(page);
}

interface Page {
  listing: ListingText;
  /** A condition: what comes after the page before. */
  beyond: string;
  limit: string;
}

const beyondText = ({ orderBy, descending, value }: ListingText, { at, id }: Cursor) =>
  `and (${orderBy}, id) ${descending ? "<" : ">"} (${value(at)}::timestamptz, ${value(id)}::uuid)`;

/** Walk along the index of the order, or sort what one owner has. */
const inOrder = ({ listing, beyond, limit }: Page) =>
  `select id, ${listing.orderBy} as at from recovery_actions
   where ${conditions(listing)} ${beyond} ${listing.sorted(listing.orderBy)} limit ${limit}`;

/** The groups of actions that a merchant has and that fit; each lies in the order of the list. */
const facetsOf = ({ facets, onlyExecuted }: ListingText) =>
  `select facets, actions from action_counts
   where merchant_id = $1 and actions > 0 and facets like ${facets} ${onlyExecuted ? `and ${hasExecuted("facets")}` : ""}`;

/** Merge the groups that fit, each walked no further than the page goes. */
const byFacets = (page: Page) =>
  merge(page, facetsOf(page.listing), "facets", "select facets from parts order by actions desc limit 1");

/** Sort all of a range of time: by its index, or by those of the groups that fit. */
function sorting({ listing, beyond, limit }: Page): string {
  const { facets, executed, orderBy } = listing;
  // "offset 0" keeps the planner from walking along the index of the order instead, which may come by nothing for long.
  const range = (and: string) =>
    `select id, ${orderBy} from recovery_actions
     where merchant_id = $1 ${and} and ${executed!.condition} and executed_at is not null ${beyond} offset 0`;
  const found =
    facets === null
      ? range("")
      : `select r.* from (${facetsOf(listing)}) f cross join lateral (${range("and facets = f.facets")}) r`;
  return `select id, ${orderBy} as at from (${found}) r ${listing.sorted(orderBy)} limit ${limit}`;
}

/** Merge the months of execution: within one, the order of the list has little to do with the range of time. */
function byMonth(page: Page, cursor: Cursor | null): string {
  const { executed, descending, value } = page.listing;
  const month = (at: string) => `date_trunc('month', ${at}::timestamptz at time zone 'UTC')::date`;
  const [from, to] = [
    value(executed!.from?.toISOString() ?? "-infinity"),
    value(executed!.to?.toISOString() ?? "infinity"),
  ];
  const months = `select distinct starts_on as executed_month from executed_counts
    where merchant_id = $1 and span = 'month' and actions > 0 and starts_on between ${month(from)} and ${month(to)}`;
  // Most of a page was executed in the month in which it is: what was created then, too.
  const nearest = (comparison: string) =>
    cursor === null ? "" : `where executed_month ${comparison} ${month(value(cursor.at))}`;
  const guide = descending
    ? `select max(executed_month) from parts ${nearest("<=")}`
    : `select min(executed_month) from parts ${nearest(">=")}`;
  return merge(page, months, "executed_month", guide);
}

/**
 * Merge the parts of an index, each of which has the order of the list.
 *
 * @param parts  SQL that selects the values of `column`, the index column before the order
 * @param guide  SQL that selects the part which is likely to fill a page soonest: no other is walked beyond where that one would end
 */
function merge({ listing, beyond, limit }: Page, parts: string, column: string, guide: string): string {
  const { orderBy, descending, sorted } = listing;
  const part = (of: string, and = "") =>
    `select id, ${orderBy} as at from recovery_actions
     where ${conditions(listing)} and ${column} = ${of} ${beyond} ${and} ${sorted(orderBy)} limit ${limit}`;
  const [end, comparison, never] = descending ? ["min", ">=", "-infinity"] : ["max", "<=", "infinity"];
  return `with parts as materialized (${parts}),
     guide as materialized (select coalesce((select ${end}(at) from (${part(`(${guide})`)}) g having count(*) >= ${limit}), '${never}') as at)
   select p.id, p.at from parts
   cross join lateral (${part(`parts.${column}`, `and ${orderBy} ${comparison} (select at from guide)`)}) p
   ${sorted("at")} limit ${limit}`;
}
