import type { EndReason } from "../domain/case.ts";
import type { InvoiceState } from "../domain/invoice.ts";
import { prepared, type Tx } from "../postgres/database.ts";

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

/**
 * Open cases that need attention:
 * - `ending`: the window ends before the given time.
 * - `card_change`: a card change was requested before the given time and has no outcome.
 * - `large`: at or over the merchant's large amount in the currency.
 */
export const ATTENTION_FILTERS = ["ending", "card_change", "large"] as const;
export type AttentionFilter = (typeof ATTENTION_FILTERS)[number];

export interface InvoiceFilter {
  outcome?: Outcome | undefined;
  customerId?: string | undefined;
  subscriptionId?: string | undefined;
  invoiceId?: string | undefined;
  currency?: string | undefined;
  /** End of the case; `endedTo` exclusive. */
  endedFrom?: Date | undefined;
  endedTo?: Date | undefined;
  attention?: { kind: AttentionFilter; before: Date } | undefined;
}

const WHERE = `c.merchant_id = $1 and ($2::text is null or c.outcome = $2) and ($3::text is null or c.customer_id = $3)
  and ($4::text is null or c.subscription_id = $4) and ($5::text is null or c.invoice_id = $5)
  and ($6::text is null or c.currency = $6)`;
const ENDED_SQL = "c.ended_at >= $7 and c.ended_at < $8";
const ATTENTION_SQL: Readonly<Record<AttentionFilter, string>> = {
  ending: "c.window_ends_at < $7",
  card_change: `c.id in (
     select case_id from recovery_actions
     where merchant_id = $1 and type = 'CARD_CHANGE' and status = 'SENT' and decided_at < $7)`,
  large: `$7::timestamptz is not null and exists (
     select from large_amounts l where l.merchant_id = $1 and l.currency = c.currency and c.amount >= l.amount)`,
};
const LONG_AGO = new Date(0);
const FAR_AHEAD = new Date("9999-01-01");

/** An open case has not ended, so both kinds of filters together find nothing. */
function conditions(merchantId: string, filter: InvoiceFilter): { where: string; values: unknown[] } {
  const { outcome = null, customerId = null, subscriptionId = null, invoiceId = null, currency = null } = filter;
  const values: unknown[] = [merchantId, outcome, customerId, subscriptionId, invoiceId, currency];
  const { endedFrom = null, endedTo = null, attention } = filter;
  const isEnded = endedFrom !== null || endedTo !== null;
  if (attention) {
    const where = `${WHERE} and c.outcome = 'open' and ${ATTENTION_SQL[attention.kind]}${isEnded ? " and false" : ""}`;
    return { where, values: [...values, attention.before] };
  }
  if (!isEnded) return { where: WHERE, values };
  return { where: `${WHERE} and ${ENDED_SQL}`, values: [...values, endedFrom ?? LONG_AGO, endedTo ?? FAR_AHEAD] };
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
}

// Unnamed: a generic plan takes minutes.
const listStatement = (where: string, first: number) =>
  prepared(
    "",
    `select c.id as "caseId", c.invoice_id as "invoiceId", c.customer_id as "customerId", c.subscription_id as "subscriptionId",
       i.state, c.amount, c.currency, c.outcome, c.end_reason as "endReason", c.opened_at as "openedAt", c.ended_at as "endedAt",
       (select count(*) from recovery_actions r
        where r.merchant_id = c.merchant_id and r.case_id = c.id and r.type = 'RETRY'
          and r.decided_at is not null) as "requestedRetries",
       (select min(r.ideal_retry_time) from recovery_actions r
        where r.merchant_id = c.merchant_id and r.case_id = c.id and r.status = 'SCHEDULED'
          and r.decided_at is null) as "nextAt"
     from cases c
     join invoices i on i.merchant_id = c.merchant_id and i.id = c.invoice_id
     where ${where} and c.id < $${first} order by c.id desc limit $${first + 1}`,
  );

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Latest first. `before`: only cases with a lower id. */
export async function listInvoices(
  tx: Tx,
  merchantId: string,
  filter: InvoiceFilter,
  before: string | undefined,
  limit: number,
) {
  const { where, values } = conditions(merchantId, filter);
  const statement = listStatement(where, values.length + 1);
  return (await tx.run<ListedInvoice>(statement, [...values, before ?? LAST_ID, limit])).rows;
}

/** Minor units, as text because sums may exceed a number. */
export interface OutcomeSum {
  outcome: Outcome;
  currency: string;
  n: number;
  amount: string;
}

const sumsStatement = (where: string) =>
  prepared(
    "",
    `select c.outcome, c.currency, count(*) as n, sum(c.amount)::text as amount
     from cases c where ${where} group by 1, 2 order by 2, 1`,
  );

/** By outcome and currency. */
export async function sumInvoices(tx: Tx, merchantId: string, filter: InvoiceFilter) {
  const { where, values } = conditions(merchantId, filter);
  return (await tx.run<OutcomeSum>(sumsStatement(where), values)).rows;
}
