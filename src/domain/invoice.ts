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
  /** The total. */
  amount: number;
  /** What is left to pay, 0 to `amount`, by this version; absent when it does not say. */
  amountDue?: number | undefined;
  currency: string;
  createdAt: Date;
  updatedAt: Date;
}

/** From the first state to the one that is furthest along: of two versions of one date the latter is the truth. */
export const INVOICE_STATE_ORDER: readonly InvoiceState[] = [
  "DRAFT",
  "UNPAID",
  "PARTIALLY_PAID",
  "PAID",
  "UNCOLLECTIBLE",
  "VOIDED",
  "REFUNDED",
];

/** Only these two states are in recovery; every other one stops it. */
export const isInRecovery = (state: InvoiceState) => state === "UNPAID" || state === "PARTIALLY_PAID";
