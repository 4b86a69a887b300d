import type { Case, EndReason } from "../domain/case.ts";
import { arrays, type Column, columnValues, selectList } from "./batch.ts";
import { prepared, type Tx } from "./database.ts";

const COLUMNS: readonly Column<Case>[] = [
  ["id", "uuid", "id"],
  ["invoice_id", "text", "invoiceId"],
  ["customer_id", "text", "customerId"],
  ["subscription_id", "text", "subscriptionId"],
  ["unpaid_at", "timestamptz", "unpaidAt"],
  ["window_ends_at", "timestamptz", "windowEndsAt"],
  ["budget", "int4", "budget"],
  ["opened_at", "timestamptz", "openedAt"],
];
const SELECTED = `${selectList(COLUMNS)},
  ended_at as "endedAt", end_reason as "endReason", paid_at as "paidAt"`;

/** A case that is about to be opened. */
export type NewCase = Omit<Case, "endedAt" | "endReason" | "paidAt">;

// Look-ups by invoice, customer and subscription go through a lateral subquery that cannot be flattened: so each is one probe
// of an index. Left to choose, a plan made while the table was small compares every case with every record of a batch.
const of = (column: string, each: string, condition = "true") =>
  `cross join lateral (select id from cases where merchant_id = $1 and ${column} = ${each} and ${condition} offset 0) k`;

const OPEN = prepared(
  "open_cases",
  `insert into cases (merchant_id, ${COLUMNS.map(([name]) => name).join(", ")}, due_at)
   select $1::uuid, c.*, $2::timestamptz
   from unnest(${arrays(COLUMNS as readonly Column<NewCase>[], 3)}) as c (${COLUMNS.map(([name]) => name).join(", ")})
   where not exists (
     select 1 from cases k
     where k.merchant_id = $1 and k.invoice_id = c.invoice_id and k.ended_at is not null and not k.invoice_left offset 0)
   on conflict (merchant_id, invoice_id) where ended_at is null do update
     set due_at = least(cases.due_at, excluded.due_at), customer_id = excluded.customer_id,
       subscription_id = excluded.subscription_id`,
);

/**
 * Open a case for each; an invoice whose case is open already only gets a look, and one whose case was given up stays so
 * until it has left recovery and come back. `cases`: sorted by invoice.
 */
export async function openCases(tx: Tx, merchantId: string, cases: readonly NewCase[], now: Date) {
  await tx.run(OPEN, [merchantId, now, ...columnValues(cases, COLUMNS as readonly Column<NewCase>[])]);
}

/** Why and since when the case of an invoice is over. */
export interface CaseEnd {
  invoiceId: string;
  endReason: EndReason;
  /** The moment the payment is dated; only of a paid one. */
  paidAt: Date | null;
  /** When the record was written that says so. A bank debit may have begun long before it is paid. */
  saidAt: Date;
}

const END_COLUMNS: readonly Column<CaseEnd>[] = [
  ["invoice_id", "text", "invoiceId"],
  ["end_reason", "text", "endReason"],
  ["paid_at", "timestamptz", "paidAt"],
  ["said_at", "timestamptz", "saidAt"],
];

const END = prepared(
  "end_cases",
  `update cases set
     ended_at = coalesce(cases.ended_at, $2),
     end_reason = coalesce(cases.end_reason, n.end_reason),
     paid_at = case when cases.ended_at is null then n.paid_at else cases.paid_at end,
     invoice_left = true,
     due_at = least(coalesce(cases.due_at, $2), $2)
   from (
     select k.id, e.end_reason, e.paid_at from unnest(${arrays(END_COLUMNS, 3)}) as e (invoice_id, end_reason, paid_at, said_at)
     ${of("invoice_id", "e.invoice_id", "e.said_at >= unpaid_at")}
   ) n
   where cases.merchant_id = $1 and cases.id = n.id
   returning cases.id`,
);

/**
 * These invoices are out of recovery: end their open cases, and let the deciding loop settle what all of them left. What was
 * said before a case began says nothing about it.
 *
 * @returns the ids of all cases of these invoices that it concerns, ended before or now
 */
export async function endCases(tx: Tx, merchantId: string, ends: readonly CaseEnd[], now: Date) {
  return (await tx.run<{ id: string }>(END, [merchantId, now, ...columnValues(ends, END_COLUMNS)])).rows.map(
    (row) => row.id,
  );
}

// Every poke touches the row even when it is due already: so it waits for a step that is under way on older facts, and that step
// does not overwrite it.
const pokeBy = (column: "invoice_id" | "customer_id" | "subscription_id", condition: string) =>
  prepared(
    `poke_cases_by_${column}`,
    `update cases set due_at = least(coalesce(cases.due_at, $3), $3)
     from (select k.id from unnest($2::text[]) as e (each) ${of(column, "e.each", condition)}) n
     where cases.merchant_id = $1 and cases.id = n.id`,
  );

const POKE_BY_INVOICE = pokeBy("invoice_id", "true");

