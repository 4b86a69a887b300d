import { conditionsSql } from "./action-conditions.ts";
import { wasExecutedSql } from "./action-facets.ts";
import type { ListingSql } from "./action-listing.ts";
import { type CountedBucket, type SignedSpan, splitExecutionRange } from "./execution-time-buckets.ts";

/** Adds up stored counts. Counts one by one only an owner's actions and a range's edges. */
export function totalSql(listing: ListingSql): string {
  const { owners, facets, executed, onlyExecuted } = listing;
  const matches = facets === null ? "" : `and facets like ${facets}`;
  if (owners.length > 0) return `(select count(*) from recovery_actions where ${conditionsSql(listing)})`;
  if (executed === null)
    return `(select coalesce(sum(actions), 0)::int8 from action_counts
      where merchant_id = $1 ${matches} ${onlyExecuted ? `and ${wasExecutedSql("facets")}` : ""})`;
  const { counted, edges } = splitExecutionRange(executed.from, executed.to);
  return `(select coalesce(sum(s.sign * c.actions), 0)::int8
      from ${spansSql(listing, counted)}
      cross join lateral (
        select sum(actions) as actions from executed_counts
        where span = s.kind and merchant_id = $1 and starts_at >= s.since and starts_at < s.before ${matches}
      ) c)
    + (select coalesce(sum(s.sign * c.actions), 0)::int8
      from ${spansSql(listing, edges)}
      cross join lateral (
        select count(*) as actions from recovery_actions
        where merchant_id = $1 and executed_at >= s.since and executed_at < s.before ${matches}
      ) c)`;
}

/** As parameters, so that every range shares one statement. */
function spansSql({ parameter }: ListingSql, spans: readonly (SignedSpan & { kind?: CountedBucket })[]): string {
  const kinds = parameter(spans.map(({ kind }) => kind ?? null));
  const starts = parameter(spans.map(({ from }) => from));
  const ends = parameter(spans.map(({ to }) => to));
  const signs = parameter(spans.map(({ sign }) => sign));
  return `unnest(${kinds}::text[], ${starts}::timestamptz[], ${ends}::timestamptz[], ${signs}::int8[]) as s (kind, since, before, sign)`;
}
