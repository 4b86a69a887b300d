export const INVOICE_STATES = [
  "PAID",
  "UNPAID",
  "DRAFT",
  "PARTIALLY_PAID",
  "VOIDED",
  "UNCOLLECTIBLE",
  "REFUNDED",
] as const;
export type InvoiceState = (typeof INVOICE_STATES)[number];

/** An invoice as the merchant's billing system knows it. `amount` is in minor units of `currency`. */
export interface Invoice {
  id: string;
  state: InvoiceState;
  customerId: string;
  subscriptionId?: string | undefined;
  businessEntity?: string | undefined;
  amount: number;
  currency: string;
  createdAt: Date;
  updatedAt: Date;
}

/** Only these two states are in recovery; every other one stops it. */
export const inRecovery = (state: InvoiceState) => state === "UNPAID" || state === "PARTIALLY_PAID";