/** New facts about these invoices: their cases, ended ones too, want a look now; returns how many there are. */
export async function pokeCasesOfInvoices(tx: Tx, merchantId: string, invoiceIds: readonly string[], now: Date) {
  return (await tx.run(POKE_BY_INVOICE, [merchantId, invoiceIds, now])).rowCount;
}

// Most attempts say nothing new about the customer's other invoices; only who waits for a new card wants to know at once.
const POKE_BY_CUSTOMER = pokeBy(
  "customer_id",
  `ended_at is null and exists (
     select 1 from recovery_actions r
     where r.merchant_id = $1 and r.case_id = cases.id and r.type = 'CARD_CHANGE' and r.status in ('SCHEDULED', 'SENT'))`,
);

/** New facts about these customers' cards: their open cases that wait for a card change want a look now. */
export async function pokeCasesOfCustomers(tx: Tx, merchantId: string, customerIds: readonly string[], now: Date) {
  await tx.run(POKE_BY_CUSTOMER, [merchantId, customerIds, now]);
}

const POKE_BY_SUBSCRIPTION = pokeBy("subscription_id", "ended_at is null");

/** These subscriptions changed: the open cases of their invoices want a look now. */
export async function pokeCasesOfSubscriptions(tx: Tx, merchantId: string, ids: readonly string[], now: Date) {
  await tx.run(POKE_BY_SUBSCRIPTION, [merchantId, ids, now]);
}

const POKE_BY_EVENT = prepared(
  "poke_cases_by_event",
  `update cases set due_at = least(coalesce(due_at, $3), $3)
   where merchant_id = $1 and id in (select case_id from events where merchant_id = $1 and id = any($2::uuid[]))`,
);

/** These events are on their way again: their cases wait for them. */
export async function pokeCasesOfEvents(tx: Tx, merchantId: string, eventIds: readonly string[], now: Date) {
  await tx.run(POKE_BY_EVENT, [merchantId, eventIds, now]);
}

const POKE_OPEN = prepared(
  "poke_open_cases",
  "update cases set due_at = least(due_at, $2) where merchant_id = $1 and ended_at is null",
);

/** The merchant's settings changed: every open case wants a look. */
export async function pokeOpenCases(tx: Tx, merchantId: string, now: Date) {
  await tx.run(POKE_OPEN, [merchantId, now]);
}

const FIRST_DUE = prepared(
  "first_due_cases",
  `select * from (
     select m.id as "merchantId", (select min(c.due_at) from cases c where c.merchant_id = m.id) as "dueAt" from merchants m
   ) d where "dueAt" is not null order by "dueAt"`,
);

/** When the first case of each merchant falls due, earliest first: one index probe per merchant, however long the queues are. */
export async function firstDueCases(tx: Tx) {
  return (await tx.run<{ merchantId: string; dueAt: Date }>(FIRST_DUE)).rows;
}

const TAKE_DUE = prepared(
  "take_due_cases",
  `select ${SELECTED}, failures from cases
   where merchant_id = $1 and due_at <= $2
   order by due_at, id limit $3 for update skip locked`,
);

/** Lock up to `limit` due cases of one merchant, longest due first; what others hold is left to them. */
export async function takeDueCases(tx: Tx, merchantId: string, now: Date, limit: number) {
  return (await tx.run<Case & { failures: number }>(TAKE_DUE, [merchantId, now, limit])).rows;
}

/** What a step leaves in the row. */
export interface CaseState extends Pick<Case, "id" | "endedAt" | "endReason" | "paidAt"> {
  dueAt: Date | null;
}

const STATE_COLUMNS: readonly Column<CaseState>[] = [
  ["id", "uuid", "id"],
  ["ended_at", "timestamptz", "endedAt"],
  ["end_reason", "text", "endReason"],
  ["paid_at", "timestamptz", "paidAt"],
  ["due_at", "timestamptz", "dueAt"],
];

const SAVE = prepared(
  "save_case_states",
  `update cases set ended_at = s.ended_at, end_reason = s.end_reason, paid_at = s.paid_at, due_at = s.due_at, failures = 0
   from unnest(${arrays(STATE_COLUMNS, 2)}) as s (id, ended_at, end_reason, paid_at, due_at)
   where cases.merchant_id = $1 and cases.id = s.id`,
);

/** Write the state of cases that are locked by `takeDueCases`. */
export async function saveCaseStates(tx: Tx, merchantId: string, states: readonly CaseState[]) {
  await tx.run(SAVE, [merchantId, ...columnValues(states, STATE_COLUMNS)]);
}

const SET_ASIDE = prepared(
  "set_case_aside",
  "update cases set due_at = $3, failures = failures + 1 where merchant_id = $1 and id = $2",
);

/** A step on this case failed: look again at `dueAt`. */
export async function setCaseAside(tx: Tx, merchantId: string, caseId: string, dueAt: Date) {
  await tx.run(SET_ASIDE, [merchantId, caseId, dueAt]);
}
