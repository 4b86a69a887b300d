import { prepared, type Tx } from "./database.ts";

const WAITING = prepared("count_waiting_deliveries", "select count(*) as n from deliveries");

/** Events that are not delivered yet, over all merchants. */
export async function waitingDeliveries(tx: Tx) {
  return (await tx.run<{ n: number }>(WAITING)).rows[0]!.n;
}

const ATTEMPTS = prepared(
  "count_attempts",
  `select event_id as "eventId", count(*) as n from delivery_attempts where merchant_id = $1 group by event_id`,
);

/** Logged attempts of each event of a merchant. */
export async function attemptCounts(tx: Tx, merchantId: string) {
  const { rows } = await tx.run<{ eventId: string; n: number }>(ATTEMPTS, [merchantId]);
  return new Map(rows.map(({ eventId, n }) => [eventId, n]));
}
