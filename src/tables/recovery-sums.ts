// Sums over ended cases that Dunlin handled. `recovery_sums` holds whole days; the rest of a span is read from the cases.
import type { CaseTraits } from "../domain/case-traits.ts";
import { arrayParameters, type Column, columnNames, columnValues } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

interface Row extends Omit<CaseTraits, "tries"> {
  id: string;
  /** An array literal, because `unnest` would flatten an array of arrays. */
  tries: string;
}

const TRAITS: readonly Column<Row>[] = [
  ["decline_group", "text", "declineGroup"],
  ["decline_code", "text", "declineCode"],
  ["payment_method", "text", "paymentMethod"],
  ["card_country", "text", "cardCountry"],
  ["card_issuer", "text", "cardIssuer"],
  ["plan_id", "text", "planId"],
  ["amount_band", "text", "amountBand"],
];
const SAVED: readonly Column<Row>[] = [["id", "uuid", "id"], ...TRAITS, ["tries", "text", "tries"]];
const TRAIT_NAMES = columnNames(TRAITS);
const SUMMED = `${TRAIT_NAMES}, tries, currency, unpaid_at, ended_at, counted, counted_amount`;

/** Properties of a case by which it is summed, with the column that holds the value. */
const TRAIT_OF_DIMENSION = {
  all: "''",
  reason: "decline_group",
  code: "decline_code",
  method: "payment_method",
  country: "card_country",
  issuer: "card_issuer",
  plan: "plan_id",
  amount: "amount_band",
} as const;

/**
 * `ended` sums by the end of the case, all others by its first failure. `attempt` and `hour` sum executed retries, without currency:
 * by their number within the case, and by the hour of the week.
 */
export type SumDimension = keyof typeof TRAIT_OF_DIMENSION | "ended" | "attempt" | "hour";
export const CASE_FILTER_NAMES = [
  ...(["reason", "code", "method", "country", "issuer", "plan", "amount", "currency"] as const),
] as const;
export type CaseFilterName = (typeof CASE_FILTER_NAMES)[number];

// Not date_trunc with a zone, which Citus refuses in a change of rows.
const utcStartOf = (span: "day" | "hour", column: string) =>
  `date_trunc('${span}', ${column} at time zone 'UTC') at time zone 'UTC'`;

/** Sums over the CTE `changes`, whose `sign` is 1 or -1. Ends every statement that changes or deletes cases' columns. */
const SUM_CHANGES = `sums as (
     select d.dimension, ${utcStartOf("day", "unpaid_at")} as since, coalesce(d.value, '') as value, currency, sum(sign) as n,
       coalesce(sum(sign) filter (where counted = 'recovered'), 0) as recovered, sum(sign * counted_amount) as amount,
       coalesce(sum(sign * counted_amount) filter (where counted = 'recovered'), 0) as recovered_amount
     from changes
     cross join lateral (values ${Object.entries(TRAIT_OF_DIMENSION)
       .map(([name, column]) => `('${name}', ${column})`)
       .join(", ")}) d (dimension, value)
     group by 1, 2, 3, 4
     union all
     select 'ended', ${utcStartOf("hour", "ended_at")}, counted, currency, sum(sign),
       coalesce(sum(sign) filter (where counted = 'recovered'), 0), sum(sign * counted_amount),
       coalesce(sum(sign * counted_amount) filter (where counted = 'recovered'), 0)
     from changes group by 2, 3, 4
     union all
     select d.dimension, ${utcStartOf("day", "unpaid_at")}, d.value, '', sum(sign), sum(sign * (try & 1)), 0, 0
     from changes
     cross join lateral unnest(tries) with ordinality tried (try, number)
     cross join lateral (values ('attempt', number::text), ('hour', (try >> 1)::text)) d (dimension, value)
     group by 1, 2, 3
   )
   insert into recovery_sums as stored (merchant_id, dimension, since, value, currency, n, recovered, amount, recovered_amount)
   select $1, * from sums where (n, recovered, amount, recovered_amount) <> (0, 0, 0, 0)
   order by dimension, since, value, currency
   on conflict (merchant_id, dimension, since, value, currency) do update set
     n = stored.n + excluded.n, recovered = stored.recovered + excluded.recovered, amount = stored.amount + excluded.amount,
     recovered_amount = stored.recovered_amount + excluded.recovered_amount`;

const COUNTED = "case when outcome in ('recovered', 'paid', 'lost') then outcome end";
const COUNTED_AMOUNT = "case when outcome in ('recovered', 'paid', 'lost') then amount end";

