import { TRANSACTION_STATE_ORDER, type Transaction } from "../domain/transaction.ts";
import {
  type Column,
  nullsToUndefined,
  readPageAfter,
  selectList,
  selectPageAfter,
  versionedTable,
} from "../postgres/batch-sql.ts";
import { encodeBinaryArray, encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export const TRANSACTION_COLUMNS: readonly Column<Transaction>[] = [
  ["id", "text", "id"],
  ["state", "text", "state"],
  ["invoice_id", "text", "invoiceId"],
  ["amount", "int8", "amount"],
  ["currency", "text", "currency"],
  ["created_at", "timestamptz", "createdAt"],
  ["updated_at", "timestamptz", "updatedAt"],
  ["customer_id", "text", "customerId"],
  ["subscription_id", "text", "subscriptionId"],
  ["business_entity", "text", "businessEntity"],
  ["recovery_action_id", "text", "recoveryActionId"],
  ["payment_method_type", "text", "paymentMethodType"],
  ["payment_method_id", "text", "paymentMethodId"],
  ["payment_gateway_id", "text", "paymentGatewayId"],
  ["payment_gateway_name", "text", "paymentGatewayName"],
  ["payment_gateway_type", "text", "paymentGatewayType"],
  ["payment_gateway_status", "text", "paymentGatewayStatus"],
  ["payment_gateway_transaction_id", "text", "paymentGatewayTransactionId"],
  ["payment_gateway_error_code", "text", "paymentGatewayErrorCode"],
  ["payment_gateway_error_message", "text", "paymentGatewayErrorMessage"],
  ["network_decline_code", "text", "networkDeclineCode"],
  ["network_advice_code", "text", "networkAdviceCode"],
  ["decline_category", "text", "declineCategory"],
  ["card_brand", "text", "cardBrand"],
  ["card_bin", "text", "cardBin"],
  ["card_last4", "text", "cardLast4"],
  ["card_fingerprint", "text", "cardFingerprint"],
  ["card_country", "text", "cardCountry"],
  ["card_issuer", "text", "cardIssuer"],
  ["card_funding", "text", "cardFunding"],
  ["card_expiry_month", "int4", "cardExpiryMonth"],
  ["card_expiry_year", "int4", "cardExpiryYear"],
  ["customer_timezone", "text", "customerTimezone"],
  ["initiator", "text", "initiator"],
  ["attempt_number", "int4", "attemptNumber"],
  ["network_token", "bool", "networkToken"],
];

export const TRANSACTION_TABLE = versionedTable<Transaction>({
  table: "transactions",
  columns: TRANSACTION_COLUMNS,
  stateOrder: TRANSACTION_STATE_ORDER,
});

const FACT_FIELDS = [
  ...(["id", "state", "invoiceId", "customerId", "amount", "currency", "createdAt", "updatedAt"] as const),
  ...(["recoveryActionId", "initiator", "customerTimezone", "paymentMethodType", "paymentMethodId"] as const),
  ...(["cardBrand", "cardFingerprint", "cardCountry", "cardIssuer", "cardFunding"] as const),
  ...(["networkDeclineCode", "networkAdviceCode", "declineCategory"] as const),
  ...(["paymentGatewayName", "paymentGatewayType", "paymentGatewayStatus", "paymentGatewayErrorCode"] as const),
] as const;

/** Read by recovery; all would slow planning down. */
export type TransactionFacts = Pick<Transaction, (typeof FACT_FIELDS)[number]>;

const FACT_FIELD_NAMES: readonly string[] = FACT_FIELDS;
const SELECT_FACTS = `select ${selectList(TRANSACTION_COLUMNS.filter(([, , field]) => FACT_FIELD_NAMES.includes(field)))} from transactions`;

/**
 * Per customer, card and payment method, because a shop may use one customer id for all guests.
 *
 * No network limit allows more than a thousand declines. One is missed only if the card was charged 2,000 times since, within a
 * limit's window.
 */
const ATTEMPTS_MAX = 2_000;

const FOR_CASES = prepared(
  "transactions_for_cases",
  `${SELECT_FACTS} where merchant_id = $1 and invoice_id = any($2::text[])
   union all
   select latest.*
   from unnest($3::text[]) customer
   cross join lateral (
     ${SELECT_FACTS}
     where merchant_id = $1 and customer_id = customer and created_at > $4 and not (invoice_id = any($2::text[]))
     order by created_at desc, id desc limit ${ATTEMPTS_MAX}
   ) latest`,
);

/** All attempts on these invoices, and each customer's latest after `since`. Oldest first. */
export async function transactionsForCases(
  tx: Tx,
  merchantId: string,
  invoiceIds: readonly string[],
  customerIds: readonly string[],
  since: Date,
) {
  const values = [merchantId, encodeTextArray(invoiceIds, "text"), encodeTextArray(customerIds, "text"), since];
  return sortOldestFirst((await tx.run<TransactionFacts>(FOR_CASES, values)).rows);
}

/** Determines how much of the invoice is left to pay. */
export type InvoiceAttempt = Pick<
  Transaction,
  "id" | "invoiceId" | "state" | "amount" | "currency" | "createdAt" | "updatedAt"
>;

const ON_INVOICES = prepared(
  "attempts_on_invoices",
  `select attempts.*
   from unnest($2::text[]) as invoice (id)
   cross join lateral (
     select id, invoice_id as "invoiceId", state, amount, currency, created_at as "createdAt", updated_at as "updatedAt"
     from transactions where merchant_id = $1 and invoice_id = invoice.id offset 0
   ) attempts`,
);

/** In any order. */
export async function attemptsOnInvoices(tx: Tx, merchantId: string, invoiceIds: readonly string[]) {
  return (await tx.run<InvoiceAttempt>(ON_INVOICES, [merchantId, encodeTextArray(invoiceIds, "text")])).rows;
}

const ON_CARDS = prepared(
  "transactions_on_cards",
  `select latest.*
   from unnest($2::text[]) card
   cross join lateral (
     ${SELECT_FACTS}
     where merchant_id = $1 and card_fingerprint = card and created_at > $4 and id <> all($5::text[])
     order by created_at desc, id desc limit ${ATTEMPTS_MAX}
   ) latest
   union all
   select latest.*
   from unnest($3::text[]) method
   cross join lateral (
     ${SELECT_FACTS}
     where merchant_id = $1 and payment_method_id = method and created_at > $4 and id <> all($5::text[])
       and (card_fingerprint is null or not (card_fingerprint = any($2::text[])))
     order by created_at desc, id desc limit ${ATTEMPTS_MAX}
   ) latest`,
);

/** Any customer's latest attempts after `since`, except `known` ones. Oldest first. */
export async function transactionsOnCards(
  tx: Tx,
  merchantId: string,
  fingerprints: readonly string[],
  paymentMethodIds: readonly string[],
  since: Date,
  known: readonly TransactionFacts[],
) {
  const cards = [encodeTextArray(fingerprints, "text"), encodeTextArray(paymentMethodIds, "text")];
  const values = [merchantId, ...cards, since, encodeBinaryArray(known, "id", "text")];
  return sortOldestFirst((await tx.run<TransactionFacts>(ON_CARDS, values)).rows);
}

const DECLINED_BEFORE = prepared(
  "transactions_declined_before",
  `select latest.*
   from unnest($2::text[]) card
   cross join lateral (
     ${SELECT_FACTS}
     where merchant_id = $1 and card_fingerprint = card and state = 'FAILED' and created_at <= $3
     order by created_at desc, id desc limit ${ATTEMPTS_MAX}
   ) latest`,
);

/** Any customer's latest declines up to `until`. Oldest first. */
export async function latestDeclinesBefore(tx: Tx, merchantId: string, fingerprints: readonly string[], until: Date) {
  const values = [merchantId, encodeTextArray(fingerprints, "text"), until];
  return sortOldestFirst((await tx.run<TransactionFacts>(DECLINED_BEFORE, values)).rows);
}

const SUCCESS_BEFORE = prepared(
  "transactions_cleared_before",
  `select latest.*
   from unnest($2::text[]) card
   cross join lateral (
     ${SELECT_FACTS}
     where merchant_id = $1 and card_fingerprint = card and created_at <= $3 and state in ('PAID', 'REFUNDED')
       and amount > 0 and initiator is distinct from 'CUSTOMER'
     order by created_at desc, id desc limit 1
   ) latest`,
);

/** Not initiated by the customer; the latest per card, up to `until`. Oldest first. */
export async function latestSuccessBefore(tx: Tx, merchantId: string, fingerprints: readonly string[], until: Date) {
  const values = [merchantId, encodeTextArray(fingerprints, "text"), until];
  return sortOldestFirst((await tx.run<TransactionFacts>(SUCCESS_BEFORE, values)).rows);
}

const DISPUTED = prepared(
  "standing_disputes",
  `with disputed as (
     ${SELECT_FACTS} where merchant_id = $1 and state = 'DISPUTED' and customer_id = any($2::text[])
     union
     ${SELECT_FACTS} where merchant_id = $1 and state = 'DISPUTED' and invoice_id = any($3::text[])
     union
     ${SELECT_FACTS}
     where merchant_id = $1 and state = 'DISPUTED' and card_fingerprint = any($4::text[]) and customer_id is null
   )
   select disputed.* from disputed
   where not exists (
       select from transactions paid
       where paid.merchant_id = $1 and paid.card_fingerprint = disputed."cardFingerprint" and paid.state = 'PAID'
         and paid.amount > 0 and paid.created_at > disputed."updatedAt")
     and not exists (
       select from transactions paid
       where paid.merchant_id = $1 and paid.payment_method_id = disputed."paymentMethodId" and paid.state = 'PAID'
         and paid.amount > 0 and paid.created_at > disputed."updatedAt"
         and (paid.card_fingerprint is null or disputed."cardFingerprint" is null))`,
);

/**
 * By these customers, on these invoices, or without a customer on these cards, unless a later charge on the same card or payment
 * method was paid. Oldest first.
 */
export async function standingDisputes(
  tx: Tx,
  merchantId: string,
  customerIds: readonly string[],
  invoiceIds: readonly string[],
  fingerprints: readonly string[],
) {
  const lists = [customerIds, invoiceIds, fingerprints].map((list) => encodeTextArray(list, "text"));
  return sortOldestFirst((await tx.run<TransactionFacts>(DISPUTED, [merchantId, ...lists])).rows);
}

const sortOldestFirst = (rows: TransactionFacts[]) =>
  rows.map(nullsToUndefined).sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));

const AFTER = selectPageAfter("transactions", TRANSACTION_COLUMNS);

export const transactionsAfter = (tx: Tx, merchantId: string, last?: Transaction) =>
  readPageAfter<Transaction>(tx, AFTER, merchantId, last);
