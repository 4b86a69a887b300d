import type { IntegrationType } from "./integration.ts";

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

/** As the merchant's billing system sent it. Amounts in minor units. */
export interface InvoiceRecord {
  id: string;
  state: InvoiceState;
  customerId: string;
  subscriptionId?: string | undefined;
  businessEntity?: string | undefined;
  amount: number;
  /** Absent if this version does not contain it. */
  amountDue?: number | undefined;
  currency: string;
  createdAt: Date;
  updatedAt: Date;
}

export interface Invoice extends InvoiceRecord {
  /** Whose connector pushed this version; absent for a merchant's own program. */
  integrationType?: IntegrationType | undefined;
}

/** Of two versions with the same date, the later state wins. */
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
