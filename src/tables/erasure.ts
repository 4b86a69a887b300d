import { CONNECTOR_NAMES } from "../domain/connection.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { deleteRecoveryActions } from "./recovery-actions.ts";

const OPEN_INVOICES = prepared(
  "open_invoices_of_customer",
  `select distinct invoice_id as id from (
     select invoice_id from cases
     where merchant_id = $1 and customer_id = $2 and coalesce(ended_at, 'infinity') = 'infinity' limit $3
   ) k`,
);
const INVOICES = prepared(
  "invoices_of_customer",
  `select id from (
     (select id from invoices where merchant_id = $1 and customer_id = $2 limit $3)
     union (select invoice_id from cases where merchant_id = $1 and customer_id = $2 limit $3)
   ) i limit $3`,
);

/** Those in recovery come first. */
export async function invoicesOfCustomer(tx: Tx, merchantId: string, customerId: string, limit: number) {
  const ids = async (statement: typeof INVOICES) =>
    (await tx.run<{ id: string }>(statement, [merchantId, customerId, limit])).rows.map(({ id }) => id);
  const open = await ids(OPEN_INVOICES);
  return open.length > 0 ? open : await ids(INVOICES);
}

const LOCK_INVOICES = prepared(
  "hold_invoices_of_customer",
  `select id from invoices where merchant_id = $1 and id = any($2::text[]) and customer_id = $3 order by id for update`,
);

export async function lockInvoicesOfCustomer(tx: Tx, merchantId: string, ids: readonly string[], customerId: string) {
  return (await tx.run<{ id: string }>(LOCK_INVOICES, [merchantId, ids, customerId])).rows.map(({ id }) => id);
}

const LOCK_CASES = prepared(
  "hold_cases_to_delete",
  `select id from cases
   where merchant_id = $1 and invoice_id = any($2::text[]) and (customer_id = $3 or invoice_id = any($4::text[]))
   order by id for update`,
);

/** All cases of `ownIds`, and the customer's cases of `invoiceIds`. */
export async function lockCasesToDelete(
  tx: Tx,
  merchantId: string,
  invoiceIds: readonly string[],
  customerId: string,
  ownIds: readonly string[],
) {
  return (await tx.run<{ id: string }>(LOCK_CASES, [merchantId, invoiceIds, customerId, ownIds])).rows.map(
    ({ id }) => id,
  );
}

const DELETE_DELIVERIES = prepared(
  "delete_deliveries_of_cases",
  `delete from deliveries
   where merchant_id = $1
     and event_id = any(array(select id from events where merchant_id = $1 and case_id = any($2::uuid[])))
   returning event_id as id`,
);
const DELETE_ATTEMPTS = prepared(
  "delete_delivery_attempts_of_cases",
  `delete from delivery_attempts
   where merchant_id = $1
     and event_id = any(array(select id from events where merchant_id = $1 and case_id = any($2::uuid[])))`,
);
const DELETE_EVENTS = prepared(
  "delete_events_of_cases",
  "delete from events where merchant_id = $1 and case_id = any($2::uuid[]) returning id",
);
const DELETE_DECISIONS = prepared(
  "delete_decisions_of_cases",
  "delete from decisions where merchant_id = $1 and case_id = any($2::uuid[])",
);
const DELETE_DUE = prepared(
  "delete_due_cases_of_cases",
  "delete from due_cases where merchant_id = $1 and case_id = any($2::uuid[])",
);

const DELETE_TRACES = prepared(
  "delete_traces_of_cases",
  "delete from case_traces where merchant_id = $1 and case_id = any($2::uuid[])",
);

/**
 * Deletes everything decided and sent, also from lists' totals. The caller holds the merchant's clock lock and has locked the
 * cases, which stay with their queue entries: claiming drops those of deleted cases.
 *
 * @returns the deleted events, and those of them that were not delivered
 */
export async function deleteCaseContents(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  const values = [merchantId, caseIds];
  const waiting = await tx.run<{ id: string }>(DELETE_DELIVERIES, values);
  await tx.run(DELETE_ATTEMPTS, values);
  const events = await tx.run<{ id: string }>(DELETE_EVENTS, values);
  await tx.run(DELETE_DECISIONS, values);
  await tx.run(DELETE_DUE, values);
  await tx.run(DELETE_TRACES, values);
  await deleteRecoveryActions(tx, merchantId, caseIds);
  return { events: events.rows.map(({ id }) => id), withdrawn: waiting.rows.map(({ id }) => id) };
}

