import { prepared, type Tx } from "../postgres/database.ts";

/** Only the lease's current owner may write. */
const LEASE_FENCE = "from bucket_leases l where m.id = $1 and l.bucket = m.bucket and l.epoch = $2";

const FAILING = prepared(
  "mark_endpoint_failing",
  `update merchants m set webhook_failing_since = $3 ${LEASE_FENCE} and m.webhook_failing_since is null`,
);

/** @param since  service time */
export async function markEndpointFailing(tx: Tx, merchantId: string, epoch: number, since: Date) {
  await tx.run(FAILING, [merchantId, epoch, since]);
}

const RECOVERED = prepared(
  "clear_endpoint_failing",
  `update merchants m set webhook_failing_since = null ${LEASE_FENCE} and m.webhook_failing_since is not null`,
);

export async function clearEndpointFailing(tx: Tx, merchantId: string, epoch: number) {
  await tx.run(RECOVERED, [merchantId, epoch]);
}

const PAUSE = prepared(
  "pause_failing_endpoint",
  `update merchants m set webhook_paused = true, webhook_paused_at = $3, webhook_paused_by = 'dunlin', updated_at = $3
   ${LEASE_FENCE} and not m.webhook_paused and m.webhook_failing_since <= $4
   returning m.id`,
);

/** Only if every attempt has failed since `since` or longer. Returns whether it did. */
export async function pauseFailingEndpoint(tx: Tx, merchantId: string, epoch: number, now: Date, since: Date) {
  return (await tx.run(PAUSE, [merchantId, epoch, now, since])).rowCount > 0;
}
