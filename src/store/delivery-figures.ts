import { prepared, type Tx } from "./database.ts";

const UNDELIVERED = prepared(
  "undelivered",
  `select (select count(*) from events where merchant_id = $1 and exhausted_at is not null) as exhausted,
     (select count(*) from deliveries where merchant_id = $1) as waiting`,
);

/** A merchant's events that are not delivered. */
export interface Undelivered {
  /** Used up their attempts and were not replayed. */
  exhausted: number;
  /** For their next attempt. */
  waiting: number;
}

/** Counted anew. */
export async function countUndelivered(tx: Tx, merchantId: string) {
  return (await tx.run<Undelivered>(UNDELIVERED, [merchantId])).rows[0]!;
}

const FIGURES = prepared(
  "delivery_figures",
  `select count(*) filter (where round = 1 and number = 1) as "firstAttempts",
     count(*) filter (where round = 1 and number = 1 and success) as "firstSuccesses",
     percentile_cont(0.95) within group (order by duration_ms) filter (where success) as "p95Ms"
   from delivery_attempts where merchant_id = $1 and event_id >= $2`,
);

/** How a merchant's attempts go. */
export interface DeliveryFigures {
  firstAttempts: number;
  firstSuccesses: number;
  /** Of attempts that succeeded; null when none did. */
  p95Ms: number | null;
}

/** @param since  attempts at events made before it are left out */
export async function deliveryFigures(tx: Tx, merchantId: string, since: Date) {
  return (await tx.run<DeliveryFigures>(FIGURES, [merchantId, firstIdOf(since)])).rows[0]!;
}

const BY_HOUR = prepared(
  "attempts_by_hour",
  `select floor(extract(epoch from started_at - $3::timestamptz) / 3600)::int4 as hour,
     count(*) filter (where success) as delivered, count(*) filter (where not success) as failed
   from delivery_attempts where merchant_id = $1 and event_id >= $2 and started_at >= $3 group by 1 order by 1`,
);

/** Attempts of one hour. */
export interface AttemptsOfHour {
  /** 0 is the hour that begins at the moment that was asked about. */
  hour: number;
  delivered: number;
  failed: number;
}

/** Attempts since then, by the hour, at events made since then; hours without one are left out. */
export async function attemptsByHour(tx: Tx, merchantId: string, since: Date) {
  return (await tx.run<AttemptsOfHour>(BY_HOUR, [merchantId, firstIdOf(since), since])).rows;
}

/** Ids begin with their moment: no event made then or later has a lower one. */
function firstIdOf(since: Date): string {
  const hex = since.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
