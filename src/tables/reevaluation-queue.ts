// Cases to reevaluate because facts changed (table `case_pokes`); `due_cases` only wait for a time. Code that writes facts adds
// an entry in the same transaction. Claiming a case removes it before the facts are read.
import { prepared, type Tx } from "../postgres/database.ts";

/** A step that handles part of an entry rewrites the rest. */
const ENTRY_SIZE = 100;

/**
 * Returns the number of cases in each new entry.
 *
 * @param caseIds  a query with one column and no duplicates; `$1` is the merchant
 * @param entryId  a parameter with a new UUIDv7, so that entries are read oldest first
 */
export const enqueueSql = (caseIds: string, entryId: string) =>
  `insert into case_pokes as stored (merchant_id, id, part, case_ids)
   select $1::uuid, ${entryId}::uuid, part, array_agg(id order by id)
   from (
     select id, (row_number() over (order by id) - 1) / ${ENTRY_SIZE} as part from (${caseIds}) listed (id)
   ) numbered
   group by part
   returning cardinality(stored.case_ids) as cases`;

/** One statement may write several, numbered by `part`. */
export interface QueueEntry {
  id: string;
  part: number;
  caseIds: string[];
}

// One text, because the driver parses arrays character by character.
const READ = prepared(
  "first_pokes",
  `with locked as materialized (
     select id, part, case_ids from case_pokes
     where merchant_id = $1
     order by id, part limit $2
     for update skip locked
   ), counted as (
     select *,
       sum(cardinality(case_ids)) over (order by id, part rows unbounded preceding) - cardinality(case_ids) as cases_before
     from locked
   )
   select id, part, array_to_string(case_ids, ' ') as "caseIds"
   from counted
   where cases_before < $3
   order by id, part`,
);

/** Locks the oldest unlocked entries until they hold `maxCases` cases. */
export async function readQueue(tx: Tx, merchantId: string, maxEntries: number, maxCases: number) {
  const { rows } = await tx.run<Omit<QueueEntry, "caseIds"> & { caseIds: string }>(READ, [
    merchantId,
    maxEntries,
    maxCases,
  ]);
  return rows.map((row) => ({ ...row, caseIds: row.caseIds === "" ? [] : row.caseIds.split(" ") }));
}

const DELETE_ENTRIES = prepared(
  "take_pokes",
  `delete from case_pokes queued using unnest($2::uuid[], $3::int4[]) as handled (id, part)
   where queued.merchant_id = $1 and queued.id = handled.id and queued.part = handled.part`,
);
const SHRINK_ENTRY = prepared(
  "leave_pokes",
  "update case_pokes set case_ids = $4 where merchant_id = $1 and id = $2 and part = $3",
);

/**
 * Also removes entries that become empty.
 *
 * @param entries  as locked by `readQueue`
 */
export async function dequeue(
  tx: Tx,
  merchantId: string,
  entries: readonly QueueEntry[],
  isClaimed: (caseId: string) => boolean,
) {
  const remaining = entries.map((entry) => ({ ...entry, caseIds: entry.caseIds.filter((id) => !isClaimed(id)) }));
  const empty = remaining.filter(({ caseIds }) => caseIds.length === 0);
  if (empty.length > 0)
    await tx.run(DELETE_ENTRIES, [merchantId, empty.map(({ id }) => id), empty.map(({ part }) => part)]);
  for (const [index, { id, part, caseIds }] of remaining.entries())
    if (caseIds.length > 0 && caseIds.length < entries[index]!.caseIds.length)
      await tx.run(SHRINK_ENTRY, [merchantId, id, part, caseIds]);
}

// `offset 0` here and below keeps one index probe per value. A plan cached while the table was small would compare every case
// with every record.
const ENQUEUE_BY_INVOICE = prepared(
  "poke_cases_by_invoice",
  `with affected as (
     select found.id, found.ended_at, invoice_id
     from unnest($2::text[]) as invoice (invoice_id)
     cross join lateral (
       select id, ended_at from cases where merchant_id = $1 and cases.invoice_id = invoice.invoice_id offset 0
     ) found
   ), queued as (
     ${enqueueSql("select id from affected", "$3")}
   )
   select distinct invoice_id as "invoiceId" from affected where ended_at is null`,
);

