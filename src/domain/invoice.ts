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

/** As the merchant's billing system sent it. Amounts are in minor units. */
export interface Invoice {
  id: string;
  state: InvoiceState;
  customerId: string;
  subscriptionId?: string | undefined;
  businessEntity?: string | undefined;
  amount: number;
  /** 0 to `amount`; absent if this version does not contain it. */
  amountDue?: number | undefined;
  currency: string;
  createdAt: Date;
  updatedAt: Date;
}

/** The later state wins between two versions with the same date. */
export const INVOICE_STATE_ORDER: readonly InvoiceState[] = [
  "DRAFT",
  "UNPAID",
  "PARTIALLY_PAID",
  "PAID",
  "UNCOLLECTIBLE",
  "VOIDED",
  "REFUNDED",
];

/** Every other state stops recovery. */
export const isInRecovery = (state: InvoiceState) => state === "UNPAID" || state === "PARTIALLY_PAID";
