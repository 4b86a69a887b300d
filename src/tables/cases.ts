import type { Case, EndReason } from "../domain/case.ts";
import { type Column, columnValues, STORED, selectList } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { enqueueSql } from "./reevaluation-queue.ts";

const COLUMNS: readonly Column<Case>[] = [
  ["id", "uuid", "id"],
  ["invoice_id", "text", "invoiceId"],
  ["customer_id", "text", "customerId"],
  ["subscription_id", "text", "subscriptionId"],
  ["amount", "int8", "amount"],
  ["currency", "text", "currency"],
  ["unpaid_at", "timestamptz", "unpaidAt"],
  ["window_ends_at", "timestamptz", "windowEndsAt"],
  ["budget", "int4", "budget"],
  ["arm", "text", "arm"],
  ["opened_at", "timestamptz", "openedAt"],
  ["rule_id", "uuid", "ruleId"],
  ["rule_window_days", "int4", "ruleWindowDays"],
  ["rule_budget", "int4", "ruleBudget"],
];
export const SELECTED_CASE = `${selectList(COLUMNS)},
  ended_at as "endedAt", end_reason as "endReason", paid_at as "paidAt", postponed_until as "postponedUntil"`;

type RuleField = "ruleId" | "ruleWindowDays" | "ruleBudget";
/** Without a rule, its fields are absent. */
export type NewCase = Omit<Case, "endedAt" | "endReason" | "paidAt" | "postponedUntil" | RuleField> &
  Partial<Pick<Case, RuleField>>;

// `given_up` locks its rows to read what a concurrent step writes when it ends one.
const OPEN = prepared(
  "open_cases",
  `with given_up as materialized (
     select invoice_id, ended_at from cases
     where merchant_id = $1 and invoice_id = any($4::text[]) and (ended_at is null or not invoice_left)
       and (end_reason is null or end_reason not in ('subscription_canceled', 'subscription_expired') or not exists (
         select from subscriptions s
         where s.merchant_id = $1 and s.id = cases.subscription_id and s.state not in ('CANCELED', 'EXPIRED')))
     order by invoice_id, id for no key update
   ), opened as (
     insert into cases (
       merchant_id, id, invoice_id, customer_id, subscription_id, amount, currency, unpaid_at, window_ends_at, budget, arm, opened_at,
       rule_id, rule_window_days, rule_budget)
     select $1::uuid, unpaid.*
     from unnest(
       $3::uuid[], $4::text[], $5::text[], $6::text[], $7::int8[], $8::text[], $9::timestamptz[], $10::timestamptz[], $11::int4[],
       $12::text[], $13::timestamptz[], $14::uuid[], $15::int4[], $16::int4[]
     ) as unpaid (
       id, invoice_id, customer_id, subscription_id, amount, currency, unpaid_at, window_ends_at, budget, arm, opened_at, rule_id,
       rule_window_days, rule_budget)
     where unpaid.invoice_id not in (select invoice_id from given_up where ended_at is not null)
     on conflict (merchant_id, invoice_id) where ended_at is null do update set
       customer_id = excluded.customer_id,
       subscription_id = excluded.subscription_id,
       amount = excluded.amount,
       currency = excluded.currency
     returning id, opened_at, xmax = 0 as is_new
   ), scheduled as (
     insert into due_cases (merchant_id, case_id, due_at) select $1, id, opened_at from opened where is_new ${STORED}
   )
   ${enqueueSql("select id from opened where not is_new", "$2")}`,
);

/**
 * An existing open case takes the new customer, subscription and amount, and is queued. A given-up invoice gets no case before it
 * has left recovery and returned, or before the subscription that ended its case is active again.
 *
 * @param cases  sorted by invoice
 */
export async function openCases(tx: Tx, merchantId: string, cases: readonly NewCase[], entryId: string) {
  await tx.run(OPEN, [merchantId, entryId, ...columnValues(cases, COLUMNS as readonly Column<NewCase>[])]);
}

export interface CaseEnd {
  endReason: EndReason;
  /** Payment date; null if unpaid. */
  paidAt: Date | null;
  /** Final, in minor units; null if unknown. */
  amount: number | null;
  currency: string | null;
}

export interface EndedCase extends CaseEnd {
  id: string;
}

