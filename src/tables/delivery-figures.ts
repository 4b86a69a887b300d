import { prepared, type Tx } from "../postgres/database.ts";

const UNDELIVERED = prepared(
  "undelivered",
  `select (select count(*) from events where merchant_id = $1 and exhausted_at is not null) as exhausted,
     waiting, failed
   from (select count(*) as waiting, count(*) filter (where attempts > 0) as failed from deliveries where merchant_id = $1) d`,
);

export interface UndeliveredCounts {
  /** Excludes replayed ones. */
  exhausted: number;
  /** For their next attempt. */
  waiting: number;
  failed: number;
}

export async function countUndelivered(tx: Tx, merchantId: string) {
  return (await tx.run<UndeliveredCounts>(UNDELIVERED, [merchantId])).rows[0]!;
}

// Unnamed: a generic plan would read all attempts.
const FIGURES = prepared(
  "",
  `select count(*) filter (where round = 1 and number = 1) as "firstAttempts",
     count(*) filter (where round = 1 and number = 1 and success) as "firstSuccesses",
     percentile_cont(0.95) within group (order by duration_ms) filter (where success) as "p95Ms"
   from delivery_attempts where merchant_id = $1 and started_at >= $2`,
);

export interface DeliveryFigures {
  firstAttempts: number;
  firstSuccesses: number;
  /** Successful attempts; null if none. */
  p95Ms: number | null;
}

/** By start, from `since` on. */
export async function readDeliveryFigures(tx: Tx, merchantId: string, since: Date) {
  return (await tx.run<DeliveryFigures>(FIGURES, [merchantId, since])).rows[0]!;
}

const BY_HOUR = prepared(
  "",
  `select floor(extract(epoch from started_at - $2::timestamptz) / 3600)::int4 as hour,
     count(*) filter (where success) as delivered, count(*) filter (where not success) as failed
   from delivery_attempts where merchant_id = $1 and started_at >= $2 group by 1 order by 1`,
);

export interface HourlyAttempts {
  /** Hours after `since`. */
  hour: number;
  delivered: number;
  failed: number;
}

/** Omits hours without attempts. */
export async function countAttemptsByHour(tx: Tx, merchantId: string, since: Date) {
  return (await tx.run<HourlyAttempts>(BY_HOUR, [merchantId, since])).rows;
}
