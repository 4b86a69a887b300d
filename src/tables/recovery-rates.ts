import { prepared, type Tx } from "../postgres/database.ts";

/** Sums over customers, which give the variance between them: a customer's invoices fail and are paid together. */
export interface RateTally {
  customers: number;
  /** Cases: all, and recovered ones. */
  cases: number;
  recovered: number;
  /** Sums of products per customer. */
  casesCases: number;
  casesRecovered: number;
  recoveredRecovered: number;
}

// Unnamed: a generic plan would not know how long the spans are.
const TALLIES = prepared(
  "",
  `select s.span, count(*) as customers, coalesce(sum(n), 0)::float8 as cases, coalesce(sum(r), 0)::float8 as recovered,
     coalesce(sum(n * n), 0)::float8 as "casesCases", coalesce(sum(n * r), 0)::float8 as "casesRecovered",
     coalesce(sum(r * r), 0)::float8 as "recoveredRecovered"
   from unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as s (since, until, span)
   cross join lateral (
     select customer_id, count(*) as n, count(*) filter (where outcome = 'recovered') as r from cases
     where merchant_id = $1 and ended_at >= s.since and unpaid_at >= s.since and unpaid_at < s.until
       and outcome in ('recovered', 'paid', 'lost')
     group by 1) k
   group by 1`,
);

const EMPTY: RateTally = {
  ...{ customers: 0, cases: 0, recovered: 0, casesCases: 0, casesRecovered: 0, recoveredRecovered: 0 },
};

/** Of the ended cases that became unpaid in each span. @param bounds  ascending; neighbors make a span */
export async function tallyRecovery(tx: Tx, merchantId: string, bounds: readonly Date[]): Promise<RateTally[]> {
  const values = [merchantId, bounds.slice(0, -1), bounds.slice(1)];
  const { rows } = await tx.run<RateTally & { span: number }>(TALLIES, values);
  return bounds.slice(1).map((_, index) => rows.find(({ span }) => span === index + 1) ?? EMPTY);
}

export interface LostInvoice {
  invoiceId: string;
  amount: number;
  currency: string;
}

const LOST_LARGE = prepared(
  "lost_large_invoices",
  `select c.invoice_id as "invoiceId", c.amount, c.currency
   from cases c join large_amounts l on l.merchant_id = $1 and l.currency = c.currency
   where c.merchant_id = $1 and c.ended_at > $2 and c.ended_at <= $3 and c.outcome = 'lost' and c.amount >= l.amount
   order by c.ended_at, c.id`,
);

/** Cases at or over the large amount that ended unpaid, after `from` and until `to`. */
export const listLostLargeInvoices = async (tx: Tx, merchantId: string, from: Date, to: Date): Promise<LostInvoice[]> =>
  (await tx.run<LostInvoice>(LOST_LARGE, [merchantId, from, to])).rows;

const GIVEN_UP = prepared(
  "given_up_since",
  `select count(*) as total, count(*) filter (where exhausted_at > coalesce($2::timestamptz, '-infinity')) as "newCount",
     max(exhausted_at) as "latestAt"
   from events where merchant_id = $1 and exhausted_at is not null`,
);

export interface GivenUpEvents {
  total: number;
  newCount: number;
  latestAt: Date | null;
}

/** Exhausted events that were not replayed. @param since  counts later ones; null: all */
export const countGivenUpSince = async (tx: Tx, merchantId: string, since: Date | null) =>
  (await tx.run<GivenUpEvents>(GIVEN_UP, [merchantId, since])).rows[0]!;