export type ReviewedCase = Pick<Case, "id" | "invoiceId" | "unpaidAt" | "endedAt" | "endReason">;

// Probes once per invoice, even without statistics.
const LOCK_BY_INVOICE = prepared(
  "lock_cases_of_invoices",
  `select id, invoice_id as "invoiceId", unpaid_at as "unpaidAt", ended_at as "endedAt", end_reason as "endReason"
   from cases
   where merchant_id = $1 and id in (
     select found.id
     from unnest($2::text[]) as invoice (id)
     cross join lateral (select id from cases where merchant_id = $1 and invoice_id = invoice.id offset 0) found)
   order by id for no key update`,
);

/** Oldest first. */
export async function lockCasesOfInvoices(tx: Tx, merchantId: string, invoiceIds: readonly string[]) {
  return (await tx.run<ReviewedCase>(LOCK_BY_INVOICE, [merchantId, encodeTextArray(invoiceIds, "text")])).rows;
}

const END_COLUMNS: readonly Column<EndedCase>[] = [
  ["id", "uuid", "id"],
  ["end_reason", "text", "endReason"],
  ["paid_at", "timestamptz", "paidAt"],
  ["amount", "int8", "amount"],
  ["currency", "text", "currency"],
];

// While statistics know few cases, the join alone would read all. The array comes from a select, or PostgreSQL would plan again
// for each length.
const END = prepared(
  "end_cases",
  `with ends as materialized (
     select * from unnest($4::uuid[], $5::text[], $6::timestamptz[], $7::int8[], $8::text[])
       as ends (id, end_reason, paid_at, amount, currency)
   ), ended as (
     update cases set
       ended_at = coalesce(cases.ended_at, greatest($2, cases.opened_at)),
       end_reason = coalesce(cases.end_reason, ends.end_reason),
       paid_at = case when cases.ended_at is null then ends.paid_at else cases.paid_at end,
       amount = case when cases.ended_at is null then coalesce(ends.amount, cases.amount) else cases.amount end,
       currency = case when cases.ended_at is null then coalesce(ends.currency, cases.currency) else cases.currency end,
       invoice_left = true
     from ends
     where cases.merchant_id = $1 and cases.id = any((select array_agg(id) from ends)::uuid[]) and cases.id = ends.id
     returning cases.id
   ), queued as (
     ${enqueueSql("select id from ended", "$3")}
   )
   select id from ended`,
);

/**
 * Queues all `cases`, so that their actions are settled.
 *
 * @param cases  sorted by id
 */
export async function endCases(tx: Tx, merchantId: string, cases: readonly EndedCase[], now: Date, entryId: string) {
  await tx.run(END, [merchantId, now, entryId, ...columnValues(cases, END_COLUMNS)]);
}

// Apart from the upsert of invoices, which does not see cases opened by a transaction that it waited for. Also, most invoices
// that leave recovery have no case; a plan that expects one for each reads all cases.
// `collate "C"`: a Turkish database would lowercase I to a dotless ı.
const END_LEFT_RECOVERY = prepared(
  "end_cases_of_left",
  `with ends as materialized (
     select
       found.id,
       lower(invoice.state collate "C") as end_reason,
       case when invoice.state = 'PAID' then invoice.updated_at end as paid_at,
       invoice.amount,
       invoice.currency
     from unnest($4::text[]) as settled (id)
     cross join lateral (select id from cases where merchant_id = $1 and invoice_id = settled.id offset 0) found
     cross join lateral (
       select state, amount, currency, updated_at from invoices where merchant_id = $1 and id = settled.id offset 0
     ) invoice
     order by found.id
   ), ended as (
     update cases set
       ended_at = coalesce(cases.ended_at, greatest($2, cases.opened_at)),
       end_reason = coalesce(cases.end_reason, ends.end_reason),
       paid_at = case when cases.ended_at is null then ends.paid_at else cases.paid_at end,
       amount = case when cases.ended_at is null then coalesce(ends.amount, cases.amount) else cases.amount end,
       currency = case when cases.ended_at is null then coalesce(ends.currency, cases.currency) else cases.currency end,
       invoice_left = true
     from ends
     where cases.merchant_id = $1 and cases.id = any((select array_agg(id) from ends)::uuid[]) and cases.id = ends.id
     returning cases.id
   ), queued as (
     ${enqueueSql("select id from ended", "$3")}
   ), conflicts_cleared as (
     delete from invoice_conflicts where merchant_id = $1 and invoice_id = any($4::text[])
   )
   select id from ended`,
);

