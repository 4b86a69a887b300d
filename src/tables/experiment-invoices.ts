import type { Arm, ArmHalf, Phase } from "../domain/experiment.ts";
import { arrayParameters, type Column, columnValues } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** As of the time it failed. */
export interface EnrolledInvoice {
  invoiceId: string;
  customerId: string;
  /** In calibration, the case is the merchant's in either arm. */
  arm: Arm;
  phase: Phase;
  half: ArmHalf;
  amount: number;
  currency: string;
  failedAt: Date;
  countsAt: Date;
}

const ARMS = prepared(
  "arms_of_customers",
  `select distinct on (customer_id) customer_id as "customerId", arm, half from experiment_invoices
   where merchant_id = $1 and experiment_id = $2 and customer_id = any($3::text[]) order by customer_id, failed_at`,
);

/** Omits customers new to the experiment. */
export async function armsOfCustomers(
  tx: Tx,
  merchantId: string,
  experimentId: string,
  customerIds: readonly string[],
) {
  type Row = { customerId: string; arm: Arm; half: ArmHalf };
  return (await tx.run<Row>(ARMS, [merchantId, experimentId, customerIds])).rows;
}

type EnrollmentRow = EnrolledInvoice & { caseId: string };
const COLUMNS: readonly Column<EnrollmentRow>[] = [
  ["case_id", "uuid", "caseId"],
  ["invoice_id", "text", "invoiceId"],
  ["customer_id", "text", "customerId"],
  ["arm", "text", "arm"],
  ["phase", "text", "phase"],
  ["half", "int2", "half"],
  ["amount", "int8", "amount"],
  ["currency", "text", "currency"],
  ["failed_at", "timestamptz", "failedAt"],
  ["counts_at", "timestamptz", "countsAt"],
];
const NAMES = COLUMNS.map(([name]) => name);
const STORED = NAMES.filter((name) => name !== "case_id").join(", ");

const ENROLL = prepared(
  "enter_invoices",
  `insert into experiment_invoices (merchant_id, experiment_id, ${STORED})
   select $1::uuid, $2::uuid, ${STORED} from unnest(${arrayParameters(COLUMNS, 3)}) as e (${NAMES.join(", ")})
   where exists (select from cases where merchant_id = $1 and id = e.case_id offset 0)
   on conflict (merchant_id, experiment_id, invoice_id) do nothing`,
);

/** Each invoice once. */
export async function enrollInvoices(
  tx: Tx,
  merchantId: string,
  experimentId: string,
  entries: readonly EnrollmentRow[],
) {
  await tx.run(ENROLL, [merchantId, experimentId, ...columnValues(entries, COLUMNS)]);
}

export type MatureInvoice = Pick<
  EnrolledInvoice,
  "invoiceId" | "customerId" | "phase" | "arm" | "half" | "amount" | "currency"
> & { recovered: boolean };

// Paid by the billing system's version, or by an attempt if a newer version is missing. After any other end, only the billing
// system knows.
const MATURE = prepared(
  "ripe_invoices",
  `select e.invoice_id as "invoiceId", e.customer_id as "customerId", e.phase, e.arm, e.half, e.amount, e.currency,
     i.state = 'PAID' or (i.state in ('UNPAID', 'PARTIALLY_PAID') and coalesce(
       (select k.end_reason = 'paid' from cases k
        where k.merchant_id = $1 and k.invoice_id = e.invoice_id order by k.opened_at desc limit 1), false)) as recovered
   from (select * from experiment_invoices
         where merchant_id = $1 and experiment_id = $2 and recovered is null and counts_at <= $3
         order by counts_at limit $4) e
   cross join lateral (select state from invoices where merchant_id = $1 and id = e.invoice_id offset 0) i`,
);

export async function matureInvoices(tx: Tx, merchantId: string, experimentId: string, now: Date, limit: number) {
  return (await tx.run<MatureInvoice>(MATURE, [merchantId, experimentId, now, limit])).rows;
}

/** Minor units, counted invoices only. */
export interface CustomerSums {
  customerId: string;
  phase: Phase;
  currency: string;
  invoices: number;
  recovered: number;
  amount: number;
  recoveredAmount: number;
}

