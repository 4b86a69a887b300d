import { prepared, type Tx } from "../postgres/database.ts";

export interface ReportingRates {
  currency: string;
  /** Units of the reporting currency for one unit, as decimal text; without the reporting currency itself. */
  rates: ReadonlyMap<string, string>;
  /** Of the latest rate; null: none is set. */
  setAt: Date | null;
}

const READ = prepared(
  "reporting_rates",
  `select m.reporting_currency as reporting, r.currency, trim_scale(r.rate)::text as rate, r.set_at as "setAt"
   from merchants m left join reporting_rates r on r.merchant_id = m.id where m.id = $1 order by r.currency`,
);

/** Null: the merchant wants no sums over currencies. */
export async function readReportingRates(tx: Tx, merchantId: string): Promise<ReportingRates | null> {
  type Row = { reporting: string | null; currency: string | null; rate: string; setAt: Date };
  const { rows } = await tx.run<Row>(READ, [merchantId]);
  const currency = rows[0]?.reporting ?? null;
  if (currency === null) return null;
  const given = rows.filter((row) => row.currency !== null && row.currency !== currency);
  const times = given.map(({ setAt }) => setAt.getTime());
  return {
    currency,
    rates: new Map(given.map((row) => [row.currency!, row.rate])),
    setAt: times.length === 0 ? null : new Date(Math.max(...times)),
  };
}

const SAVE_CURRENCY = prepared("save_reporting_currency", "update merchants set reporting_currency = $2 where id = $1");
const SAVE_RATES = prepared(
  "save_reporting_rates",
  `with saved as (
     insert into reporting_rates as stored (merchant_id, currency, rate, set_at)
     select $1, given.currency, given.rate::numeric, $4 from unnest($2::text[], $3::text[]) as given (currency, rate)
     on conflict (merchant_id, currency) do update set rate = excluded.rate, set_at = excluded.set_at
     where stored.rate <> excluded.rate)
   delete from reporting_rates where merchant_id = $1 and currency <> all($2::text[])`,
);

/** Replaces all rates. A rate that is the same keeps its time. */
export async function saveReportingRates(
  tx: Tx,
  merchantId: string,
  currency: string | null,
  rates: ReadonlyMap<string, string>,
  now: Date,
) {
  await tx.run(SAVE_CURRENCY, [merchantId, currency]);
  await tx.run(SAVE_RATES, [merchantId, [...rates.keys()], [...rates.values()], now]);
}
