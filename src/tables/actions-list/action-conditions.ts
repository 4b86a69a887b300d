import type { ListingSql } from "./action-listing.ts";

/**
 * SQL conditions of a listing on a row of `recovery_actions`.
 *
 * Several conditions are phrased for the planner:
 * - `(…) is true` keeps a bound from being used as an index bound. An index scan starts at the first of two bounds on one side, and the
 *   one of the cursor is stricter. Within a day that is walked in another order, a bound looks so selective that PostgreSQL would sort
 *   the whole range.
 * - `coalesce(facets like …, false)` is estimated to match half of the rows. A plain pattern is estimated to match one in 200, and
 *   PostgreSQL would sort a whole day rather than walk a part of it.
 * - `executed_at is not null` matches the partial indexes.
 *
 * @param afterCursor  SQL condition on rows after the cursor, or empty
 * @param part  the column that divides the list into parts, if the conditions are for one part of a merge
 */
export function conditionsSql(
  { owners, facets, executed, onlyExecuted, orderBy, descending }: ListingSql,
  afterCursor = "",
  part: "facets" | "executed_on" | null = null,
) {
  const where = ["merchant_id = $1", ...owners];
  const isCursorStricter = afterCursor !== "" && orderBy === "executed_at";
  const isOtherOrder = part === "executed_on" && orderBy !== "executed_at";
  const bound = (text: string, isWeak: boolean) => (isWeak ? `(${text}) is true` : text);
  if (executed !== null) {
    const since = bound(executed.since, isOtherOrder || (isCursorStricter && !descending));
    const until = bound(executed.until, isOtherOrder || (isCursorStricter && descending));
    // PostgreSQL checks conditions in this order. On a day cut by the range, half of the rows fail the first bound.
    where.push(...(descending ? [until, since] : [since, until]));
  }
  if (facets !== null && part !== "facets")
    where.push(part === null ? `facets like ${facets}` : `coalesce(facets like ${facets}, false)`);
  // Actions are created before they are executed, and last updated afterwards. So rows on the day of an edge, but beyond the edge, can
  // be skipped where they would come first. After the first page, the cursor excludes them.
  if (executed !== null && part === "executed_on" && afterCursor === "") {
    if (orderBy === "updated_at" && !descending) where.push(`updated_at >= ${executed.first}`);
    if (orderBy === "created_at" && descending) where.push(`created_at < ${executed.last}`);
  }
  if (onlyExecuted) where.push("executed_at is not null");
  return `${where.join(" and ")} ${afterCursor}`;
}
