import { prepared, type Tx } from "../postgres/database.ts";

/** About as many cases as a step takes: what is left of a row after a step is written anew. */
const ENTRY_SIZE = 100;

/**
 * Statement text that makes the deciding loop look at the cases that `ids` selects (one column, no id twice), and returns how many
 * there are in each row. They are looked at oldest first, whatever way PostgreSQL finds them. `$1` is the merchant; `pokeId` a parameter
 * with an id that is new for this statement, in the order of time.
 */
export const enqueueSql = (ids: string, pokeId: string) =>
  `insert into case_pokes (merchant_id, id, part, case_ids)
   select $1::uuid, ${pokeId}::uuid, k.part, array_agg(k.id order by k.id)
   from (select k.id, (row_number() over (order by k.id) - 1) / ${ENTRY_SIZE} as part from (${ids}) k (id)) k group by k.part
   returning cardinality(case_ids) as cases`;

/** A row of `case_pokes`. */
export interface QueueEntry {
  id: string;
  part: number;
  caseIds: string[];
}

// As one text: the driver reads an array letter by letter, and a thousand ids are looked at for a hundred steps.
const READ = prepared(
  "first_pokes",
  `select id, part, array_to_string(case_ids, ' ') as "caseIds"
   from (
     select *, sum(cardinality(case_ids)) over (order by id, part rows unbounded preceding) - cardinality(case_ids) as before
     from (select id, part, case_ids from case_pokes where merchant_id = $1 order by id, part limit $2 for update skip locked) p
   ) p
   where before < $3 order by id, part`,
);

/** Lock the first pokes of a merchant that nobody else holds, oldest first: at most `pokes`, and no more than it takes to hold `cases`. */
export async function readQueue(tx: Tx, merchantId: string, pokes: number, cases: number) {
  const { rows } = await tx.run<Omit<QueueEntry, "caseIds"> & { caseIds: string }>(READ, [merchantId, pokes, cases]);
  return rows.map((poke) => ({ ...poke, caseIds: poke.caseIds === "" ? [] : poke.caseIds.split(" ") }));
}

const DELETE_ENTRIES = prepared(
  "take_pokes",
  `delete from case_pokes p using unnest($2::uuid[], $3::int4[]) as t (id, part)
   where p.merchant_id = $1 and p.id = t.id and p.part = t.part`,
);
const SHRINK_ENTRY = prepared(
  "leave_pokes",
  "update case_pokes set case_ids = $4 where merchant_id = $1 and id = $2 and part = $3",
);

/**
 * The pokes of these cases are heeded: facts that were written with them are visible to every later statement.
 *
 * @param pokes  as they were read; they are locked, so they are still the same
 */
export async function dequeue(
  tx: Tx,
  merchantId: string,
  pokes: readonly QueueEntry[],
  isHeeded: (id: string) => boolean,
) {
  const left = pokes.map((poke) => ({ ...poke, caseIds: poke.caseIds.filter((id) => !isHeeded(id)) }));
  const done = left.filter(({ caseIds }) => caseIds.length === 0);
  if (done.length > 0)
    await tx.run(DELETE_ENTRIES, [merchantId, done.map(({ id }) => id), done.map(({ part }) => part)]);
  for (const [index, { id, part, caseIds }] of left.entries())
    if (caseIds.length > 0 && caseIds.length < pokes[index]!.caseIds.length)
      await tx.run(SHRINK_ENTRY, [merchantId, id, part, caseIds]);
}

/**
 * Text that finds the cases of `each` by a column, as `k (id, ended_at)`. A lateral subquery that cannot be flattened, so each is one probe of an index: left to
 * choose, a plan made while the table was small compares every case with every record of a batch.
 */
export const lateralCasesBy = (column: string, each: string, condition = "true") =>
  `cross join lateral (select id, ended_at from cases where merchant_id = $1 and ${column} = ${each} and ${condition} offset 0) k`;

const ENQUEUE_BY_INVOICE = prepared(
  "poke_cases_by_invoice",
  `with k as (select k.id, k.ended_at, e.each as invoice_id from unnest($2::text[]) as e (each) ${lateralCasesBy("invoice_id", "e.each")}),
   poked as (${enqueueSql("select id from k", "$3")})
   select distinct invoice_id as "invoiceId" from k where ended_at is null`,
);

/** New facts about these invoices: their cases, ended ones too, want a look now; returns those of the invoices that have an open one. */
export async function enqueueCasesOfInvoices(
  tx: Tx,
  merchantId: string,
  invoiceIds: readonly string[],
  pokeId: string,
) {
  const { rows } = await tx.run<{ invoiceId: string }>(ENQUEUE_BY_INVOICE, [merchantId, invoiceIds, pokeId]);
  return new Set(rows.map(({ invoiceId }) => invoiceId));
}

const totalCases = (rows: readonly { cases: number }[]) => rows.reduce((sum, { cases }) => sum + cases, 0);

/** Who has more open cases than this is no person, and all of them would be planned anew with each attempt. */
const MAX_OPEN_CASES_PER_CUSTOMER = 16;

