import { type CellTotals, COUNT_MEASURE, type Measure } from "../domain/experiment.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** Enough for the spread; reading more would slow the page down. */
const CASES_MAX = 20_000;

// An invoice is recovered as in `MATURE` of experiment-invoices.ts: paid by any means.
const HISTORY = prepared(
  "",
  `with latest as (
     select k.customer_id, case when $4 = '${COUNT_MEASURE}' then 1 when k.currency = $4 then k.amount else 0 end as value,
       i.state = 'PAID' or (i.state in ('UNPAID', 'PARTIALLY_PAID') and k.end_reason is not distinct from 'paid') as recovered
     from (select customer_id, invoice_id, currency, amount, end_reason from cases
           where merchant_id = $1 and unpaid_at >= $2 and unpaid_at < $3 order by unpaid_at desc limit $5) k
     cross join lateral (select state from invoices where merchant_id = $1 and id = k.invoice_id offset 0) i
   ), customers as (
     select count(*) as invoices, sum(value)::float8 as due, coalesce(sum(value) filter (where recovered), 0)::float8 as got
     from latest group by customer_id)
   select coalesce(sum(invoices), 0)::float8 as invoices, count(*) filter (where due > 0) as customers,
     coalesce(sum(due), 0) as due, coalesce(sum(got), 0) as got, coalesce(sum(due * due), 0) as "dueDue",
     coalesce(sum(due * got), 0) as "dueGot", coalesce(sum(got * got), 0) as "gotGot"
   from customers`,
);

/** Sums over customers of the failures from `from` to `to`, as an experiment would count them; of the latest if there are many. */
export async function sumFailures(
  tx: Tx,
  merchantId: string,
  measure: Measure,
  from: Date,
  to: Date,
): Promise<{ tally: CellTotals; invoices: number }> {
  const { rows } = await tx.run<CellTotals & { invoices: number }>(HISTORY, [merchantId, from, to, measure, CASES_MAX]);
  const { invoices, ...tally } = rows[0]!;
  return { tally, invoices };
}

const RECENT = prepared(
  "recent_failures",
  `select count(*) as n, min(unpaid_at) as "firstAt",
     exists (select from cases where merchant_id = $1 and unpaid_at < $2) as "hasOlder"
   from cases where merchant_id = $1 and unpaid_at >= $2 and unpaid_at < $3`,
);

/** `firstAt` is null without failures. `hasOlder`: whether an invoice failed before `from`. */
export async function countFailures(tx: Tx, merchantId: string, from: Date, to: Date) {
  type Row = { n: number; firstAt: Date | null; hasOlder: boolean };
  return (await tx.run<Row>(RECENT, [merchantId, from, to])).rows[0]!;
}
