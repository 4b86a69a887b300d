import type { Bill, Charge } from "../../lab/worlds/world.ts";
import type { Invoice, InvoiceState } from "../../src/domain/invoice.ts";
import type { Subscription } from "../../src/domain/subscription.ts";
import { CARD_FUNDINGS, type CardFunding, type Transaction } from "../../src/domain/transaction.ts";

// Converts the invoices and charges of a world to the records that a merchant pushes.

export const toSubscription = (bill: Bill): Subscription => ({
  id: bill.subscriptionId,
  state: "ACTIVE",
  customerId: bill.customerId,
  planId: bill.planId,
  amount: bill.amount,
  currency: bill.currency,
  createdAt: bill.subscriptionCreatedAt,
  updatedAt: bill.createdAt,
  billingPeriod: bill.billingPeriod,
  billingPeriodUnit: bill.billingPeriodUnit,
});

export const toInvoice = (bill: Bill, state: InvoiceState, updatedAt: Date): Invoice => ({
  id: bill.id,
  state,
  customerId: bill.customerId,
  subscriptionId: bill.subscriptionId,
  amount: bill.amount,
  currency: bill.currency,
  createdAt: bill.createdAt,
  updatedAt,
});

/** @param recoveryActionId  the event that asked for it; null for the first charge */
export const toTransaction = (
  bill: Bill,
  charge: Charge,
  id: string,
  recoveryActionId: string | null,
): Transaction => ({
  id,
  state: charge.approved ? "PAID" : "FAILED",
  invoiceId: bill.id,
  customerId: bill.customerId,
  subscriptionId: bill.subscriptionId,
  amount: bill.amount,
  currency: bill.currency,
  createdAt: charge.at,
  updatedAt: charge.at,
  initiator: recoveryActionId === null ? "BILLING_SYSTEM" : "RECOVERY_ACTION",
  recoveryActionId: recoveryActionId ?? undefined,
  paymentMethodType: charge.paymentMethodType,
  networkDeclineCode: charge.networkDeclineCode,
  networkAdviceCode: charge.networkAdviceCode,
  cardBrand: charge.cardBrand,
  cardFunding: fundingOf(charge),
  cardCountry: charge.cardCountry,
  cardIssuer: charge.cardIssuer,
  cardFingerprint: charge.cardFingerprint,
});

function fundingOf({ cardFunding }: Charge): CardFunding | undefined {
  const said = cardFunding?.toUpperCase();
  return CARD_FUNDINGS.find((funding) => funding === said);
}
