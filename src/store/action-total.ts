import { hasExecuted } from "./action-facets.ts";
import type { ListingText } from "./action-listing.ts";
import { executedSpans, KEPT_SPANS, type KeptSpan, type Span } from "./executed-spans.ts";

/**
 * An SQL expression: how many actions are on all pages. Counts that are kept with the actions answer it. Only what belongs to one customer,
 * invoice and so on is counted one by one, and the hours at the edges of a range of time.
 */
export function totalText(listing: ListingText): string {
  const { owners, facets, executed, onlyExecuted } = listing;
  const fits = facets === null ? "" : `and facets like ${facets}`;
  if (owners.length > 0) return `(select count(*) from recovery_actions where ${conditions(listing)})`;
  if (executed === null)
    return `(select coalesce(sum(actions), 0)::int8 from action_counts
      where merchant_id = $1 ${fits} ${onlyExecuted ? `and ${hasExecuted("facets")}` : ""})`;
  const spans = executedSpans(executed.from, executed.to);
  const kept = (kind: KeptSpan) =>
    spans[kind].map(
      ([
        from,
        to,
      ]) => `(select coalesce(sum(actions), 0)::int8 from executed_counts where merchant_id = $1 and span = '${kind}'
       and starts_at >= ${listing.value(from)}::timestamptz and starts_at < ${listing.value(to)}::timestamptz ${fits})`,
    );
  const counted = ([from, to]: Span) =>
    `(select count(*) from recovery_actions where merchant_id = $1
       and executed_at >= ${listing.value(from)}::timestamptz and executed_at < ${listing.value(to)}::timestamptz ${fits})`;
  return [...KEPT_SPANS.flatMap(kept), ...spans.edges.map(counted)].join(" + ");
}

/**
 * All that the listing asks of an action.
 *
 * @param beyond  SQL: what comes after the page before
 * @param isPart  it is for one part of a merge, whose index is to be walked in the order of the listing
 */
export function conditions(
  { owners, facets, executed, onlyExecuted, orderBy, descending }: ListingText,
  beyond = "",
  isPart = false,
) {
  const where = ["merchant_id = $1", ...owners];
  if (facets !== null) where.push(`facets like ${facets}`);
  // An index begins where the first of two bounds on one side tells it to. What comes after a page says more: the other one must not look like a bound.
  const isPassed = beyond !== "" && orderBy === "executed_at";
  // Nor where a day is walked in another order: a day and a range in it look like two things that seldom meet, and all of the range would be sorted.
  const isOther = isPart && orderBy !== "executed_at";
  const bound = (text: string, isWeak: boolean) => (isWeak ? `(${text}) is true` : text);
  if (executed !== null)
    where.push(
      bound(executed.since, isOther || (isPassed && !descending)),
      bound(executed.until, isOther || (isPassed && descending)),
    );
  // No action is executed before it is planned, or changed for the last time before it is executed. So what lies in the day of an edge of the range,
  // but beyond it, is not walked through where it would come first. After the first page the cursor says more.
  if (executed !== null && isPart && beyond === "") {
    if (orderBy === "updated_at" && !descending) where.push(`updated_at >= ${executed.first}`);
    if (orderBy === "created_at" && descending) where.push(`created_at < ${executed.last}`);
  }
  // Said outright, so that the partial indexes on executed_at are used.
  if (onlyExecuted) where.push("executed_at is not null");
  return `${where.join(" and ")} ${beyond}`;
}
