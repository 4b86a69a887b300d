import type { Case, EndReason } from "../domain/case.ts";
import { arrayParameters, type Column, columnValues, selectList } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { enqueueSql, lateralCasesBy } from "./reevaluation-queue.ts";

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
];
const SELECTED = `${selectList(COLUMNS)},
  ended_at as "endedAt", end_reason as "endReason", paid_at as "paidAt"`;

/** A case that is about to be opened. */
export type NewCase = Omit<Case, "endedAt" | "endReason" | "paidAt">;

// Locked, since a step may be ending one: what waits for it reads what it left, where the statement itself would not.
const OPEN = prepared(
  "open_cases",
  `with known as materialized (
     select invoice_id, ended_at from cases
     where merchant_id = $1 and invoice_id = any($4::text[]) and (ended_at is null or not invoice_left)
       and (end_reason is null or end_reason not in ('subscription_canceled', 'subscription_expired') or not exists (
         select from subscriptions s
         where s.merchant_id = $1 and s.id = cases.subscription_id and s.state not in ('CANCELED', 'EXPIRED')))
     order by invoice_id, id for no key update
   ), opened as (
     insert into cases (merchant_id, ${COLUMNS.map(([name]) => name).join(", ")})
     select $1::uuid, c.*
     from unnest(${arrayParameters(COLUMNS as readonly Column<NewCase>[], 3)}) as c (${COLUMNS.map(([name]) => name).join(", ")})
     where c.invoice_id not in (select invoice_id from known where ended_at is not null)
     on conflict (merchant_id, invoice_id) where ended_at is null do update
       set customer_id = excluded.customer_id, subscription_id = excluded.subscription_id, amount = excluded.amount,
         currency = excluded.currency
     returning id, opened_at, xmax = 0 as fresh
   ), due as (
     insert into due_cases (merchant_id, case_id, due_at) select $1, id, opened_at from opened where fresh
   )
   ${enqueueSql("select id from opened where not fresh", "$2")}`,
);

/**
 * Opens a case for each. If an invoice has an open case, that one takes the newer customer, subscription and amount, and is queued. An invoice that was
 * given up gets no case before it has left recovery and come back, or before the subscription by which it ended is active again: one that is no longer known
 * is not. `cases`: sorted by invoice.
 */
export async function openCases(tx: Tx, merchantId: string, cases: readonly NewCase[], pokeId: string) {
  await tx.run(OPEN, [merchantId, pokeId, ...columnValues(cases, COLUMNS as readonly Column<NewCase>[])]);
}

/** Why and since when a case is over. */
export interface CaseEnd {
  endReason: EndReason;
  /** The moment the payment is dated; only of a paid one. */
  paidAt: Date | null;
  /** What the invoice asked for in the end, in minor units; null when the record does not say. */
  amount: number | null;
  currency: string | null;
}

/** A case, and its end. */
export interface EndedCase extends CaseEnd {
  id: string;
}

/** What is known of a case when its invoice is reviewed. */
export type ReviewedCase = Pick<Case, "id" | "invoiceId" | "unpaidAt" | "endedAt" | "endReason">;

const LOCK_BY_INVOICE = prepared(
  "lock_cases_of_invoices",
  `select id, invoice_id as "invoiceId", unpaid_at as "unpaidAt", ended_at as "endedAt", end_reason as "endReason" from cases
   where merchant_id = $1 and id in (select k.id from unnest($2::text[]) as e (each) ${lateralCasesBy("invoice_id", "e.each")})
   order by id for no key update`,
);

/** Locks the cases of these invoices, in the order in which they were opened. */
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
const END_NAMES = END_COLUMNS.map(([name]) => name).join(", ");

