/** Billing systems with a connector. Records that a merchant's own program pushes have none. */
export const INTEGRATION_TYPES = ["STRIPE", "CHARGEBEE", "RECURLY", "RECHARGE", "ZUORA"] as const;
export type IntegrationType = (typeof INTEGRATION_TYPES)[number];
