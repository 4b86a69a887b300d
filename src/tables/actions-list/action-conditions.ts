import type { ListingSql } from "./action-listing.ts";

/**
 * Phrased for the planner:
 * - `(…) is true` keeps a bound out of the index scan, which starts at the first of two bounds on one side: the cursor's is
 *   stricter. Within a day walked in another order, PostgreSQL would sort the whole range for a bound.
 * - `coalesce(facets like …, false)` is estimated to match half of the rows, a plain pattern one in 200: PostgreSQL would then
 *   sort a whole day.
 * - `executed_at is not null` matches the partial indexes.
 *
 * @param part  the column that divides the list into parts, for one part of a merge
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
    // In this order: on a day cut by the range, half of the rows fail the first.
    where.push(...(descending ? [until, since] : [since, until]));
  }
  if (facets !== null && part !== "facets")
    where.push(part === null ? `facets like ${facets}` : `coalesce(facets like ${facets}, false)`);
  // Skips rows beyond the range's edge, where they would come first: actions are created before and last updated after their
  // execution. After the first page, the cursor excludes them.
  if (executed !== null && part === "executed_on" && afterCursor === "") {
    if (orderBy === "updated_at" && !descending) where.push(`updated_at >= ${executed.first}`);
    if (orderBy === "created_at" && descending) where.push(`created_at < ${executed.last}`);
  }
  if (onlyExecuted) where.push("executed_at is not null");
  return `${where.join(" and ")} ${afterCursor}`;
}
