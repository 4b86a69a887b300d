import type { Tenant } from "./installation.ts";

const CODES = ["51", "05", "61", "91"];
const COUNTRIES = ["US", "DE", "BR", "GB"];
const HOUR_MS = 3_600_000;

/** One payment by a merchant's customer. Serial numbers are never used twice. */
export interface Payment {
  tenant: Tenant;
  serial: number;
  nowMs: number;
}

const idsOf = ({ serial }: Payment) => ({
  customerId: `cus_${serial.toString(36).padStart(6, "0")}Nf8kQz2Lw`,
  subscriptionId: `sub_${serial.toString(36).padStart(6, "0")}Hd3RtYp`,
  amount: 900 + (serial % 90) * 100,
  currency: "EUR",
});
const invoiceIdOf = ({ serial }: Payment) => `in_${serial.toString(36).padStart(6, "0")}x8Vb3qLmT0aZ7c`;

/** @param version  a later one replaces an earlier one */
export const invoiceRecord = (payment: Payment, state: "PAID" | "UNPAID", version = 0) => ({
  id: invoiceIdOf(payment),
  state: `INVOICE_STATE_${state}`,
  ...idsOf(payment),
  createdAt: new Date(payment.nowMs - 2 * HOUR_MS),
  updatedAt: new Date(payment.nowMs - HOUR_MS + version),
});

/** @param answers  the action that it carries out, and whether the bank approved */
export function attemptRecord(payment: Payment, number: number, answers?: { actionId: string; isPaid: boolean }) {
  const { serial, nowMs } = payment;
  const at = new Date(nowMs - HOUR_MS + number * 1_000);
  return {
    id: `txn_${serial.toString(36).padStart(6, "0")}k4Hs9dQwe_${number}`,
    state: `TRANSACTION_STATE_${answers?.isPaid ? "PAID" : "FAILED"}`,
    invoiceId: invoiceIdOf(payment),
    ...idsOf(payment),
    createdAt: at,
    updatedAt: at,
    paymentMethodType: "card",
    cardBrand: serial % 2 === 0 ? "visa" : "mastercard",
    cardFingerprint: `fp_${serial}`,
    cardCountry: COUNTRIES[serial % COUNTRIES.length]!,
    cardFunding: "CARD_FUNDING_CREDIT",
    ...(answers?.isPaid !== true && { networkDeclineCode: CODES[serial % CODES.length]! }),
    ...(answers && { recoveryActionId: answers.actionId }),
  };
}
