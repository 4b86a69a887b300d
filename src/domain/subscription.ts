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

/** Of two versions with the same date, the later state wins. */
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

/** As the merchant's billing system sent it. Amounts in minor units. */
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

export const endsRecovery = (state: SubscriptionState) => state === "CANCELED" || state === "EXPIRED";