const REASSIGN_CASES = prepared(
  "hand_over_cases",
  `update cases k set customer_id = i.customer_id from invoices i
   where k.merchant_id = $1 and k.id = any($2::uuid[]) and k.ended_at is not null
     and i.merchant_id = $1 and i.id = k.invoice_id and i.customer_id <> $3
   returning k.id`,
);

/** Ended cases show that the invoice was given up. Returns their ids. */
export async function reassignCases(tx: Tx, merchantId: string, caseIds: readonly string[], customerId: string) {
  return (await tx.run<{ id: string }>(REASSIGN_CASES, [merchantId, caseIds, customerId])).rows.map(({ id }) => id);
}

const TRANSACTIONS_ON = prepared(
  "transactions_on_invoices",
  "select id from transactions where merchant_id = $1 and invoice_id = any($2::text[])",
);
const CONFLICTS = prepared(
  "delete_invoice_conflicts",
  "delete from invoice_conflicts where merchant_id = $1 and invoice_id = any($2::text[])",
);
const ENTRIES = prepared(
  "delete_experiment_invoices",
  `delete from experiment_invoices where merchant_id = $1
     and experiment_id = any(array(select id from experiments where merchant_id = $1)) and invoice_id = any($2::text[])`,
);
/** An invoice whose retries are still off at the provider keeps its row until the connector has given it back. */
const FORGET_AT_CONNECTORS = prepared(
  "delete_connector_rows_of_invoices",
  `with actions as (
     delete from connector_actions where merchant_id = $1 and connection = any($4::text[]) and invoice_id = any($2::text[])
   ), messages as (
     delete from connector_messages where merchant_id = $1 and connection = any($4::text[]) and invoice_id = any($2::text[])
   ), payments as (
     delete from connector_payments where merchant_id = $1 and connection = any($4::text[]) and invoice_id = any($2::text[])
   ), events as (
     delete from connector_events where merchant_id = $1 and connection = any($4::text[]) and invoice_id = any($2::text[])
   ), hints as (
     delete from connector_hints where merchant_id = $1 and connection = any($4::text[]) and object_id = any($2::text[])
   ), versions as (
     delete from connector_versions where merchant_id = $1 and connection = any($4::text[]) and object_id = any($3::text[])
   ), released as (
     delete from connector_invoices
     where merchant_id = $1 and connection = any($4::text[]) and invoice_id = any($2::text[]) and released_at is not null
   )
   update connector_invoices set customer_id = 'erased', ended_at = coalesce(ended_at, since)
   where merchant_id = $1 and connection = any($4::text[]) and invoice_id = any($2::text[]) and released_at is null`,
);
const DELETE_INVOICES = prepared(
  "delete_invoices",
  "delete from invoices where merchant_id = $1 and id = any($2::text[])",
);

/**
 * For locked invoices without cases. Also deletes their attempts and their entries in experiments, whose totals stay.
 *
 * @param keptIds  rows that stay
 */
export async function deleteInvoices(
  tx: Tx,
  merchantId: string,
  invoiceIds: readonly string[],
  keptIds: { invoices: readonly string[]; transactions: readonly string[] } = { invoices: [], transactions: [] },
) {
  const values = [merchantId, invoiceIds];
  const { rows } = await tx.run<{ id: string }>(TRANSACTIONS_ON, values);
  await deleteTransactions(
    tx,
    merchantId,
    rows.map(({ id }) => id),
    keptIds.transactions,
  );
  const objects = [...invoiceIds, ...rows.map(({ id }) => id)];
  await tx.run(FORGET_AT_CONNECTORS, [...values, objects, CONNECTOR_NAMES]);
  await tx.run(CONFLICTS, values);
  await tx.run(ENTRIES, values);
  const deletedIds =
    keptIds.invoices.length === 0 ? invoiceIds : invoiceIds.filter((id) => !keptIds.invoices.includes(id));
  await tx.run(DELETE_INVOICES, [merchantId, deletedIds]);
}

const DELETE_OBSERVED = prepared(
  "delete_watched_retries",
  "delete from watched_retries where merchant_id = $1 and transaction_id = any($2::text[])",
);
const DELETE_TRANSACTIONS = prepared(
  "delete_transactions",
  "delete from transactions where merchant_id = $1 and id = any($2::text[])",
);

