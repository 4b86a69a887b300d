import { wasExecutedSql } from "./action-facets.ts";
import type { ListingSql } from "./action-listing.ts";
import { type CountedBucket, type SignedSpan, splitExecutionRange } from "./execution-time-buckets.ts";

/**
 * An SQL expression: how many actions are on all pages. Counts that are kept with the actions answer it. Only what belongs to one customer,
 * invoice and so on is counted one by one, and the hours at the edges of a range of time.
 */
export function totalSql(listing: ListingSql): string {
  const { owners, facets, executed, onlyExecuted } = listing;
  const fits = facets === null ? "" : `and facets like ${facets}`;
  if (owners.length > 0) return `(select count(*) from recovery_actions where ${conditionsSql(listing)})`;
  if (executed === null)
    return `(select coalesce(sum(actions), 0)::int8 from action_counts
      where merchant_id = $1 ${fits} ${onlyExecuted ? `and ${wasExecutedSql("facets")}` : ""})`;
  const { kept, edges } = splitExecutionRange(executed.from, executed.to);
  const within = (column: string) => `merchant_id = $1 and ${column} >= s.since and ${column} < s.before ${fits}`;
  return `${signedSumSql(listing, kept, `select sum(actions) as actions from executed_counts where span = s.kind and ${within("starts_at")}`)}
    + ${signedSumSql(listing, edges, `select count(*) as actions from recovery_actions where ${within("executed_at")}`)}`;
}

/** What `each` says of the actions in a span `s`, added up by the signs of the spans. They are parameters, not text: every range has one statement. */
function signedSumSql(
  { value }: ListingSql,
  spans: readonly (SignedSpan & { kind?: CountedBucket })[],
  each: string,
): string {
  const list = (type: string, of: (span: (typeof spans)[number]) => unknown) => `${value(spans.map(of))}::${type}[]`;
  const columns = [
    list("text", ({ kind }) => kind ?? null),
    list("timestamptz", ({ from }) => from),
    list("timestamptz", ({ to }) => to),
    list("int8", ({ sign }) => sign),
  ];
  return `(select coalesce(sum(s.sign * c.actions), 0)::int8
      from unnest(${columns.join(", ")}) as s (kind, since, before, sign) cross join lateral (${each}) c)`;
}

/**
 * All that the listing asks of an action.
 *
 * @param beyond  SQL: what comes after the page before
 * @param part  the column by which a merge has parts, where it is for one of them, whose index is to be walked in the order of the listing
 */
export function conditionsSql(
  { owners, facets, executed, onlyExecuted, orderBy, descending }: ListingSql,
  beyond = "",
  part: "facets" | "executed_on" | null = null,
) {
  const where = ["merchant_id = $1", ...owners];
  // An index begins where the first of two bounds on one side tells it to. What comes after a page says more: the other one must not look like a bound.
  const isPassed = beyond !== "" && orderBy === "executed_at";
  // Nor where a day is walked in another order: a day and a range in it look like two things that seldom meet, and all of the range would be sorted.
  const isOther = part === "executed_on" && orderBy !== "executed_at";
  const bound = (text: string, isWeak: boolean) => (isWeak ? `(${text}) is true` : text);
  if (executed !== null) {
    const since = bound(executed.since, isOther || (isPassed && !descending));
    const until = bound(executed.until, isOther || (isPassed && descending));
    // PostgreSQL asks them in this order. On the day that the range cuts, a walk comes by half a day of actions beyond that edge before any within: to
    // ask each of them for its facets first took a tenth of such a statement.
    where.push(...(descending ? [until, since] : [since, until]));
  }
  // The parts by facets are those that fit. Of a pattern that PostgreSQL does not know it takes one row in 200 to fit, and would rather sort a whole
  // day than walk a part of it: of what "coalesce" says it takes half.
  if (facets !== null && part !== "facets")
    where.push(part === null ? `facets like ${facets}` : `coalesce(facets like ${facets}, false)`);
  // No action is executed before it is planned, or changed for the last time before it is executed. So what lies in the day of an edge of the range,
  // but beyond it, is not walked through where it would come first. After the first page the cursor says more.
  if (executed !== null && part === "executed_on" && beyond === "") {
    if (orderBy === "updated_at" && !descending) where.push(`updated_at >= ${executed.first}`);
    if (orderBy === "created_at" && descending) where.push(`created_at < ${executed.last}`);
  }
  // Said outright, so that the partial indexes on executed_at are used.
  if (onlyExecuted) where.push("executed_at is not null");
  return `${where.join(" and ")} ${beyond}`;
}
