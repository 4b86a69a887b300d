export const SUBSCRIPTION_STATES = [
  "ACTIVE",
  "CANCELED",
  "TRIALING",
  "PENDING",
  "PAST_DUE",
  "PAUSED",
  "EXPIRED",
] as const;
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number];

/** From the first state to the one that is furthest along: of two versions of one date the latter is the truth. */
export const SUBSCRIPTION_STATE_ORDER: readonly SubscriptionState[] = [
  "TRIALING",
  "ACTIVE",
  "PENDING",
  "PAST_DUE",
  "PAUSED",
  "EXPIRED",
  "CANCELED",
];

export const BILLING_PERIOD_UNITS = ["DAY", "WEEK", "MONTH", "YEAR"] as const;
export type BillingPeriodUnit = (typeof BILLING_PERIOD_UNITS)[number];

/** A subscription as the merchant's billing system knows it. Amounts are minor units of the currency. */
export interface Subscription {
  id: string;
  state: SubscriptionState;
  customerId: string;
  businessEntity?: string | undefined;
  planId?: string | undefined;
  amount: number;
  currency: string;
  createdAt: Date;
  updatedAt: Date;
  activatedAt?: Date | undefined;
  canceledAt?: Date | undefined;
  expiresAt?: Date | undefined;
  billingPeriod?: number | undefined;
  billingPeriodUnit?: BillingPeriodUnit | undefined;
}

/** Whether recovery of the subscription's invoices stops. */
export const endsRecovery = (state: SubscriptionState) => state === "CANCELED" || state === "EXPIRED";