const SAVE = prepared(
  "save_case_traits",
  `with saved as materialized (
     select id, ${TRAIT_NAMES}, tries::int2[] as tries from unnest(${arrayParameters(SAVED, 2)}) as saved (${columnNames(SAVED)})
   ), before as materialized (
     select id, ${SUMMED} from cases where merchant_id = $1 and id = any($2::uuid[]) and counted is not null
   ), after as (
     update cases set (${TRAIT_NAMES}, tries, counted, counted_amount) =
       row (${TRAITS.map(([name]) => `saved.${name}`).join(", ")}, saved.tries, ${COUNTED}, ${COUNTED_AMOUNT})
     from saved
     where cases.merchant_id = $1 and cases.id = any($2::uuid[]) and cases.id = saved.id
       and (${TRAITS.map(([name]) => `cases.${name}`).join(", ")}, cases.tries, counted, counted_amount) is distinct from
         (${TRAITS.map(([name]) => `saved.${name}`).join(", ")}, saved.tries, ${COUNTED}, ${COUNTED_AMOUNT})
     returning cases.id, ${SUMMED.replaceAll(/\w+/g, "cases.$&")}
   ), changes as (
     select ${SUMMED}, 1 as sign from after where counted is not null
     union all
     select ${SUMMED}, -1 from before where id in (select id from after)
   ), ${SUM_CHANGES}`,
);

/** Writes only traits that changed. The caller has locked the cases and the merchant's clock. */
export async function saveCaseTraits(tx: Tx, merchantId: string, cases: readonly (CaseTraits & { id: string })[]) {
  const rows = cases.map((each) => ({
    ...each,
    tries: `{${each.tries.map(({ hourOfWeek, isPaid }) => hourOfWeek * 2 + Number(isPaid)).join()}}`,
  }));
  await tx.run(SAVE, [merchantId, ...columnValues(rows, SAVED)]);
}

const DELETE_CASES = prepared(
  "delete_cases",
  `with deleted as (
     delete from cases where merchant_id = $1 and id = any($2::uuid[]) returning ${SUMMED}
   ), changes as (
     select *, -1 as sign from deleted where counted is not null
   ), ${SUM_CHANGES}`,
);

/** Locked cases without contents. The caller holds the merchant's clock lock. */
export async function deleteCases(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  await tx.run(DELETE_CASES, [merchantId, caseIds]);
}

export interface RecoverySum {
  /** 0 is the first. */
  span: number;
  /** Empty if unknown. */
  value: string;
  /** Empty for retries. */
  currency: string;
  n: number;
  recovered: number;
  /** Minor units, as text because sums may exceed a number. */
  amount: string;
  recoveredAmount: string;
}

export type CaseFilters = Partial<Record<CaseFilterName, string>>;

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const SUMS =
  'n)::int8 as n, sum(recovered)::int8 as recovered, sum(amount)::text as amount, sum(got)::text as "recoveredAmount"';
const CASE_SUMS = `count(*) as n, count(*) filter (where counted = 'recovered') as recovered, sum(counted_amount) as amount,
  coalesce(sum(counted_amount) filter (where counted = 'recovered'), 0) as got`;
const TRY_SUMS = "count(*) as n, sum(try & 1) as recovered, 0 as amount, 0 as got";

/** Reads the parts of spans that no whole day or hour covers. Without a filter these are short. */
function liveSql(dimension: SumDimension, filters: readonly CaseFilterName[], first: number): string {
  const time = dimension === "ended" ? "ended_at" : "unpaid_at";
  const conditions = filters.map(
    (name, index) => `and ${filterColumn(name)} is not distinct from nullif($${first + index}, '')`,
  );
  const isOfRetries = dimension === "attempt" || dimension === "hour";
  const value = isOfRetries
    ? dimension === "attempt"
      ? "number::text"
      : "(try >> 1)::text"
    : dimension === "ended"
      ? "counted"
      : `coalesce(${TRAIT_OF_DIMENSION[dimension]}, '')`;
  return `select piece.span, read.*
   from unnest($3::int4[], $4::timestamptz[], $5::timestamptz[]) as piece (span, since, until)
   cross join lateral (
     select ${value} as value, ${isOfRetries ? "''" : "currency"} as currency, ${isOfRetries ? TRY_SUMS : CASE_SUMS}
     from cases${isOfRetries ? " cross join lateral unnest(tries) with ordinality tried (try, number)" : ""}
     where merchant_id = $1 and ${time} >= piece.since and ${time} < piece.until and counted is not null ${conditions.join(" ")}
     group by 1, 2) read`;
}

const filterColumn = (name: CaseFilterName) => (name === "currency" ? "currency" : TRAIT_OF_DIMENSION[name]);

