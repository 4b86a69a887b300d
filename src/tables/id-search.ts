import type { InvoiceState } from "../domain/invoice.ts";
import type { SubscriptionState } from "../domain/subscription.ts";
import type { TransactionState } from "../domain/transaction.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { idsWithPrefix } from "./id-prefix.ts";
import type { Outcome } from "./invoice-list.ts";

/** Ids with a prefix, in the order of their characters' codes. */
export interface IdSearch {
  prefix: string;
  /** Ids above this one. */
  after?: string | undefined;
  /** Ids below this one, highest first. */
  before?: string | undefined;
  limit: number;
}

const ordered = ({ before }: IdSearch) => (before === undefined ? "asc" : "desc");

/** `$2` to `$4`. */
function bounds({ prefix, after, before, limit }: IdSearch) {
  const { from, to } = idsWithPrefix(prefix);
  return [after ?? from, before ?? to, limit];
}

const inBounds = (column: string, { after }: IdSearch) =>
  `${column} ${after === undefined ? ">=" : ">"} $2::text and ${column} < $3::text`;

const idsSql = (table: string, search: IdSearch) =>
  `select id from ${table} where merchant_id = $1 and ${inBounds("id", search)}
     order by id ${ordered(search)} limit $4`;

// Unnamed: an index by the start serves the range only if its size is known.
async function findRows<Row>(tx: Tx, merchantId: string, search: IdSearch, text: string) {
  return (await tx.run<Row>(prepared("", text), [merchantId, ...bounds(search)])).rows;
}

export interface FoundInvoice {
  id: string;
  customerId: string;
  state: InvoiceState;
  /** Of the latest case; null if it was never in recovery. */
  outcome: Outcome | null;
  amount: number;
  currency: string;
  createdAt: Date;
}

const INVOICE_COLUMNS = `i.id, i.customer_id as "customerId", i.state, i.amount, i.currency, i.created_at as "createdAt",
       (select c.outcome from cases c where c.merchant_id = $1 and c.invoice_id = i.id order by c.id desc limit 1) as outcome`;

export const findInvoicesByPrefix = (tx: Tx, merchantId: string, search: IdSearch) =>
  findRows<FoundInvoice>(
    tx,
    merchantId,
    search,
    `select ${INVOICE_COLUMNS}
     from (${idsSql("invoices", search)}) found join invoices i on i.merchant_id = $1 and i.id = found.id
     order by i.id ${ordered(search)}`,
  );

export interface FoundSubscription {
  id: string;
  customerId: string;
  state: SubscriptionState;
  planId: string | null;
  amount: number;
  currency: string;
}

const SUBSCRIPTION_COLUMNS = `s.id, s.customer_id as "customerId", s.state, s.plan_id as "planId", s.amount, s.currency`;

export const findSubscriptionsByPrefix = (tx: Tx, merchantId: string, search: IdSearch) =>
  findRows<FoundSubscription>(
    tx,
    merchantId,
    search,
    `select ${SUBSCRIPTION_COLUMNS}
     from (${idsSql("subscriptions", search)}) found join subscriptions s on s.merchant_id = $1 and s.id = found.id
     order by s.id ${ordered(search)}`,
  );

export interface FoundTransaction {
  id: string;
  invoiceId: string;
  state: TransactionState;
  amount: number;
  currency: string;
  createdAt: Date;
}

export const findTransactionsByPrefix = (tx: Tx, merchantId: string, search: IdSearch) =>
  findRows<FoundTransaction>(
    tx,
    merchantId,
    search,
    `select t.id, t.invoice_id as "invoiceId", t.state, t.amount, t.currency, t.created_at as "createdAt"
     from (${idsSql("transactions", search)}) found join transactions t on t.merchant_id = $1 and t.id = found.id
     order by t.id ${ordered(search)}`,
  );

export interface FoundCustomer {
  id: string;
  invoices: number;
  openCases: number;
  /** Of open cases, in minor units as text. */
  due: readonly { currency: string; amount: string }[];
}

/** Counts of a customer's invoices end here. */
export const CUSTOMER_INVOICES_MAX = 1_000;

/** Jumps from customer to customer: each may have many invoices. */
function customerIdsSql(search: IdSearch): string {
  const direction = ordered(search);
  const next = `from invoices where merchant_id = $1 and customer_id`;
  const beyond = direction === "asc" ? `> c.id and customer_id < $3::text` : `< c.id and customer_id >= $2::text`;
  return `with recursive c as (
       (select customer_id as id from invoices where merchant_id = $1 and ${inBounds("customer_id", search)}
        order by customer_id ${direction} limit 1)
       union all
       select (select customer_id ${next} ${beyond} order by customer_id ${direction} limit 1)
       from c where c.id is not null
     )
     select id from c where id is not null limit $4`;
}

export const findCustomersByPrefix = (tx: Tx, merchantId: string, search: IdSearch) =>
  findRows<FoundCustomer>(
    tx,
    merchantId,
    search,
    `select found.id,
       (select count(*) from (
          select from invoices where merchant_id = $1 and customer_id = found.id limit ${CUSTOMER_INVOICES_MAX + 1}) i) as invoices,
       coalesce(open.cases, 0) as "openCases", coalesce(open.due, '[]') as due
     from (${customerIdsSql(search)}) found
     left join lateral (
       select sum(n)::int8 as cases, json_agg(json_build_object('currency', currency, 'amount', amount::text) order by currency) as due
       from (
         select currency, count(*) as n, sum(amount) as amount from cases
         where merchant_id = $1 and customer_id = found.id and outcome = 'open' group by currency) k
     ) open on true
     order by found.id ${ordered(search)}`,
  );

const OF_CUSTOMER = prepared(
  "",
  `select ${INVOICE_COLUMNS} from invoices i
   where i.merchant_id = $1 and i.customer_id = $2 order by i.created_at desc, i.id limit $3`,
);

/** Latest first. */
export async function latestInvoicesOfCustomer(tx: Tx, merchantId: string, customerId: string, limit: number) {
  return (await tx.run<FoundInvoice>(OF_CUSTOMER, [merchantId, customerId, limit])).rows;
}

const SUBSCRIPTIONS_OF_CUSTOMER = prepared(
  "",
  `select ${SUBSCRIPTION_COLUMNS} from subscriptions s
   where s.merchant_id = $1 and s.customer_id = $2 and s.id in (
     select subscription_id from (
       select subscription_id from invoices
       where merchant_id = $1 and customer_id = $2 order by created_at desc limit ${CUSTOMER_INVOICES_MAX}) recent)
   order by s.id limit $3`,
);

/** Subscriptions of the customer's latest invoices, by id. */
export async function subscriptionsOfCustomer(tx: Tx, merchantId: string, customerId: string, limit: number) {
  return (await tx.run<FoundSubscription>(SUBSCRIPTIONS_OF_CUSTOMER, [merchantId, customerId, limit])).rows;
}

const EXACT = prepared(
  "",
  `select (select id from invoices where merchant_id = $1 and id = $2) as invoice,
     (select invoice_id from transactions where merchant_id = $1 and id = $2) as "invoiceOfTransaction",
     exists (select from subscriptions where merchant_id = $1 and id = $2) as "isSubscription",
     exists (select from invoices where merchant_id = $1 and customer_id = $2) as "isCustomer"`,
);

export interface ExactHits {
  invoice: string | null;
  invoiceOfTransaction: string | null;
  isSubscription: boolean;
  isCustomer: boolean;
}

export async function findExactHits(tx: Tx, merchantId: string, id: string) {
  return (await tx.run<ExactHits>(EXACT, [merchantId, id])).rows[0]!;
}
