import assert from "node:assert/strict";
import { arrayParameters, type Column, columnValues } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export interface MerchantWork {
  merchantId: string;
  /** Service time. */
  since: Date;
}

/** If few merchants have that many, the next read excludes them. */
const DUE_READ_SIZE = 1_000;
const READS_MAX = 4;

const DUE_MERCHANTS = prepared(
  "due_merchants",
  `select merchant_id as "merchantId", min(due_at) as since, count(*)::int4 as cases
   from (
     select merchant_id, due_at from due_cases where due_at <= $1 and merchant_id <> all($2::uuid[])
     order by due_at limit ${DUE_READ_SIZE}
   ) d
   group by merchant_id`,
);

/** A merchant with more than these is passed over with the next read. */
const QUEUE_READ_SIZE = 1_000;

const QUEUED_MERCHANTS = prepared(
  "poked_merchants",
  `select merchant_id as "merchantId", id from case_pokes
   where merchant_id > $1 order by merchant_id, id limit ${QUEUE_READ_SIZE}`,
);

/** The oldest entry of each merchant. */
async function readQueuedMerchants(tx: Tx): Promise<Map<string, Date>> {
  const sinceByMerchant = new Map<string, Date>();
  for (let after = "00000000-0000-0000-0000-000000000000"; ; ) {
    const { rows } = await tx.run<{ merchantId: string; id: string }>(QUEUED_MERCHANTS, [after]);
    for (const { merchantId, id } of rows)
      if (!sinceByMerchant.has(merchantId)) sinceByMerchant.set(merchantId, timeOfUuid(id));
    if (rows.length < QUEUE_READ_SIZE) return sinceByMerchant;
    after = rows.at(-1)!.merchantId;
  }
}

/** Longest waiting first. */
export async function merchantsWithWork(tx: Tx, now: Date): Promise<MerchantWork[]> {
  const [sinceByMerchant, due] = await Promise.all([readQueuedMerchants(tx), readDueMerchants(tx, now)]);
  for (const { merchantId, since } of due) {
    const queuedSince = sinceByMerchant.get(merchantId);
    if (queuedSince === undefined || since < queuedSince) sinceByMerchant.set(merchantId, since);
  }
  return [...sinceByMerchant]
    .map(([merchantId, since]) => ({ merchantId, since }))
    .sort((a, b) => a.since.getTime() - b.since.getTime());
}

async function readDueMerchants(tx: Tx, now: Date): Promise<MerchantWork[]> {
  const found: MerchantWork[] = [];
  for (let reads = 0; reads < READS_MAX; reads++) {
    const excludedIds = found.map(({ merchantId }) => merchantId);
    const { rows } = await tx.run<MerchantWork & { cases: number }>(DUE_MERCHANTS, [
      now,
      encodeTextArray(excludedIds, "uuid"),
    ]);
    found.push(...rows);
    if (rows.reduce((sum, { cases }) => sum + cases, 0) < DUE_READ_SIZE) break;
  }
  return found;
}

const timeOfUuid = (id: string) => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));

const NEXT = prepared("next_due_case", `select min(due_at) as "dueAt" from due_cases where due_at > $1`);

/** Across all merchants. */
export async function nextDueCase(tx: Tx, now: Date): Promise<Date | null> {
  return (await tx.run<{ dueAt: Date | null }>(NEXT, [now])).rows[0]!.dueAt;
}

const DUE = prepared(
  "due_cases",
  `select case_id as "caseId", failures from due_cases
   where merchant_id = $1 and due_at <= $2 order by due_at, case_id limit $3 for update skip locked`,
);

/** Locks them, longest due first. Skips cases that another transaction holds. `failures`: failed steps in a row. */
export async function dueCases(tx: Tx, merchantId: string, now: Date, limit: number) {
  return (await tx.run<{ caseId: string; failures: number }>(DUE, [merchantId, now, limit])).rows;
}

/** Null: only if the case is queued. */
export interface NextEvaluation {
  id: string;
  dueAt: Date | null;
}

const COLUMNS: readonly Column<NextEvaluation>[] = [
  ["id", "uuid", "id"],
  ["due_at", "timestamptz", "dueAt"],
];

const RESCHEDULE = prepared(
  "move_due_cases",
  `insert into due_cases (merchant_id, case_id, due_at)
   select $1::uuid, n.id, n.due_at from unnest(${arrayParameters(COLUMNS, 2)}) as n (id, due_at)
   on conflict (merchant_id, case_id) do update set due_at = excluded.due_at, failures = 0`,
);
const UNSCHEDULE = prepared(
  "rest_due_cases",
  "delete from due_cases where merchant_id = $1 and case_id = any($2::uuid[])",
);

/** For locked cases, stepped at `now`. */
export async function rescheduleCases(tx: Tx, merchantId: string, evaluations: readonly NextEvaluation[], now: Date) {
  const scheduled = evaluations.filter(({ dueAt }) => dueAt !== null);
  // It would be stepped forever and delay others.
  assert(
    scheduled.every(({ dueAt }) => dueAt! > now),
    "a case is due again before it was stepped",
  );
  const unscheduled = evaluations.filter(({ dueAt }) => dueAt === null);
  if (scheduled.length > 0) await tx.run(RESCHEDULE, [merchantId, ...columnValues(scheduled, COLUMNS)]);
  if (unscheduled.length > 0) await tx.run(UNSCHEDULE, [merchantId, unscheduled.map(({ id }) => id)]);
}

const DELETE_ORPHANED = prepared(
  "drop_gone_cases",
  `with orphaned as (
     select id from unnest($2::uuid[]) as e (id)
     where not exists (select from cases k where k.merchant_id = $1 and k.id = e.id offset 0)
   ), deleted as (
     delete from due_cases where merchant_id = $1 and case_id in (select id from orphaned)
   )
   select id from orphaned`,
);

/** A concurrent statement may have scheduled a deleted case. Returns the removed ids. */
export async function deleteOrphanedDueCases(
  tx: Tx,
  merchantId: string,
  caseIds: readonly string[],
): Promise<Set<string>> {
  return new Set((await tx.run<{ id: string }>(DELETE_ORPHANED, [merchantId, caseIds])).rows.map(({ id }) => id));
}

const POSTPONE = prepared(
  "set_case_aside",
  `with dequeued as (
     update case_pokes set case_ids = array_remove(case_ids, $2) where merchant_id = $1 and $2 = any(case_ids)
   )
   insert into due_cases (merchant_id, case_id, due_at, failures) values ($1, $2, $3, 1)
   on conflict (merchant_id, case_id) do update set due_at = excluded.due_at, failures = due_cases.failures + 1`,
);

export async function postponeFailedCase(tx: Tx, merchantId: string, caseId: string, dueAt: Date) {
  await tx.run(POSTPONE, [merchantId, caseId, dueAt]);
}