/** For invoices that an upsert in this transaction took out of recovery. Clears their conflicts. Returns the cases' ids. */
export async function endCasesLeavingRecovery(
  tx: Tx,
  merchantId: string,
  now: Date,
  entryId: string,
  invoiceIds: readonly string[],
): Promise<string[]> {
  const { rows } = await tx.run<{ id: string }>(END_LEFT_RECOVERY, [merchantId, now, entryId, invoiceIds]);
  return rows.map(({ id }) => id);
}

const LOCK_BY_SUBSCRIPTION = prepared(
  "lock_cases_of_subscriptions",
  `select id from cases
   where merchant_id = $1 and ended_at is null and id in (
     select open.id
     from unnest($2::text[]) as subscription (id)
     cross join lateral (
       select id from cases where merchant_id = $1 and subscription_id = subscription.id and ended_at is null offset 0
     ) open)
   order by id for update`,
);

export async function lockCasesOfSubscriptions(tx: Tx, merchantId: string, ids: readonly string[]): Promise<string[]> {
  return (await tx.run<{ id: string }>(LOCK_BY_SUBSCRIPTION, [merchantId, ids])).rows.map(({ id }) => id);
}

const INVOICES_TO_REOPEN = prepared(
  "invoices_to_reopen",
  `select distinct ended.invoice_id as "invoiceId"
   from unnest($2::text[]) as subscription (id)
   cross join lateral (
     select invoice_id, ended_at from cases
     where merchant_id = $1 and subscription_id = subscription.id
       and end_reason in ('subscription_canceled', 'subscription_expired')
     offset 0
   ) ended
   cross join lateral (
     select updated_at from invoices
     where merchant_id = $1 and id = ended.invoice_id and state in ('UNPAID', 'PARTIALLY_PAID')
     offset 0
   ) invoice
   where invoice.updated_at > ended.ended_at`,
);

/** Invoices in recovery whose cases ended with these subscriptions, with a version newer than that end. Sorted. */
export async function findInvoicesToReopen(tx: Tx, merchantId: string, subscriptionIds: readonly string[]) {
  const { rows } = await tx.run<{ invoiceId: string }>(INVOICES_TO_REOPEN, [
    merchantId,
    encodeTextArray(subscriptionIds, "text"),
  ]);
  return rows.map(({ invoiceId }) => invoiceId).sort();
}

const LOCK = prepared(
  "lock_cases",
  `select ${SELECTED_CASE} from cases where merchant_id = $1 and id = any($2::uuid[]) for update skip locked`,
);

/** Skips cases that another transaction holds. */
export async function lockCases(tx: Tx, merchantId: string, ids: readonly string[]) {
  return (await tx.run<Case>(LOCK, [merchantId, encodeTextArray(ids, "uuid")])).rows;
}

const LOCK_OPEN = prepared(
  "lock_open_case",
  `select ${SELECTED_CASE} from cases where merchant_id = $1 and invoice_id = $2 and ended_at is null for update`,
);

/** Null if not open after waiting for the lock. */
export async function lockOpenCase(tx: Tx, merchantId: string, invoiceId: string) {
  return (await tx.run<Case>(LOCK_OPEN, [merchantId, invoiceId])).rows[0] ?? null;
}

// The condition of the index of open cases.
const COUNT_OPEN = prepared(
  "count_open_cases",
  "select count(*) as n from cases where merchant_id = $1 and coalesce(ended_at, 'infinity') = 'infinity'",
);

/** In any arm. */
export async function countOpenCases(tx: Tx, merchantId: string): Promise<number> {
  return (await tx.run<{ n: number }>(COUNT_OPEN, [merchantId])).rows[0]!.n;
}

const POSTPONE = prepared("postpone_case", "update cases set postponed_until = $3 where merchant_id = $1 and id = $2");

/** For a locked case. @param until  null: no longer */
export async function setPostponedUntil(tx: Tx, merchantId: string, caseId: string, until: Date | null) {
  await tx.run(POSTPONE, [merchantId, caseId, until]);
}

export type CaseRule = Pick<Case, "id" | "windowEndsAt" | "budget" | RuleField>;

