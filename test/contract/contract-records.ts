let recordCount = 0;
const nextNumber = () => String(++recordCount).padStart(4, "0");

export type Fields = Record<string, unknown>;

/** Builds a subscription with every field of the interface. */
export const subscription = (now: Date, over: Fields = {}): Fields => ({
  id: `sub_${nextNumber()}`,
  state: "SUBSCRIPTION_STATE_ACTIVE",
  customerId: `cus_${nextNumber()}`,
  businessEntity: "Harbor Coffee GmbH",
  planId: "plan_beans",
  amount: 1999,
  currency: "EUR",
  createdAt: now.toISOString(),
  updatedAt: now.toISOString(),
  activatedAt: now.toISOString(),
  expiresAt: new Date(now.getTime() + 365 * 86_400_000).toISOString(),
  billingPeriod: 1,
  billingPeriodUnit: "BILLING_PERIOD_UNIT_MONTH",
  ...over,
});

/** Builds an unpaid invoice with every field of the interface. */
export const invoice = (now: Date, over: Fields = {}): Fields => ({
  id: `inv_${nextNumber()}`,
  state: "INVOICE_STATE_UNPAID",
  customerId: `cus_${nextNumber()}`,
  subscriptionId: `sub_${nextNumber()}`,
  businessEntity: "Harbor Coffee GmbH",
  amount: 1999,
  currency: "EUR",
  createdAt: now.toISOString(),
  updatedAt: now.toISOString(),
  ...over,
});

/** Builds a card attempt on an invoice. */
export const transaction = (now: Date, of: Fields, over: Fields = {}): Fields => ({
  id: `txn_${nextNumber()}`,
  state: "TRANSACTION_STATE_FAILED",
  invoiceId: of.id,
  customerId: of.customerId,
  subscriptionId: of.subscriptionId,
  amount: of.amount,
  currency: of.currency,
  createdAt: now.toISOString(),
  paymentMethodType: "card",
  cardCountry: "DE",
  ...over,
});

/** A decline that permanently refuses this payment, so the case is not worth retrying. */
export const NOT_WORTH_RETRYING = { networkDeclineCode: "R1" };
/** A decline after which only another card can help. */
export const LOST_CARD = { networkDeclineCode: "41", cardBrand: "visa" };