// Cases are found by the array of their ids, too: joined alone, all of them would be read while statistics say that there are few. The ids come
// from a select, which hides how many there are: known to be few, they would have the statement planned anew each time, longer than it runs.
const endSql = (said: string, also = "") =>
  `with said (${END_NAMES}) as materialized (${said}), ended as (
     update cases set
       ended_at = coalesce(cases.ended_at, greatest($2, cases.opened_at)),
       end_reason = coalesce(cases.end_reason, said.end_reason),
       paid_at = case when cases.ended_at is null then said.paid_at else cases.paid_at end,
       amount = case when cases.ended_at is null then coalesce(said.amount, cases.amount) else cases.amount end,
       currency = case when cases.ended_at is null then coalesce(said.currency, cases.currency) else cases.currency end,
       invoice_left = true
     from said
     where cases.merchant_id = $1 and cases.id = any((select array_agg(id) from said)::uuid[]) and cases.id = said.id
     returning cases.id
   ), poked as (
     ${enqueueSql("select id from ended", "$3")}
   )${also}
   select id from ended`;

const END = prepared("end_cases", endSql(`select * from unnest(${arrayParameters(END_COLUMNS, 4)})`));

/**
 * The invoices of these cases are out of recovery: end those that are open, and let the deciding loop settle what all of them left.
 *
 * @param cases  sorted by id
 */
export async function endCases(tx: Tx, merchantId: string, cases: readonly EndedCase[], now: Date, pokeId: string) {
  await tx.run(END, [merchantId, now, pokeId, ...columnValues(cases, END_COLUMNS)]);
}

/** An invoice that left recovery contradicts nothing any more. */
const CONFLICTS_CLEARED = `, cleared as (
     delete from invoice_conflicts where merchant_id = $1
       and invoice_id = any($4::text[]))`;

// A statement of its own: an upsert that waited for another transaction goes on with its rows, but does not see the cases that it opened. By itself too
// because most invoices that leave recovery were never in it, and a plan that expects a case of each reads all cases. A state out of recovery
// is the end that it means, in capitals; a Turkish database would make an i without a dot of them.
const END_LEFT_RECOVERY = prepared(
  "end_cases_of_left",
  endSql(
    `select k.id, lower(i.state collate "C"), case when i.state = 'PAID' then i.updated_at end, i.amount, i.currency
     from unnest($4::text[]) as e (id)
     cross join lateral (select id from cases where merchant_id = $1 and invoice_id = e.id offset 0) k
     cross join lateral (
       select state, amount, currency, updated_at from invoices where merchant_id = $1 and id = e.id offset 0
     ) i
     order by k.id`,
    CONFLICTS_CLEARED,
  ),
);

/**
 * Ends every case of these invoices, which an upsert of this transaction took out of recovery. Returns the ids of the cases.
 */
export async function endCasesLeavingRecovery(
  tx: Tx,
  merchantId: string,
  now: Date,
  pokeId: string,
  invoiceIds: readonly string[],
): Promise<string[]> {
  const { rows } = await tx.run<{ id: string }>(END_LEFT_RECOVERY, [merchantId, now, pokeId, invoiceIds]);
  return rows.map(({ id }) => id);
}

const LOCK_BY_SUBSCRIPTION = prepared(
  "lock_cases_of_subscriptions",
  `select id from cases
   where merchant_id = $1 and id in (
       select k.id from unnest($2::text[]) as e (each) ${lateralCasesBy("subscription_id", "e.each", "ended_at is null")})
     and ended_at is null
   order by id for update`,
);

/** Wait for whoever works on open cases of these subscriptions, and keep all others from them; returns their ids. */
export async function lockCasesOfSubscriptions(tx: Tx, merchantId: string, ids: readonly string[]): Promise<string[]> {
  return (await tx.run<{ id: string }>(LOCK_BY_SUBSCRIPTION, [merchantId, ids])).rows.map(({ id }) => id);
}

const INVOICES_TO_REOPEN = prepared(
  "invoices_to_reopen",
  `select distinct k.invoice_id as "invoiceId"
   from unnest($2::text[]) as e (each)
   cross join lateral (
     select invoice_id, ended_at from cases
     where merchant_id = $1 and subscription_id = e.each and end_reason in ('subscription_canceled', 'subscription_expired') offset 0) k
   cross join lateral (
     select updated_at from invoices where merchant_id = $1 and id = k.invoice_id and state in ('UNPAID', 'PARTIALLY_PAID') offset 0) i
   where i.updated_at > k.ended_at`,
);

