import { arrays, type Column, columnValues } from "./batch.ts";
import { prepared, type Tx } from "./database.ts";

/**
 * Statement text that makes the deciding loop look at the cases that `ids` selects (one column, no id twice), at `at` or earlier.
 * `$1` is the merchant. Every poke touches the row even when it is due already: so it waits for a step that is under way on older
 * facts, and that step does not overwrite it. Sorted, so that two pokes take their row locks in the same order.
 */
export const poke = (ids: string, at: string) =>
  `insert into due_cases (merchant_id, case_id, due_at)
   select $1::uuid, k.id, ${at}::timestamptz from (${ids}) k (id) order by k.id
   on conflict (merchant_id, case_id) do update set due_at = least(due_cases.due_at, excluded.due_at)`;

const FIRST = prepared(
  "first_due_cases",
  `select * from (
     select m.id as "merchantId", (select min(d.due_at) from due_cases d where d.merchant_id = m.id) as "dueAt" from merchants m
   ) f where "dueAt" is not null order by "dueAt"`,
);

/** When the first case of each merchant falls due, earliest first: one index probe per merchant, however long the queues are. */
export async function firstDueCases(tx: Tx) {
  return (await tx.run<{ merchantId: string; dueAt: Date }>(FIRST)).rows;
}

const HOLD = prepared(
  "hold_due_cases",
  `select case_id as "caseId", failures from due_cases
   where merchant_id = $1 and case_id = any($2::uuid[]) and due_at <= $3
   order by due_at, case_id for update skip locked`,
);

/** Lock the due rows of these cases, longest due first; pokes wait from now on. */
export async function holdDueCases(tx: Tx, merchantId: string, caseIds: readonly string[], now: Date) {
  return (await tx.run<{ caseId: string; failures: number }>(HOLD, [merchantId, caseIds, now])).rows;
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
  `update due_cases d set due_at = n.due_at, failures = 0
   from unnest(${arrays(COLUMNS, 2)}) as n (id, due_at)
   where d.merchant_id = $1 and d.case_id = n.id`,
);
const REST = prepared("rest_due_cases", "delete from due_cases where merchant_id = $1 and case_id = any($2::uuid[])");

/** Write when these cases, which are locked by `takeDueCases`, are due next. */
export async function moveDueCases(tx: Tx, merchantId: string, looks: readonly NextLook[]) {
  const moved = looks.filter(({ dueAt }) => dueAt !== null);
  const rested = looks.filter(({ dueAt }) => dueAt === null);
  if (moved.length > 0) await tx.run(MOVE, [merchantId, ...columnValues(moved, COLUMNS)]);
  if (rested.length > 0) await tx.run(REST, [merchantId, rested.map(({ id }) => id)]);
}

const SET_ASIDE = prepared(
  "set_case_aside",
  "update due_cases set due_at = $3, failures = failures + 1 where merchant_id = $1 and case_id = $2",
);

/** A step on this case failed: look again at `dueAt`. */
export async function setCaseAside(tx: Tx, merchantId: string, caseId: string, dueAt: Date) {
  await tx.run(SET_ASIDE, [merchantId, caseId, dueAt]);
}
