// Setup for tests of files: records with every field, and with only the required ones.
import assert from "node:assert/strict";
import { HISTORY_KIND_BY_NAME, type KindName } from "./record-kinds.ts";

/** Characters that break naive handling of JSON, UTF-8 or lines. */
const TRICKY_TEXT = `"\\ ü 🦤 \u2028 \u202eabc, =1+1`;
export const TIMES = { createdAt: "2026-01-01T00:00:00.001Z", updatedAt: "2026-02-28T23:59:59.999Z" };
const MONEY = { amount: Number.MAX_SAFE_INTEGER, currency: "JPY" };
const OWNER_FIELDS = { customerId: `cus ${TRICKY_TEXT}`, businessEntity: ' Acme, "GmbH"' };

/** Records with every field of their kind. */
export const FULL_RECORD_BY_KIND: Readonly<Record<KindName, Record<string, unknown>>> = {
  subscriptions: {
    id: "a",
    state: "SUBSCRIPTION_STATE_PAST_DUE",
    ...OWNER_FIELDS,
    planId: TRICKY_TEXT,
    ...MONEY,
    ...TIMES,
    activatedAt: "1970-01-01T00:00:00.000Z",
    canceledAt: "2199-12-31T23:59:59.999Z",
    expiresAt: "2026-06-01T12:00:00.120Z",
    billingPeriod: 3,
    billingPeriodUnit: "BILLING_PERIOD_UNIT_MONTH",
  },
  invoices: {
    id: "a",
    state: "INVOICE_STATE_PARTIALLY_PAID",
    ...OWNER_FIELDS,
    subscriptionId: "a",
    ...MONEY,
    amountDue: 0,
    ...TIMES,
  },
  transactions: {
    id: "a",
    state: "TRANSACTION_STATE_FAILED",
    invoiceId: "a",
    ...MONEY,
    ...TIMES,
    ...OWNER_FIELDS,
    subscriptionId: "a",
    recoveryActionId: "act_1",
    paymentMethodType: "card",
    paymentMethodId: "pm_1",
    paymentGatewayId: "gw_1",
    paymentGatewayName: TRICKY_TEXT,
    paymentGatewayType: "stripe",
    paymentGatewayStatus: "declined",
    paymentGatewayTransactionId: "ch_1",
    paymentGatewayErrorCode: "card_declined",
    paymentGatewayErrorMessage: "two\nlines,\r\n\t and a tab\u0007",
    networkDeclineCode: "51",
    networkAdviceCode: "02",
    declineCategory: "DECLINE_CATEGORY_SOFT",
    cardBrand: "visa",
    cardBin: "41111111",
    cardLast4: "0001",
    cardFingerprint: "fp_1",
    cardCountry: "DE",
    cardIssuer: TRICKY_TEXT,
    cardFunding: "CARD_FUNDING_CHARGE",
    cardExpiryMonth: 12,
    cardExpiryYear: 2030,
    customerTimezone: "Europe/Berlin",
    initiator: "TRANSACTION_INITIATOR_MERCHANT_MANUAL",
    attemptNumber: 0,
    networkToken: false,
  },
};

/** Returns the record with every field, and `count` records with only the required fields. */
export function makeRecords(kind: KindName, count: number): Record<string, unknown>[] {
  const { fields } = HISTORY_KIND_BY_NAME[kind].recordKind;
  const full = FULL_RECORD_BY_KIND[kind];
  assert.deepEqual(Object.keys(full).sort(), [...fields.keys()].sort());
  const minimal = Object.fromEntries(Object.entries(full).filter(([key]) => fields.get(key)!.required));
  return [full, ...Array.from({ length: count }, (_, n) => ({ ...minimal, id: `b${n}` }))];
}
