import { type Database, prepared } from "../postgres/database.ts";

const FIRST_ATTEMPTS = prepared(
  "bring_first_deliveries_forward",
  `update deliveries d set due_at = $1 from merchants m where d.merchant_id = m.id and d.due_at > $1 and d.attempts = 0`,
);
// They keep their delay.
const LATER_ATTEMPTS = prepared(
  "bring_later_deliveries_forward",
  `update deliveries d set due_at = (d.due_at at time zone 'UTC' - (a.ended_at - $1)) at time zone 'UTC'
   from merchants m, delivery_attempts a
   where d.merchant_id = m.id and d.due_at > $1 and d.attempts > 0
     and a.merchant_id = d.merchant_id and a.event_id = d.event_id and a.round = d.round and a.number = d.attempts and a.ended_at > $1`,
);

const CASES = prepared(
  "bring_cases_forward",
  `insert into case_pokes as queued (merchant_id, id, part, case_ids)
   select merchant_id, $2::uuid, part, array_agg(id order by id) from (
     select m.id as merchant_id, k.id, (row_number() over (partition by m.id order by k.id) - 1) / 100 as part
     from merchants m
     cross join lateral (
       select c.id from due_cases q join cases c on c.merchant_id = m.id and c.id = q.case_id
       where q.merchant_id = m.id and q.due_at > $1 and c.opened_at > $1
       union
       select r.case_id
       from (select id from listed_actions where merchant_id = m.id and updated_at > $1 order by updated_at offset 0) l
       join recovery_actions r on r.merchant_id = m.id and r.id = l.id
       offset 0) k
   ) k
   group by merchant_id, part
   returning cardinality(queued.case_ids) as cases`,
);

/** Also queues cases opened or stepped while a clock was ahead. Returns the number of each. */
export async function rescheduleAfterClockReset(db: Database, now: Date, entryId: string) {
  const moved = await Promise.all([FIRST_ATTEMPTS, LATER_ATTEMPTS].map((statement) => db.run(statement, [now])));
  const rowCount = moved.reduce((sum, each) => sum + each.rowCount, 0);
  const { rows } = await db.run<{ cases: number }>(CASES, [now, entryId]);
  return { deliveries: rowCount, cases: rows.reduce((sum, { cases }) => sum + cases, 0) };
}
