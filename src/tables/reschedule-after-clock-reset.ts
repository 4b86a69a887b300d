import { type Database, prepared } from "../postgres/database.ts";

// First attempts are due at once; later ones keep their delay.
const DELIVERIES = prepared(
  "bring_deliveries_forward",
  `update deliveries d set due_at = case when w.attempts = 0 then $1 else w.due_at - (a.ended_at - $1) end
   from merchants m
   cross join lateral (
     select event_id, round, attempts, due_at from deliveries where merchant_id = m.id and due_at > $1 offset 0) w
   left join lateral (
     select ended_at from delivery_attempts
     where merchant_id = m.id and event_id = w.event_id and round = w.round and number = w.attempts limit 1) a on true
   where d.merchant_id = m.id and d.event_id = w.event_id and (w.attempts = 0 or a.ended_at > $1)`,
);

const CASES = prepared(
  "bring_cases_forward",
  `insert into case_pokes (merchant_id, id, part, case_ids)
   select merchant_id, $2::uuid, part, array_agg(id order by id) from (
     select m.id as merchant_id, k.id, (row_number() over (partition by m.id order by k.id) - 1) / 100 as part
     from merchants m
     cross join lateral (
       select c.id from due_cases q join cases c on c.merchant_id = m.id and c.id = q.case_id
       where q.merchant_id = m.id and q.due_at > $1 and c.opened_at > $1
       union
       select case_id from recovery_actions where merchant_id = m.id and updated_at > $1
       offset 0) k
   ) k
   group by merchant_id, part
   returning cardinality(case_ids) as cases`,
);

/** Also queues cases opened or stepped while a clock was ahead. Returns the number of each. */
export async function rescheduleAfterClockReset(db: Database, now: Date, entryId: string) {
  const { rowCount } = await db.run(DELIVERIES, [now]);
  const { rows } = await db.run<{ cases: number }>(CASES, [now, entryId]);
  return { deliveries: rowCount, cases: rows.reduce((sum, { cases }) => sum + cases, 0) };
}
