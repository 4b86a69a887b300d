import { SUBSCRIPTION_STATE_ORDER, type Subscription } from "../domain/subscription.ts";
import {
  type Column,
  nullsToUndefined,
  readPageAfter,
  selectPageAfter,
  versionedTable,
} from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

const SUBSCRIPTION_COLUMNS: readonly Column<Subscription>[] = [
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

export const SUBSCRIPTION_TABLE = versionedTable<Subscription>({
  table: "subscriptions",
  columns: SUBSCRIPTION_COLUMNS,
  stateOrder: SUBSCRIPTION_STATE_ORDER,
});

export type SubscriptionFacts = Pick<
  Subscription,
  "id" | "state" | "planId" | "createdAt" | "billingPeriod" | "billingPeriodUnit"
>;

const FACTS = prepared(
  "subscription_facts",
  `select id, state, plan_id as "planId", created_at as "createdAt", billing_period as "billingPeriod",
     billing_period_unit as "billingPeriodUnit"
   from subscriptions where merchant_id = $1 and id = any($2::text[])`,
);

/** By id. */
export async function readSubscriptionFacts(tx: Tx, merchantId: string, ids: readonly string[]) {
  const { rows } = await tx.run<SubscriptionFacts>(FACTS, [merchantId, ids]);
  return new Map(rows.map((row) => [row.id, nullsToUndefined(row)]));
}

const AFTER = selectPageAfter("subscriptions", SUBSCRIPTION_COLUMNS);

export const subscriptionsAfter = (tx: Tx, merchantId: string, last?: Subscription) =>
  readPageAfter<Subscription>(tx, AFTER, merchantId, last);
