import { conditionsSql } from "./action-conditions.ts";
import { currencySql, wasExecutedSql } from "./action-facets.ts";
import type { ListingSql } from "./action-listing.ts";
import { type CountedBucket, type SignedSpan, splitExecutionRange } from "./execution-time-buckets.ts";

/** Adds up stored counts. Counts one by one only an owner's actions and a range's edges. */
export function totalSql(listing: ListingSql): string {
  const { owners, table, executed, onlyExecuted } = listing;
  const matches = matchesSql(listing);
  if (owners.length > 0) return `(select count(*) from ${table} where ${conditionsSql(listing)})`;
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
        select count(*) as actions from listed_actions
        where merchant_id = $1 and executed_at >= s.since and executed_at < s.before ${matches}
      ) c)`;
}

const matchesSql = ({ facets }: ListingSql) => (facets === null ? "" : `and facets like ${facets}`);

/** Rows of `code`, a status, and `actions`, which may be zero. Cheap as the total is. */
export function statusCountsSql(listing: ListingSql): string {
  const { owners, table, executed, onlyExecuted } = listing;
  const matches = matchesSql(listing);
  const code = "right(facets, 1) as code";
  if (owners.length > 0)
    return `select ${code}, count(*)::int8 as actions from ${table} where ${conditionsSql(listing)} group by 1`;
  if (executed === null)
    return `select ${code}, sum(actions)::int8 as actions from action_counts
      where merchant_id = $1 ${matches} ${onlyExecuted ? `and ${wasExecutedSql("facets")}` : ""} group by 1`;
  const { counted, edges } = splitExecutionRange(executed.from, executed.to);
  return `select code, sum(sign * actions)::int8 as actions from (
      select s.sign, c.* from ${spansSql(listing, counted)}
      cross join lateral (
        select ${code}, sum(actions) as actions from executed_counts
        where span = s.kind and merchant_id = $1 and starts_at >= s.since and starts_at < s.before ${matches} group by 1
      ) c
      union all
      select s.sign, c.* from ${spansSql(listing, edges)}
      cross join lateral (
        select ${code}, count(*) as actions from listed_actions
        where merchant_id = $1 and executed_at >= s.since and executed_at < s.before ${matches} group by 1
      ) c
    ) spans where ${executed.first} < ${executed.last} group by 1`;
}

/** Rows of `currency` and `amount`: as planned, else the invoice's. Reads every action of the list. */
export function sumsSql(listing: ListingSql): string {
  const { owners, table, facets } = listing;
  const isOfOwners = owners.length > 0 && table === "recovery_actions";
  const byFacets = owners.length === 0 && facets !== null;
  const conditions = byFacets
    ? `${conditionsSql(listing, "", "facets")} and facets = any(array(
         select facets from action_counts where merchant_id = $1 and actions > 0 and facets like ${facets}))`
    : conditionsSql(listing);
  // Older actions have no amount. `offset 0` and the amount inside make one probe for each of these, and none for others.
  const ofOlder = (columns: string, table: string, id: string) =>
    `left join lateral (
       select ${columns} from ${table} where a.amount_due is null and merchant_id = $1 and id = ${id} offset 0)`;
  const actions = isOfOwners
    ? `(select invoice_id, amount_due, currency from recovery_actions where ${conditions} offset 0) a`
    : `(select id, amount_due, ${currencySql("facets")} as currency from listed_actions where ${conditions} offset 0) a
         ${ofOlder("invoice_id", "recovery_actions", "a.id")} r on true`;
  return `select case when a.amount_due is null then i.currency else a.currency end as currency,
      sum(coalesce(a.amount_due, i.amount))::text as amount
    from ${actions}
    ${ofOlder("currency, amount", "invoices", isOfOwners ? "a.invoice_id" : "r.invoice_id")} i on true
    group by 1 having sum(coalesce(a.amount_due, i.amount)) is not null order by 1`;
}

/** As parameters, so that every range shares one statement. */
function spansSql({ parameter }: ListingSql, spans: readonly (SignedSpan & { kind?: CountedBucket })[]): string {
  const kinds = parameter(spans.map(({ kind }) => kind ?? null));
  const starts = parameter(spans.map(({ from }) => from));
  const ends = parameter(spans.map(({ to }) => to));
  const signs = parameter(spans.map(({ sign }) => sign));
  return `unnest(${kinds}::text[], ${starts}::timestamptz[], ${ends}::timestamptz[], ${signs}::int8[]) as s (kind, since, before, sign)`;
}