/** Invoices in recovery whose cases ended with these subscriptions, and that are unpaid by a version from after that end; sorted. */
export async function findInvoicesToReopen(tx: Tx, merchantId: string, subscriptionIds: readonly string[]) {
  const { rows } = await tx.run<{ invoiceId: string }>(INVOICES_TO_REOPEN, [
    merchantId,
    encodeTextArray(subscriptionIds, "text"),
  ]);
  return rows.map(({ invoiceId }) => invoiceId).sort();
}

const LOCK = prepared(
  "lock_cases",
  `select ${SELECTED} from cases where merchant_id = $1 and id = any($2::uuid[]) for update skip locked`,
);

/** Lock these cases, and leave to others what they hold right now. */
export async function lockCases(tx: Tx, merchantId: string, ids: readonly string[]) {
  return (await tx.run<Case>(LOCK, [merchantId, encodeTextArray(ids, "uuid")])).rows;
}

const LOCK_OPEN = prepared(
  "lock_open_case",
  `select ${SELECTED} from cases where merchant_id = $1 and invoice_id = $2 and ended_at is null for update`,
);

/** Wait for whoever works on the open case of this invoice, and keep all others from it; null when none is open by then. */
export async function lockOpenCase(tx: Tx, merchantId: string, invoiceId: string) {
  return (await tx.run<Case>(LOCK_OPEN, [merchantId, invoiceId])).rows[0] ?? null;
}

const FIND = prepared("find_cases", `select ${SELECTED} from cases where merchant_id = $1 and id = any($2::uuid[])`);

/** These cases as they are now. */
export async function findCases(tx: Tx, merchantId: string, ids: readonly string[]) {
  return (await tx.run<Case>(FIND, [merchantId, ids])).rows;
}

const OF_INVOICE = prepared(
  "cases_of_invoice",
  `select ${SELECTED} from cases where merchant_id = $1 and invoice_id = $2 order by opened_at, id`,
);

/** Every case that an invoice had, oldest first. */
export async function casesOfInvoice(tx: Tx, merchantId: string, invoiceId: string) {
  return (await tx.run<Case>(OF_INVOICE, [merchantId, invoiceId])).rows;
}

const IN_SHADOW = prepared(
  "cases_in_shadow",
  `select ${SELECTED},
     (select i.state = 'PAID' from invoices i where i.merchant_id = $1 and i.id = cases.invoice_id) as "isPaid"
   from cases where merchant_id = $1 and arm = 'shadow' and (unpaid_at, id) > ($2, $3::uuid)
   order by unpaid_at, id limit $4`,
);

/** A case of shadow mode. `isPaid`: its invoice is by now, also where it was paid after the case had ended. */
export type ShadowCase = Case & { isPaid: boolean };

/** Cases of shadow mode in the order in which they began, from the one after `after` on. */
export async function casesInShadow(tx: Tx, merchantId: string, after: Pick<Case, "unpaidAt" | "id">, limit: number) {
  return (await tx.run<ShadowCase>(IN_SHADOW, [merchantId, after.unpaidAt, after.id, limit])).rows;
}

/** What a step leaves of a case. */
export interface CaseState extends Pick<Case, "id" | "endedAt" | "endReason" | "paidAt"> {
  /** An instruction of Dunlin succeeded, before the case ended or after it, and all is paid. */
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
  `update cases set ended_at = s.ended_at, end_reason = s.end_reason, paid_at = s.paid_at, recovered = s.recovered,
     invoice_left = invoice_left or s.end_reason in ('paid', 'settled')
   from unnest(${arrayParameters(STATE_COLUMNS, 2)}) as s (${STATE_COLUMNS.map(([name]) => name).join(", ")})
   where cases.merchant_id = $1 and cases.id = s.id`,
);

/** Write the state of cases that are locked and have ended. Of one that was paid or settled the invoice has left recovery, though no version may say so. */
export async function saveCaseStates(tx: Tx, merchantId: string, states: readonly CaseState[]) {
  await tx.run(SAVE, [merchantId, ...columnValues(states, STATE_COLUMNS)]);
}
