import assert from "node:assert/strict";
import { arrays, type Column, columnValues } from "./batch.ts";
import { prepared, type Tx } from "./database.ts";

// Both by the first row of an index. Whether a poke exists looks as cheap by reading all pokes: the planner takes each to be of the merchant asked for.
const FIRST = prepared(
  "first_due_cases",
  `select * from (
     select m.id as "merchantId", (select min(d.due_at) from due_cases d where d.merchant_id = m.id) as "dueAt",
       (select p.id from case_pokes p where p.merchant_id = m.id order by p.id limit 1) is not null as poked
     from merchants m
   ) f where poked or "dueAt" is not null order by "dueAt" nulls first`,
);

/** Whether a merchant has poked cases, and when its first case falls due: two index probes per merchant, however long the queues are. */
export interface FirstDue {
  merchantId: string;
  dueAt: Date | null;
  poked: boolean;
}

/** Merchants with cases in need of a look, now or later; who waits longest comes first. */
export async function firstDueCases(tx: Tx) {
  return (await tx.run<FirstDue>(FIRST)).rows;
}

const DUE = prepared(
  "due_cases",
  `select case_id as "caseId", failures from due_cases
   where merchant_id = $1 and due_at <= $2 order by due_at, case_id limit $3`,
);

/** Up to `limit` cases of a merchant that are due, longest due first, and how many steps on each have failed in a row. */
export async function dueCases(tx: Tx, merchantId: string, now: Date, limit: number) {
  return (await tx.run<{ caseId: string; failures: number }>(DUE, [merchantId, now, limit])).rows;
}

/** When a case wants its next look; null: never, unless it is poked. */
export interface NextLook {
  id: string;
  dueAt: Date | null;
}

const COLUMNS: readonly Column<NextLook>[] = [
  ["id", "uuid", "id"],
  ["due_at", "timestamptz", "dueAt"],
];

const MOVE = prepared(
  "move_due_cases",
  `insert into due_cases (merchant_id, case_id, due_at)
   select $1::uuid, n.id, n.due_at from unnest(${arrays(COLUMNS, 2)}) as n (id, due_at)
   on conflict (merchant_id, case_id) do update set due_at = excluded.due_at, failures = 0`,
);
const REST = prepared("rest_due_cases", "delete from due_cases where merchant_id = $1 and case_id = any($2::uuid[])");

/** Write when these cases, which were stepped at `now`, are due next. They are locked, and so is the merchant's clock. */
export async function moveDueCases(tx: Tx, merchantId: string, looks: readonly NextLook[], now: Date) {
  const moved = looks.filter(({ dueAt }) => dueAt !== null);
  // Stepped again at once and for ever, such a case would hold up those that are due after it: it is set aside as one that fails.
  assert(
    moved.every(({ dueAt }) => dueAt! > now),
    "a case is due again before it was stepped",
  );
  const rested = looks.filter(({ dueAt }) => dueAt === null);
  if (moved.length > 0) await tx.run(MOVE, [merchantId, ...columnValues(moved, COLUMNS)]);
  if (rested.length > 0) await tx.run(REST, [merchantId, rested.map(({ id }) => id)]);
}

const SET_ASIDE = prepared(
  "set_case_aside",
  `with heeded as (
     update case_pokes set case_ids = array_remove(case_ids, $2) where merchant_id = $1 and $2 = any(case_ids))
   insert into due_cases (merchant_id, case_id, due_at, failures) values ($1, $2, $3, 1)
   on conflict (merchant_id, case_id) do update set due_at = excluded.due_at, failures = due_cases.failures + 1`,
);

/** A step on this case failed: look again at `dueAt`, or when it is poked anew. */
export async function setCaseAside(tx: Tx, merchantId: string, caseId: string, dueAt: Date) {
  await tx.run(SET_ASIDE, [merchantId, caseId, dueAt]);
}