const SUMS = prepared(
  "customer_sums",
  `select customer_id as "customerId", phase, currency, count(*) as invoices, count(*) filter (where recovered) as recovered,
     sum(amount)::float8 as amount, coalesce(sum(amount) filter (where recovered), 0)::float8 as "recoveredAmount"
   from experiment_invoices
   where merchant_id = $1 and experiment_id = $2 and customer_id = any($3::text[]) and recovered is not null
   group by customer_id, phase, currency`,
);

export async function customerSums(tx: Tx, merchantId: string, experimentId: string, customerIds: readonly string[]) {
  return (await tx.run<CustomerSums>(SUMS, [merchantId, experimentId, customerIds])).rows;
}

const MARK_COUNTED = prepared(
  "count_invoices",
  `update experiment_invoices e set recovered = c.recovered
   from unnest($3::text[], $4::bool[]) as c (invoice_id, recovered)
   where e.merchant_id = $1 and e.experiment_id = $2 and e.invoice_id = c.invoice_id`,
);

export async function markCounted(tx: Tx, merchantId: string, experimentId: string, mature: readonly MatureInvoice[]) {
  const [ids, recovered] = [mature.map(({ invoiceId }) => invoiceId), mature.map((each) => each.recovered)];
  await tx.run(MARK_COUNTED, [merchantId, experimentId, ids, recovered]);
}

const WAITING = prepared(
  "waiting_invoices",
  `select count(*) filter (where phase = 'comparison') as compared, count(*) as waiting from experiment_invoices
   where merchant_id = $1 and experiment_id = $2 and recovered is null`,
);

/** `compared`: in the comparison phase. */
export async function countImmatureInvoices(tx: Tx, merchantId: string, experimentId: string) {
  return (await tx.run<{ compared: number; waiting: number }>(WAITING, [merchantId, experimentId])).rows[0]!;
}

const IMMATURE_BY_ARM = prepared(
  "young_invoices",
  `select phase, arm, count(*) as n from experiment_invoices
   where merchant_id = $1 and experiment_id = $2 and recovered is null group by 1, 2`,
);

export async function countImmatureByArm(tx: Tx, merchantId: string, experimentId: string) {
  return (await tx.run<{ phase: Phase; arm: Arm; n: number }>(IMMATURE_BY_ARM, [merchantId, experimentId])).rows;
}

/** `counted` is less than `failed` while invoices are too young. */
export interface FailedWeek {
  /** The Monday, such as 2026-03-09. */
  week: string;
  arm: Arm;
  failed: number;
  counted: number;
  recovered: number;
}

const WEEKS = prepared(
  "experiment_weeks",
  `select to_char(date_trunc('week', failed_at at time zone $3), 'YYYY-MM-DD') as week, arm, count(*) as failed,
     count(recovered) as counted, count(*) filter (where recovered) as recovered
   from experiment_invoices
   where merchant_id = $1 and experiment_id = $2 and phase = 'comparison' and failed_at >= $4
   group by 1, 2 order by 1 desc, 2`,
);

/** By week of failure in `zone`, latest first. */
export async function failedWeeks(tx: Tx, merchantId: string, experimentId: string, zone: string, from: Date) {
  return (await tx.run<FailedWeek>(WEEKS, [merchantId, experimentId, zone, from])).rows;
}

const LARGEST = prepared(
  "largest_invoices",
  `select count(*) as invoices, sum(amount)::text as amount, count(*) filter (where place <= ceil(invoices / 10.0)) as largest,
     sum(amount) filter (where place <= ceil(invoices / 10.0))::text as "largestAmount"
   from (select amount, row_number() over (order by amount desc) as place, count(*) over () as invoices
         from experiment_invoices
         where merchant_id = $1 and experiment_id = $2 and phase = 'comparison' and currency = $3 and recovered is not null) counted
   having count(*) > 0`,
);

/** Minor units, as text because sums may exceed a number. */
export interface LargestInvoices {
  /** Counted invoices in the currency. */
  invoices: number;
  amount: string;
  /** The largest tenth, rounded up. */
  largest: number;
  largestAmount: string;
}

/** Null without counted invoices. */
export async function sumLargestInvoices(tx: Tx, merchantId: string, experimentId: string, currency: string) {
  return (await tx.run<LargestInvoices>(LARGEST, [merchantId, experimentId, currency])).rows[0] ?? null;
}
