import type { Subscription } from "../domain/subscription.ts";
import { type Changed, type Column, columnValues, upsertNewer } from "./batch.ts";
import { prepared, type Tx } from "./database.ts";

const COLUMNS: readonly Column<Subscription>[] = [
  ["id", "text", "id"],
  ["state", "text", "state"],
  ["customer_id", "text", "customerId"],
  ["business_entity", "text", "businessEntity"],
  ["plan_id", "text", "planId"],
  ["amount", "int8", "amount"],
  ["currency", "text", "currency"],
  ["created_at", "timestamptz", "createdAt"],
  ["updated_at", "timestamptz", "updatedAt"],
  ["activated_at", "timestamptz", "activatedAt"],
  ["canceled_at", "timestamptz", "canceledAt"],
  ["expires_at", "timestamptz", "expiresAt"],
  ["billing_period", "int4", "billingPeriod"],
  ["billing_period_unit", "text", "billingPeriodUnit"],
];

const UPSERT = upsertNewer("subscriptions", COLUMNS);

/** Keep the newer copy of each; returns those that changed. `subscriptions`: sorted by id, no id twice. */
export async function upsertSubscriptions(tx: Tx, merchantId: string, subscriptions: readonly Subscription[]) {
  return (await tx.run<Changed>(UPSERT, [merchantId, ...columnValues(subscriptions, COLUMNS)])).rows;
}

const STATES = prepared(
  "subscription_states",
  "select id, state from subscriptions where merchant_id = $1 and id = any($2::text[])",
);

/** The states of those subscriptions that are known. */
export async function subscriptionStates(tx: Tx, merchantId: string, ids: readonly string[]) {
  const { rows } = await tx.run<Pick<Subscription, "id" | "state">>(STATES, [merchantId, ids]);
  return new Map(rows.map((row) => [row.id, row.state]));
}
