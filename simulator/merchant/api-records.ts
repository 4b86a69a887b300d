import type { Invoice, Subscription, Transaction } from "#sdk";
import { createCard } from "../world/customer.ts";
import { DECLINES } from "../world/decline-reasons.ts";
import type { BookedAttempt, BookedInvoice, BookedSubscription } from "./merchant-books.ts";

/** Converts the merchant's books to API records. */

const BUSINESS_ENTITY = "Harbor Coffee Club";

export const buildSubscriptionRecord = (subscription: BookedSubscription): Subscription => ({
  id: subscription.id,
  state: `SUBSCRIPTION_STATE_${subscription.state}`,
  customerId: subscription.customer.id,
  businessEntity: BUSINESS_ENTITY,
  planId: subscription.customer.plan.id,
  amount: subscription.customer.plan.amount,
  currency: subscription.customer.currency,
  createdAt: subscription.createdAt.toISOString(),
  updatedAt: subscription.updatedAt.toISOString(),
  activatedAt: subscription.createdAt.toISOString(),
  ...(subscription.canceledAt ? { canceledAt: subscription.canceledAt.toISOString() } : {}),
  billingPeriod: 1,
  billingPeriodUnit: `BILLING_PERIOD_UNIT_${subscription.customer.plan.period}`,
});

export const buildInvoiceRecord = (invoice: BookedInvoice): Invoice => ({
  id: invoice.id,
  state: `INVOICE_STATE_${invoice.state}`,
  customerId: invoice.subscription.customer.id,
  subscriptionId: invoice.subscription.id,
  businessEntity: BUSINESS_ENTITY,
  amount: invoice.amount,
  currency: invoice.currency,
  createdAt: invoice.createdAt.toISOString(),
  updatedAt: invoice.updatedAt.toISOString(),
});

export function buildTransactionRecord(invoice: BookedInvoice, attempt: BookedAttempt): Transaction {
  return {
    ...buildPaymentRecord(invoice, attempt.id, attempt.at, attempt.card.generation),
    state: attempt.reason === null ? "TRANSACTION_STATE_PAID" : "TRANSACTION_STATE_FAILED",
    amount: invoice.amount,
    initiator: `TRANSACTION_INITIATOR_${attempt.initiator}`,
    attemptNumber: invoice.attempts.indexOf(attempt) + 1,
    paymentGatewayStatus: attempt.reason === null ? "succeeded" : "failed",
    ...(attempt.recoveryActionId === null ? {} : { recoveryActionId: attempt.recoveryActionId }),
    ...buildDeclineFields(attempt),
  };
}

/** A zero-amount authorization that is released at once. It tells Dunlin that the card changed. */
export const buildCardCheckRecord = (invoice: BookedInvoice, id: string, at: Date): Transaction => ({
  ...buildPaymentRecord(invoice, id, at, invoice.subscription.card.generation),
  state: "TRANSACTION_STATE_VOIDED",
  amount: 0,
  initiator: "TRANSACTION_INITIATOR_CUSTOMER",
  paymentGatewayStatus: "canceled",
});

function buildPaymentRecord(invoice: BookedInvoice, id: string, at: Date, cardGeneration: number) {
  const { customer } = invoice.subscription;
  const card = createCard(customer, cardGeneration);
  return {
    id,
    invoiceId: invoice.id,
    currency: invoice.currency,
    createdAt: at.toISOString(),
    updatedAt: at.toISOString(),
    customerId: customer.id,
    subscriptionId: invoice.subscription.id,
    businessEntity: BUSINESS_ENTITY,
    paymentMethodType: customer.method,
    paymentMethodId: `pm_${customer.number}_${cardGeneration}`,
    paymentGatewayName: "Harbor Pay",
    paymentGatewayType: "stripe",
    paymentGatewayTransactionId: `ch_${id}`,
    customerTimezone: customer.timezone,
    ...(card === null
      ? {}
      : {
          cardBrand: card.brand,
          cardBin: card.bin,
          cardLast4: card.last4,
          cardFingerprint: card.fingerprint,
          cardCountry: customer.country,
          cardIssuer: customer.issuer,
          cardFunding: `CARD_FUNDING_${card.funding}` as const,
          cardExpiryMonth: card.expiryMonth,
          cardExpiryYear: card.expiryYear,
        }),
  };
}

function buildDeclineFields({ reason, adviceCode }: BookedAttempt) {
  if (reason === null) return {};
  const { gatewayCode, networkCode, words } = DECLINES[reason];
  return {
    paymentGatewayErrorCode: gatewayCode,
    paymentGatewayErrorMessage: `Declined: ${words}`,
    networkDeclineCode: networkCode,
    ...(adviceCode === null ? {} : { networkAdviceCode: adviceCode }),
  };
}
