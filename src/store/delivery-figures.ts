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

/** @param since  events made before it are left out of the attempts: ids begin with their moment */
export async function deliveryFigures(tx: Tx, merchantId: string, since: Date) {
  const hex = since.getTime().toString(16).padStart(12, "0");
  const sinceId = `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
  return (await tx.run<DeliveryFigures>(FIGURES, [merchantId, sinceId])).rows[0]!;
}
