import assert from "node:assert/strict";
import { arrayParameters, type Column, columnValues } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** A merchant with cases that want a look. */
export interface MerchantWork {
  merchantId: string;
  /** Since when the first of them waits, in service time. */
  since: Date;
}

/** So many due cases are read at once. Where they are of few merchants, those are left out, and more are read. */
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

// From one merchant's first poke to the next one's, however many pokes each has.
const QUEUED_MERCHANTS = prepared(
  "poked_merchants",
  `with recursive p (merchant_id, id) as (
     (select merchant_id, id from case_pokes order by merchant_id, id limit 1)
     union all
     select n.* from p cross join lateral (
       select merchant_id, id from case_pokes where merchant_id > p.merchant_id order by merchant_id, id limit 1) n
   )
   select merchant_id as "merchantId", id from p`,
);

/** Merchants with cases that were poked or are due; who waits longest comes first. Others cost nothing, however many there are. */
export async function merchantsWithWork(tx: Tx, now: Date): Promise<MerchantWork[]> {
  const [poked, due] = await Promise.all([
    tx.run<{ merchantId: string; id: string }>(QUEUED_MERCHANTS),
    readDueMerchants(tx, now),
  ]);
  const found = new Map(poked.rows.map(({ merchantId, id }) => [merchantId, timeOfUuid(id)]));
  for (const { merchantId, since } of due) {
    const known = found.get(merchantId);
    if (known === undefined || since < known) found.set(merchantId, since);
  }
  return [...found]
    .map(([merchantId, since]) => ({ merchantId, since }))
    .sort((a, b) => a.since.getTime() - b.since.getTime());
}

async function readDueMerchants(tx: Tx, now: Date): Promise<MerchantWork[]> {
  const found: MerchantWork[] = [];
  for (let reads = 0; reads < READS_MAX; reads++) {
    const leftOut = found.map(({ merchantId }) => merchantId);
    const { rows } = await tx.run<MerchantWork & { cases: number }>(DUE_MERCHANTS, [
      now,
      encodeTextArray(leftOut, "uuid"),
    ]);
    found.push(...rows);
    if (rows.reduce((sum, { cases }) => sum + cases, 0) < DUE_READ_SIZE) break;
  }
  return found;
}

/** The moment in a UUID of version 7. */
const timeOfUuid = (id: string) => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));

const NEXT = prepared("next_due_case", `select min(due_at) as "dueAt" from due_cases where due_at > $1`);

/** When the next case falls due after `now`, of whichever merchant; null: none. */
export async function nextDueCase(tx: Tx, now: Date): Promise<Date | null> {
  return (await tx.run<{ dueAt: Date | null }>(NEXT, [now])).rows[0]!.dueAt;
}

const DUE = prepared(
  "due_cases",
  `select case_id as "caseId", failures from due_cases
   where merchant_id = $1 and due_at <= $2 order by due_at, case_id limit $3 for update skip locked`,
);

/** Locks up to `limit` due cases of a merchant, longest due first, and skips those that another transaction holds. `failures`: failed steps in a row. */
export async function dueCases(tx: Tx, merchantId: string, now: Date, limit: number) {
  return (await tx.run<{ caseId: string; failures: number }>(DUE, [merchantId, now, limit])).rows;
}

/** When a case wants its next look; null: never, unless it is poked. */
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

/** Write when these cases, which were stepped at `now`, are due next. They are locked. */
export async function rescheduleCases(tx: Tx, merchantId: string, looks: readonly NextEvaluation[], now: Date) {
  const moved = looks.filter(({ dueAt }) => dueAt !== null);
  // Stepped again at once and for ever, such a case would hold up those that are due after it: it is set aside as one that fails.
  assert(
    moved.every(({ dueAt }) => dueAt! > now),
    "a case is due again before it was stepped",
  );
  const rested = looks.filter(({ dueAt }) => dueAt === null);
  if (moved.length > 0) await tx.run(RESCHEDULE, [merchantId, ...columnValues(moved, COLUMNS)]);
  if (rested.length > 0) await tx.run(UNSCHEDULE, [merchantId, rested.map(({ id }) => id)]);
}

const DELETE_ORPHANED = prepared(
  "drop_gone_cases",
  `with gone as (
     select id from unnest($2::uuid[]) as e (id) where not exists (select from cases k where k.merchant_id = $1 and k.id = e.id offset 0)
   ), dropped as (delete from due_cases where merchant_id = $1 and case_id in (select id from gone))
   select id from gone`,
);

/** Removes deleted cases from `due_cases` and returns their ids. A statement that read them before the deletion may have made them due since. */
export async function deleteOrphanedDueCases(
  tx: Tx,
  merchantId: string,
  caseIds: readonly string[],
): Promise<Set<string>> {
  return new Set((await tx.run<{ id: string }>(DELETE_ORPHANED, [merchantId, caseIds])).rows.map(({ id }) => id));
}

const POSTPONE = prepared(
  "set_case_aside",
  `with heeded as (
     update case_pokes set case_ids = array_remove(case_ids, $2) where merchant_id = $1 and $2 = any(case_ids))
   insert into due_cases (merchant_id, case_id, due_at, failures) values ($1, $2, $3, 1)
   on conflict (merchant_id, case_id) do update set due_at = excluded.due_at, failures = due_cases.failures + 1`,
);

/** A step on this case failed: look again at `dueAt`, or when it is poked anew. */
export async function postponeFailedCase(tx: Tx, merchantId: string, caseId: string, dueAt: Date) {
  await tx.run(POSTPONE, [merchantId, caseId, dueAt]);
}