/** Also ended ones. Returns invoices that have an open case. */
export async function enqueueCasesOfInvoices(
  tx: Tx,
  merchantId: string,
  invoiceIds: readonly string[],
  entryId: string,
) {
  const { rows } = await tx.run<{ invoiceId: string }>(ENQUEUE_BY_INVOICE, [merchantId, invoiceIds, entryId]);
  return new Set(rows.map(({ invoiceId }) => invoiceId));
}

const totalCases = (rows: readonly { cases: number }[]) => rows.reduce((sum, { cases }) => sum + cases, 0);

/** Customers with more are shared accounts (such as one id for all guests), too expensive to reevaluate on every attempt. */
export const MAX_OPEN_CASES_PER_CUSTOMER = 16;

// Cases that wait for a new card are queued even for a shared account. The `ended_at` conditions repeat the index expression, or
// PostgreSQL may scan all open cases until statistics exist.
const ENQUEUE_BY_CUSTOMER = prepared(
  "poke_cases_by_customer",
  `with customers as materialized (
     select customer_id, (
       select count(*) from (
         select from cases
         where merchant_id = $1 and cases.customer_id = customer.customer_id and coalesce(ended_at, 'infinity') = 'infinity'
         limit ${MAX_OPEN_CASES_PER_CUSTOMER + 1}
       ) open
     ) <= ${MAX_OPEN_CASES_PER_CUSTOMER} as is_individual
     from unnest($2::text[]) as customer (customer_id)
   ), affected as (
     select open.id
     from customers
     cross join lateral (
       select id, invoice_id from cases
       where merchant_id = $1 and cases.customer_id = customers.customer_id and coalesce(ended_at, 'infinity') = 'infinity'
       offset 0
     ) open
     where open.invoice_id <> all ($4::text[]) and (is_individual or exists (
       select 1 from recovery_actions
       where merchant_id = $1 and case_id = open.id and type = 'CARD_CHANGE' and status in ('SCHEDULED', 'SENT', 'EXPIRED')))
   )
   ${enqueueSql("select id from affected", "$3")}`,
);

/**
 * Open ones. For a shared account, only those that wait for a new card, even if their card change has expired.
 *
 * @param exceptInvoiceIds  queued separately
 */
export async function enqueueCasesOfCustomers(
  tx: Tx,
  merchantId: string,
  customerIds: readonly string[],
  exceptInvoiceIds: readonly string[],
  entryId: string,
) {
  await tx.run(ENQUEUE_BY_CUSTOMER, [merchantId, customerIds, entryId, exceptInvoiceIds]);
}

const ENQUEUE_BY_SUBSCRIPTION = prepared(
  "poke_cases_by_subscription",
  `with affected as (
     select open.id
     from unnest($2::text[]) as subscription (id)
     cross join lateral (
       select id from cases where merchant_id = $1 and subscription_id = subscription.id and ended_at is null offset 0
     ) open
   )
   ${enqueueSql("select id from affected", "$3")}`,
);

/** Returns how many. */
export async function enqueueCasesOfSubscriptions(
  tx: Tx,
  merchantId: string,
  subscriptionIds: readonly string[],
  entryId: string,
) {
  return totalCases(
    (await tx.run<{ cases: number }>(ENQUEUE_BY_SUBSCRIPTION, [merchantId, subscriptionIds, entryId])).rows,
  );
}

const ENQUEUE_BY_EVENT = prepared(
  "poke_cases_by_event",
  enqueueSql("select distinct case_id from events where merchant_id = $1 and id = any($2::uuid[])", "$3"),
);

export async function enqueueCasesOfEvents(tx: Tx, merchantId: string, eventIds: readonly string[], entryId: string) {
  await tx.run(ENQUEUE_BY_EVENT, [merchantId, eventIds, entryId]);
}

const ENQUEUE = prepared(
  "poke_cases",
  "insert into case_pokes (merchant_id, id, part, case_ids) values ($1, $2, 0, $3::uuid[])",
);

export async function enqueueCases(tx: Tx, merchantId: string, caseIds: readonly string[], entryId: string) {
  await tx.run(ENQUEUE, [merchantId, entryId, caseIds]);
}

const ENQUEUE_OPEN = prepared(
  "poke_open_cases",
  enqueueSql("select id from cases where merchant_id = $1 and ended_at is null", "$2"),
);

export async function enqueueOpenCases(tx: Tx, merchantId: string, entryId: string) {
  await tx.run(ENQUEUE_OPEN, [merchantId, entryId]);
}