const STORED = `select whole.span, value, currency, n, recovered, amount, recovered_amount as got
   from unnest($6::int4[], $7::timestamptz[], $8::timestamptz[]) as whole (span, since, until)
   join recovery_sums on merchant_id = $1 and dimension = $2 and recovery_sums.since >= whole.since and recovery_sums.since < whole.until`;

interface Piece {
  span: number;
  since: Date;
  until: Date;
}

/**
 * Sums by value and currency for each span. With filters all cases of the spans are read.
 *
 * @param bounds  ascending; neighbors make a span
 */
export async function sumRecovery(
  tx: Tx,
  merchantId: string,
  dimension: SumDimension,
  bounds: readonly Date[],
  filters: CaseFilters = {},
): Promise<RecoverySum[]> {
  const names = Object.keys(filters) as CaseFilterName[];
  const { live, whole } = splitSpans(bounds, names.length > 0 ? null : dimension === "ended" ? HOUR_MS : DAY_MS);
  // Unnamed: a generic plan would sort all rows.
  const statement = prepared(
    "",
    `select span, value, currency, sum(${SUMS} from (${liveSql(dimension, names, 9)} union all ${STORED}) parts
     group by 1, 2, 3 having sum(n) <> 0 order by 1, 2, 3`,
  );
  const { rows } = await tx.run<RecoverySum>(statement, [
    ...[merchantId, dimension, ...piecesOf(live), ...piecesOf(whole)],
    ...names.map((name) => filters[name]),
  ]);
  return rows;
}

const piecesOf = (pieces: readonly Piece[]) => [
  pieces.map(({ span }) => span),
  pieces.map(({ since }) => since.toISOString()),
  pieces.map(({ until }) => until.toISOString()),
];

function splitSpans(bounds: readonly Date[], stepMs: number | null): { live: Piece[]; whole: Piece[] } {
  const live: Piece[] = [];
  const whole: Piece[] = [];
  const add = (pieces: Piece[], span: number, since: number, until: number) => {
    if (since < until) pieces.push({ span, since: new Date(since), until: new Date(until) });
  };
  for (let span = 0; span + 1 < bounds.length; span++) {
    const [from, to] = [bounds[span]!.getTime(), bounds[span + 1]!.getTime()];
    const since = stepMs === null ? to : Math.ceil(from / stepMs) * stepMs;
    const until = stepMs === null ? to : Math.floor(to / stepMs) * stepMs;
    if (since >= until) add(live, span, from, to);
    else {
      add(live, span, from, since);
      add(whole, span, since, until);
      add(live, span, until, to);
    }
  }
  return { live, whole };
}

const CLUSTERS = prepared(
  "",
  `select sum(n)::float8 as n, sum(r)::float8 as r, sum(n * n)::float8 as nn, sum(n * r)::float8 as nr, sum(r * r)::float8 as rr
   from (
     select count(*) as n, count(*) filter (where counted = 'recovered') as r
     from (
       select customer_id, counted from cases
       where merchant_id = $1 and unpaid_at >= $2 and unpaid_at < $3 and counted is not null
       order by unpaid_at desc limit $4) latest
     group by customer_id) customers`,
);
const CLUSTERED_CASES_MAX = 10_000;

/**
 * Measures how much wider an interval of a recovery rate has to be than by counting cases, because a customer's invoices
 * resemble each other: 1 if they do not. From the latest cases of a span.
 */
export async function measureDesignEffect(tx: Tx, merchantId: string, from: Date, to: Date): Promise<number> {
  type Sums = Record<"n" | "r" | "nn" | "nr" | "rr", number | null>;
  const { rows } = await tx.run<Sums>(CLUSTERS, [merchantId, from, to, CLUSTERED_CASES_MAX]);
  const { n, r, nn, nr, rr } = rows[0]!;
  if (!n || !r || r === n) return 1;
  const share = r / n;
  return Math.max(1, (rr! - 2 * share * nr! + share ** 2 * nn!) / (n * share * (1 - share)));
}

const CURRENCIES = prepared(
  "",
  `select currency, sum(n)::int8 as n from recovery_sums
   where merchant_id = $1 and dimension = 'all' and since >= $2 group by 1
   union all
   select currency, 0 from (
     select currency from cases where merchant_id = $1 and outcome = 'open' group by 1) open
   order by n desc, currency`,
);

/** Currencies of open cases and of those that failed since then, the most frequent first. */
export async function listCaseCurrencies(tx: Tx, merchantId: string, since: Date): Promise<string[]> {
  const { rows } = await tx.run<{ currency: string }>(CURRENCIES, [merchantId, since]);
  return [...new Set(rows.map(({ currency }) => currency))];
}
