import type { EndReason } from "../domain/case.ts";
import type { InvoiceState } from "../domain/invoice.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { unansweredCardChangesSql } from "./attention.ts";
import { type Found, ownedByRangeSql } from "./id-prefix.ts";

/**
 * A case's outcome:
 * - `recovered`: paid after a successful instruction, even after the case ended.
 * - `paid`: paid without one.
 * - `lost`: ended unpaid.
 * - `stopped`: ended because nothing was left to pay.
 * - `watched`: in an experiment's holdout, or observed in shadow mode.
 */
export const OUTCOMES = ["open", "recovered", "paid", "lost", "stopped", "watched"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface InvoiceFilter {
  outcome?: Outcome | undefined;
  customerId?: string | undefined;
  subscriptionId?: string | undefined;
  invoiceId?: string | undefined;
  currency?: string | undefined;
  /** Group of the first decline; "" if none is known. */
  declineGroup?: string | undefined;
  /** End of the case; `endedTo` exclusive. */
  endedFrom?: Date | undefined;
  endedTo?: Date | undefined;
  /** The recovery rule that leaves the invoice out. */
  leftOutBy?: string | undefined;
  /** Cases that a search found. */
  found?: Found | undefined;
  /** Open cases that need a person. `before`: whose window ends, or whose card change was requested, before then. */
  attention?: { kind: AttentionFilter; before: Date } | undefined;
}

export const ATTENTION_FILTERS = ["ending", "card_change", "large"] as const;
export type AttentionFilter = (typeof ATTENTION_FILTERS)[number];

const ATTENTION_SQL: Readonly<Record<AttentionFilter, (before: string) => string>> = {
  ending: (before) => `c.window_ends_at < ${before}`,
  card_change: (before) => `c.id in (
     select case_id from (${unansweredCardChangesSql(before)}) r)`,
  large: (before) => `${before}::timestamptz is not null and exists (
     select from large_amounts l where l.merchant_id = $1 and l.currency = c.currency and c.amount >= l.amount)`,
};

const EQUAL_COLUMNS = {
  outcome: "outcome",
  customerId: "customer_id",
  subscriptionId: "subscription_id",
  invoiceId: "invoice_id",
  currency: "currency",
} as const;

/** SQL for cases `c`, with its values. `$1` is the merchant. */
function conditions(merchantId: string, filter: InvoiceFilter) {
  const values: unknown[] = [merchantId];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const where = ["c.merchant_id = $1"];
  for (const [name, column] of Object.entries(EQUAL_COLUMNS)) {
    const value = filter[name as keyof typeof EQUAL_COLUMNS];
    if (value !== undefined) where.push(`c.${column} = ${parameter(value)}`);
  }
  if (filter.declineGroup !== undefined)
    where.push(`c.decline_group is not distinct from nullif(${parameter(filter.declineGroup)}, '')`);
  if (filter.endedFrom) where.push(`c.ended_at >= ${parameter(filter.endedFrom)}`);
  if (filter.endedTo) where.push(`c.ended_at < ${parameter(filter.endedTo)}`);
  const { found, attention, leftOutBy } = filter;
  if (leftOutBy !== undefined)
    where.push(
      "c.end_reason = 'left_out'",
      "c.outcome in ('stopped', 'watched')",
      `c.rule_id = ${parameter(leftOutBy)}`,
    );
  if (attention) where.push("c.outcome = 'open'", ATTENTION_SQL[attention.kind](parameter(attention.before)));
  if (found && "ids" in found) where.push(`c.id = any(${parameter(found.ids)}::uuid[])`);
  if (found && "range" in found)
    where.push(ownedByRangeSql(parameter(found.range.from), parameter(found.range.to), "c."));
  return { where: where.join(" and "), values, parameter };
}

/** One row per case. */
export interface ListedInvoice {
  caseId: string;
  invoiceId: string;
  customerId: string;
  subscriptionId: string | null;
  state: InvoiceState;
  amount: number;
  currency: string;
  outcome: Outcome;
  endReason: EndReason | null;
  openedAt: Date;
  endedAt: Date | null;
  requestedRetries: number;
  /** Planned action. */
  nextAt: Date | null;
  /** For `InvoicePage`. */
  cursorKey: string;
}

export const INVOICE_ORDERS = ["opened_at", "ended_at", "amount"] as const;
export type InvoiceOrder = (typeof INVOICE_ORDERS)[number];

/** The order's value as PostgreSQL writes it; the case breaks ties. An id suffices for `opened_at`, because ids begin with their time. */
const ORDER_KEYS: Readonly<Record<InvoiceOrder, { key: string; type: string } | null>> = {
  opened_at: null,
  ended_at: { key: "c.ended_at", type: "timestamptz" },
  amount: { key: "c.amount", type: "int8" },
};

export interface InvoicePage {
  /** Cases that have not ended are missing in the order `ended_at`. */
  orderBy?: InvoiceOrder | undefined;
  isAscending?: boolean | undefined;
  /** The row before the page. */
  after?: { key: string; id: string } | undefined;
}

/** Latest first, unless `page` says otherwise. */
export async function listInvoices(
  tx: Tx,
  merchantId: string,
  filter: InvoiceFilter,
  page: InvoicePage | undefined,
  limit: number,
) {
  const { orderBy = "opened_at", isAscending = false, after } = page ?? {};
  const order = ORDER_KEYS[orderBy];
  const { where, values, parameter } = conditions(merchantId, filter);
  const [direction, beyond] = isAscending ? ["asc", ">"] : ["desc", "<"];
  const columns = order === null ? ["c.id"] : [order.key, "c.id"];
  const cursor = (at: NonNullable<typeof after>) =>
    order === null
      ? `and c.id ${beyond} ${parameter(at.id)}::uuid`
      : `and (${order.key}, c.id) ${beyond} (${parameter(at.key)}::${order.type}, ${parameter(at.id)}::uuid)`;
  // Unnamed: a generic plan takes minutes.
  const list = prepared(
    "",
    `select c.id as "caseId", c.invoice_id as "invoiceId", c.customer_id as "customerId", c.subscription_id as "subscriptionId",
       i.state, c.amount, c.currency, c.outcome, c.end_reason as "endReason", c.opened_at as "openedAt", c.ended_at as "endedAt",
       ${order === null ? "''" : orderBy === "ended_at" ? `to_char(c.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')` : "c.amount::text"} as "cursorKey",
       (select count(*) from recovery_actions r
        where r.merchant_id = c.merchant_id and r.case_id = c.id and r.type = 'RETRY'
          and r.decided_at is not null) as "requestedRetries",
       (select min(r.ideal_retry_time) from recovery_actions r
        where r.merchant_id = c.merchant_id and r.case_id = c.id and r.status = 'SCHEDULED'
          and r.decided_at is null) as "nextAt"
     from cases c
     join invoices i on i.merchant_id = c.merchant_id and i.id = c.invoice_id
     where ${where} ${orderBy === "ended_at" ? "and c.ended_at is not null" : ""} ${after ? cursor(after) : ""}
     order by ${columns.map((column) => `${column} ${direction}`).join(", ")} limit ${parameter(limit)}`,
  );
  return (await tx.run<ListedInvoice>(list, values)).rows;
}

/** By outcome, whatever outcome the filter asks for. Counts up to one more than `max`, because a merchant may have millions. */
export async function countByOutcome(tx: Tx, merchantId: string, filter: InvoiceFilter, max: number) {
  const { where, values, parameter } = conditions(merchantId, { ...filter, outcome: undefined });
  const limit = parameter(max + 1);
  const outcomes = parameter(OUTCOMES);
  const counts = prepared(
    "",
    `select o.outcome, k.n from unnest(${outcomes}::text[]) as o (outcome)
     cross join lateral (
       select count(*) as n from (select from cases c where ${where} and c.outcome = o.outcome limit ${limit}) first
     ) k where k.n > 0`,
  );
  const { rows } = await tx.run<Pick<OutcomeSum, "outcome" | "n">>(counts, values);
  return new Map(rows.map(({ outcome, n }) => [outcome, n]));
}

/** Minor units, as text because sums may exceed a number. */
export interface OutcomeSum {
  outcome: Outcome;
  currency: string;
  n: number;
  amount: string;
}

/** By outcome and currency. */
export async function sumInvoices(tx: Tx, merchantId: string, filter: InvoiceFilter) {
  const { where, values } = conditions(merchantId, filter);
  const sums = prepared(
    "",
    `select c.outcome, c.currency, count(*) as n, sum(c.amount)::text as amount
     from cases c where ${where} group by 1, 2 order by 2, 1`,
  );
  return (await tx.run<OutcomeSum>(sums, values)).rows;
}