const RULE_COLUMNS: readonly Column<CaseRule>[] = [
  ["id", "uuid", "id"],
  ["window_ends_at", "timestamptz", "windowEndsAt"],
  ["budget", "int4", "budget"],
  ["rule_id", "uuid", "ruleId"],
  ["rule_window_days", "int4", "ruleWindowDays"],
  ["rule_budget", "int4", "ruleBudget"],
];

const SAVE_RULES = prepared(
  "save_case_rules",
  `update cases set
     window_ends_at = saved.window_ends_at,
     budget = saved.budget,
     rule_id = saved.rule_id,
     rule_window_days = saved.rule_window_days,
     rule_budget = saved.rule_budget
   from unnest($2::uuid[], $3::timestamptz[], $4::int4[], $5::uuid[], $6::int4[], $7::int4[])
     as saved (id, window_ends_at, budget, rule_id, rule_window_days, rule_budget)
   where cases.merchant_id = $1 and cases.id = saved.id`,
);

/** For locked, open cases that another recovery rule decides, or the same one with another window or budget. */
export async function saveCaseRules(tx: Tx, merchantId: string, rules: readonly CaseRule[]) {
  await tx.run(SAVE_RULES, [merchantId, ...columnValues(rules, RULE_COLUMNS)]);
}

const FIND = prepared(
  "find_cases",
  `select ${SELECTED_CASE} from cases where merchant_id = $1 and id = any($2::uuid[])`,
);

export async function findCases(tx: Tx, merchantId: string, ids: readonly string[]) {
  return (await tx.run<Case>(FIND, [merchantId, ids])).rows;
}

const OF_INVOICE = prepared(
  "cases_of_invoice",
  `select ${SELECTED_CASE} from cases where merchant_id = $1 and invoice_id = $2 order by opened_at, id`,
);

/** Oldest first. */
export async function casesOfInvoice(tx: Tx, merchantId: string, invoiceId: string) {
  return (await tx.run<Case>(OF_INVOICE, [merchantId, invoiceId])).rows;
}

const IN_SHADOW = prepared(
  "cases_in_shadow",
  `select ${SELECTED_CASE},
     (select i.state = 'PAID' from invoices i where i.merchant_id = $1 and i.id = cases.invoice_id) as "isPaid"
   from cases where merchant_id = $1 and arm = 'shadow' and (unpaid_at, id) > ($2, $3::uuid)
   order by unpaid_at, id limit $4`,
);

/** `isPaid`: now, possibly after the case ended. */
export type ShadowCase = Case & { isPaid: boolean };

/** Ordered by when they became unpaid. */
export async function casesInShadow(tx: Tx, merchantId: string, after: Pick<Case, "unpaidAt" | "id">, limit: number) {
  return (await tx.run<ShadowCase>(IN_SHADOW, [merchantId, after.unpaidAt, after.id, limit])).rows;
}

export interface CaseState extends Pick<Case, "id" | "endedAt" | "endReason" | "paidAt"> {
  /** A Dunlin instruction succeeded, even after the end, and everything is paid. */
  recovered: boolean;
}

const STATE_COLUMNS: readonly Column<CaseState>[] = [
  ["id", "uuid", "id"],
  ["ended_at", "timestamptz", "endedAt"],
  ["end_reason", "text", "endReason"],
  ["paid_at", "timestamptz", "paidAt"],
  ["recovered", "bool", "recovered"],
];

const SAVE = prepared(
  "save_case_states",
  `update cases set
     ended_at = saved.ended_at,
     end_reason = saved.end_reason,
     paid_at = saved.paid_at,
     recovered = saved.recovered,
     invoice_left = invoice_left or saved.end_reason in ('paid', 'settled')
   from unnest($2::uuid[], $3::timestamptz[], $4::text[], $5::timestamptz[], $6::bool[])
     as saved (id, ended_at, end_reason, paid_at, recovered)
   where cases.merchant_id = $1 and cases.id = saved.id`,
);

/** For locked, ended cases. Paid or settled invoices count as out of recovery. */
export async function saveCaseStates(tx: Tx, merchantId: string, states: readonly CaseState[]) {
  await tx.run(SAVE, [merchantId, ...columnValues(states, STATE_COLUMNS)]);
}
