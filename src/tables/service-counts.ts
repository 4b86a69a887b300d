import { prepared, type Tx } from "../postgres/database.ts";

const POSTPONED_CASES = prepared(
  "count_cases_aside",
  "select count(*)::int4 as cases from due_cases where failures > 0",
);

/** Cases whose last step failed. */
export async function countPostponedCases(tx: Tx): Promise<number> {
  return (await tx.run<{ cases: number }>(POSTPONED_CASES)).rows[0]!.cases;
}

const OLDEST_UNTRAINED = prepared(
  "oldest_unlearned",
  `select min(least(
     (select r.executed_at from listed_actions r
      where r.merchant_id = m.id and r.executed_at <= $1 and r.executed_at >= coalesce(l.noted_at, '-infinity')
        and (r.executed_at, r.id) > (coalesce(l.noted_at, '-infinity'), coalesce(l.lesson_id, m.id))
      order by r.executed_at, r.id limit 1),
     (select r.noted_at from watched_retries r
      where r.merchant_id = m.id and r.noted_at <= $1 and r.noted_at >= coalesce(l.noted_at, '-infinity')
        and (r.noted_at, r.id) > (coalesce(l.noted_at, '-infinity'), coalesce(l.lesson_id, m.id))
      order by r.noted_at, r.id limit 1)
   )) as at
   from merchants m left join learned_merchants l on l.merchant_id = m.id`,
);

export async function oldestUntrainedOutcome(tx: Tx, now: Date): Promise<Date | null> {
  return (await tx.run<{ at: Date | null }>(OLDEST_UNTRAINED, [now])).rows[0]!.at;
}

const ACTIONS = prepared(
  "count_actions_by_status",
  `select case right(facets, 1) when 'P' then 'planned' when 'T' then 'sent' when 'S' then 'succeeded' when 'F' then 'failed'
     when 'E' then 'expired' when 'C' then 'canceled' else 'delivery_failed' end as status, sum(actions)::int8 as actions
   from action_counts group by 1`,
);

/** Across all merchants. */
export async function countActionsByStatus(tx: Tx) {
  return (await tx.run<{ status: string; actions: number }>(ACTIONS)).rows;
}

const MONEY = prepared(
  "sum_cases_by_outcome",
  `select coalesce(outcome, 'open') as outcome, currency, sum(amount)::text as amount from cases
   where outcome in ('recovered', 'open') and currency is not null group by 1, 2`,
);

/** Minor units by currency. */
export async function sumMoneyByOutcome(tx: Tx) {
  return (await tx.run<{ outcome: string; currency: string; amount: string }>(MONEY)).rows;
}

const SESSIONS = prepared(
  "watch_sessions",
  `select count(*) filter (where wait_event_type = 'Lock')::int4 as waiting,
     coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)::float8 as "longestS"
   from pg_stat_activity where datname = current_database() and application_name like 'dunlin%'`,
);

/**
 * Dunlin sessions waiting for locks, and the oldest transaction's age in seconds.
 *
 * @param owner  the login, which alone sees its sessions
 */
export async function readSessionFacts(owner: Tx) {
  return (await owner.run<{ waiting: number; longestS: number }>(SESSIONS)).rows[0]!;
}
