import { type Database, prepared, type Tx } from "../postgres/database.ts";

// Reads every row; parallel workers would take CPU from other statements.
const WITHOUT_PARALLEL_WORKERS = prepared(
  "count_alone",
  "select set_config('max_parallel_workers_per_gather', '0', true), set_config('statement_timeout', '30s', true)",
);
const DEPTHS = prepared(
  "delivery_depths",
  `with waiting as (select merchant_id, count(*) as depth from deliveries group by merchant_id),
   ranked as (select merchant_id, depth, row_number() over (order by depth desc, merchant_id) as place from waiting)
   select case when place <= $1 then merchant_id end as "merchantId", sum(depth)::int8 as depth
   from ranked group by 1`,
);

/** `merchantId` is null for all other merchants together. */
export interface QueueDepth {
  merchantId: string | null;
  depth: number;
}

/**
 * Expensive.
 *
 * @param top  merchants with the most undelivered events
 */
export async function countQueueDepths(db: Database, top: number): Promise<QueueDepth[]> {
  return db.transaction(async (tx) => {
    await tx.run(WITHOUT_PARALLEL_WORKERS);
    return (await tx.run<QueueDepth>(DEPTHS, [top])).rows;
  });
}

const OLDEST = prepared(
  "oldest_deliveries_due",
  `select * from (
     select m.id as "merchantId", (select min(d.due_at) from deliveries d where d.merchant_id = m.id) as "dueAt"
     from merchants m where not m.webhook_paused and m.webhook_url is not null
   ) o where "dueAt" <= $1`,
);

/** Excludes paused merchants. */
export async function findOldestDue(tx: Tx, now: Date) {
  return (await tx.run<{ merchantId: string; dueAt: Date }>(OLDEST, [now])).rows;
}

const ENDPOINTS = prepared(
  "count_endpoints",
  `select count(*) filter (where webhook_failing_since is not null and not webhook_paused) as failing,
     count(*) filter (where webhook_paused and webhook_paused_by is not distinct from 'dunlin') as "pausedByDunlin",
     count(*) filter (where webhook_paused and webhook_paused_by is distinct from 'dunlin') as "pausedByPerson"
   from merchants`,
);

export interface EndpointCounts {
  /** For at least a minute, at every attempt. */
  failing: number;
  pausedByDunlin: number;
  pausedByPerson: number;
}

export async function countFailingEndpoints(tx: Tx): Promise<EndpointCounts> {
  return (await tx.run<EndpointCounts>(ENDPOINTS)).rows[0]!;
}

const ATTEMPTS = prepared(
  "count_attempts",
  `select event_id as "eventId", count(*) as n from delivery_attempts where merchant_id = $1 group by event_id`,
);

export async function countAttemptsByEvent(tx: Tx, merchantId: string) {
  const { rows } = await tx.run<{ eventId: string; n: number }>(ATTEMPTS, [merchantId]);
  return new Map(rows.map(({ eventId, n }) => [eventId, n]));
}