/** Open cases in the words of their index by customer: by others one of all open cases may be read from end to end for each, while statistics know of none. */
const openCasesOf = (customer: string, limit = "offset 0") =>
  `(select id, invoice_id from cases where merchant_id = $1 and customer_id = ${customer} and coalesce(ended_at, 'infinity') = 'infinity' ${limit})`;
/** As many as show whether they are few. */
const firstOpenCasesOf = (customer: string) => openCasesOf(customer, `limit ${MAX_OPEN_CASES_PER_CUSTOMER + 1}`);
const isIndividual = (customer: string) =>
  `(select count(*) from ${firstOpenCasesOf(customer)} o) <= ${MAX_OPEN_CASES_PER_CUSTOMER}`;

/**
 * Text that selects what `poke` takes: the open cases that another invoice of their customer tells something new, where no attempt on that does; none of a
 * customer with very many. To be run in the statement that stores the invoices, which sees them as they were before. What few need is asked last.
 *
 * @param bills  text that selects of invoices that are paid or in recovery by now their id, customer, and whether they are paid
 * @param isRecovery  text of whether a state is in recovery
 */
export const casesAffectedByInvoices = (bills: string, isRecovery: (state: string) => string) =>
  `select distinct h.id from (
     select k.id, k.invoice_id, e.* from (${bills}) e (bill, each, paid)
     cross join lateral ${firstOpenCasesOf("e.each")} k
     offset 0
   ) h
   where h.invoice_id <> h.bill and ${isIndividual("h.each")}
     and not exists (select from transactions where merchant_id = $1 and invoice_id = h.bill offset 0)
     and not exists (
       select from invoices where merchant_id = $1 and id = h.bill and case when h.paid then state = 'PAID' else ${isRecovery("state")} end offset 0)`;

// Whoever waits for a new card wants to know of it also where the customer is no person.
const ENQUEUE_BY_CUSTOMER = prepared(
  "poke_cases_by_customer",
  enqueueSql(
    `select k.id from unnest($2::text[]) as e (each)
     cross join lateral (select ${isIndividual("e.each")} as few offset 0) of
     cross join lateral ${openCasesOf("e.each")} k
     where k.invoice_id <> all ($4::text[]) and (of.few or exists (
       select 1 from recovery_actions r
       where r.merchant_id = $1 and r.case_id = k.id and r.type = 'CARD_CHANGE' and r.status in ('SCHEDULED', 'SENT', 'EXPIRED')))`,
    "$3",
  ),
);

/**
 * New facts about these customers: their open cases want a look now, but for those of `invoiceIds`, which get one anyhow. Of a customer with very many only
 * those that wait for another card, also once the time for it is over.
 */
export async function enqueueCasesOfCustomers(
  tx: Tx,
  merchantId: string,
  customerIds: readonly string[],
  invoiceIds: readonly string[],
  pokeId: string,
) {
  await tx.run(ENQUEUE_BY_CUSTOMER, [merchantId, customerIds, pokeId, invoiceIds]);
}

const ENQUEUE_BY_SUBSCRIPTION = prepared(
  "poke_cases_by_subscription",
  enqueueSql(
    `select k.id from unnest($2::text[]) as e (each) ${lateralCasesBy("subscription_id", "e.each", "ended_at is null")}`,
    "$3",
  ),
);

/** These subscriptions changed: the open cases of their invoices want a look now; returns how many there are. */
export async function enqueueCasesOfSubscriptions(tx: Tx, merchantId: string, ids: readonly string[], pokeId: string) {
  return totalCases((await tx.run<{ cases: number }>(ENQUEUE_BY_SUBSCRIPTION, [merchantId, ids, pokeId])).rows);
}

const ENQUEUE_BY_EVENT = prepared(
  "poke_cases_by_event",
  enqueueSql("select distinct case_id from events where merchant_id = $1 and id = any($2::uuid[])", "$3"),
);

/** These events are on their way again: their cases wait for them. */
export async function enqueueCasesOfEvents(tx: Tx, merchantId: string, eventIds: readonly string[], pokeId: string) {
  await tx.run(ENQUEUE_BY_EVENT, [merchantId, eventIds, pokeId]);
}

const ENQUEUE = prepared(
  "poke_cases",
  "insert into case_pokes (merchant_id, id, part, case_ids) values ($1, $2, 0, $3::uuid[])",
);

/** These cases want another look. */
export async function enqueueCases(tx: Tx, merchantId: string, caseIds: readonly string[], pokeId: string) {
  await tx.run(ENQUEUE, [merchantId, pokeId, caseIds]);
}

const ENQUEUE_OPEN = prepared(
  "poke_open_cases",
  enqueueSql("select id from cases where merchant_id = $1 and ended_at is null", "$2"),
);

/** The merchant's settings changed: every open case wants a look. */
export async function enqueueOpenCases(tx: Tx, merchantId: string, pokeId: string) {
  await tx.run(ENQUEUE_OPEN, [merchantId, pokeId]);
}