/** Kept attempts are no longer marked as observed. */
export async function deleteTransactions(
  tx: Tx,
  merchantId: string,
  ids: readonly string[],
  keptIds: readonly string[] = [],
) {
  await tx.run(DELETE_OBSERVED, [merchantId, ids]);
  const deletedIds = keptIds.length === 0 ? ids : ids.filter((id) => !keptIds.includes(id));
  await tx.run(DELETE_TRANSACTIONS, [merchantId, deletedIds]);
}

const TRANSACTIONS = prepared(
  "transactions_of_customer",
  "select id from transactions where merchant_id = $1 and customer_id = $2 limit $3",
);

export async function transactionsOfCustomer(tx: Tx, merchantId: string, customerId: string, limit: number) {
  const { rows } = await tx.run<{ id: string }>(TRANSACTIONS, [merchantId, customerId, limit]);
  return rows.map(({ id }) => id);
}

const PAYER_COLUMNS =
  `customer_id, subscription_id, customer_timezone, payment_method_id, payment_gateway_transaction_id, payment_gateway_error_message,
  card_bin, card_last4, card_fingerprint, card_country, card_issuer, card_expiry_month, card_expiry_year`.split(/,\s+/);
const CLEAR_PAYER = prepared(
  "forget_payer",
  `update transactions t set ${PAYER_COLUMNS.map((column) => `${column} = null`).join(", ")}
   where merchant_id = $1 and id = any($2::text[]) and state in ('PAID', 'REFUNDED', 'PENDING', 'DISPUTED')
     and exists (select from invoices i where i.merchant_id = $1 and i.id = t.invoice_id)
   returning id`,
);

/** These attempts determine how much of an existing invoice is left to pay. Returns their ids. */
export async function clearPayer(tx: Tx, merchantId: string, ids: readonly string[]): Promise<string[]> {
  return (await tx.run<{ id: string }>(CLEAR_PAYER, [merchantId, ids])).rows.map(({ id }) => id);
}

const ENTRIES_OF = prepared(
  "delete_experiment_invoices_of_customer",
  `delete from experiment_invoices where merchant_id = $1
     and experiment_id = any(array(select id from experiments where merchant_id = $1)) and customer_id = $2`,
);
const SUBSCRIPTIONS_OF = prepared(
  "delete_subscriptions_of_customer",
  "delete from subscriptions where merchant_id = $1 and customer_id = $2",
);

/** Deletes records without an invoice. Reads all of the merchant's subscriptions. */
export async function deleteRestOfCustomer(tx: Tx, merchantId: string, customerId: string) {
  await tx.run(SUBSCRIPTIONS_OF, [merchantId, customerId]);
  await tx.run(ENTRIES_OF, [merchantId, customerId]);
}

const COUNTS = prepared(
  "customer_counts",
  `select
     (select count(*) from subscriptions where merchant_id = $1 and customer_id = $2) as subscriptions,
     (select count(*) from invoices where merchant_id = $1 and customer_id = $2) as invoices,
     (select count(*) from transactions
      where merchant_id = $1 and (
        customer_id = $2
        or invoice_id = any(array(select id from invoices where merchant_id = $1 and customer_id = $2)))) as transactions,
     (select count(*) from cases where merchant_id = $1 and customer_id = $2) as cases,
     (select count(*) from recovery_actions where merchant_id = $1 and customer_id = $2) as actions,
     (select count(*) from cases k join events e on e.merchant_id = $1 and e.case_id = k.id
      where k.merchant_id = $1 and k.customer_id = $2) as events,
     (select count(*) from experiment_invoices
      where merchant_id = $1 and experiment_id = any(array(select id from experiments where merchant_id = $1))
        and customer_id = $2) as "experimentInvoices"`,
);

export interface CustomerCounts {
  subscriptions: number;
  invoices: number;
  transactions: number;
  cases: number;
  actions: number;
  events: number;
  experimentInvoices: number;
}

/** Reads all of the merchant's subscriptions. */
export async function countCustomerRecords(tx: Tx, merchantId: string, customerId: string): Promise<CustomerCounts> {
  return (await tx.run<CustomerCounts>(COUNTS, [merchantId, customerId])).rows[0]!;
}
