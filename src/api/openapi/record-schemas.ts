import type { Invoice } from "../../domain/invoice.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { Transaction } from "../../domain/transaction.ts";
import { BATCH_RECORDS_MAX, type RecordKind } from "../../ingest/parse-batch.ts";
import { type DocumentPart, fieldSchema } from "./field-schema.ts";

type FieldDescriptions<Row> = Record<keyof Row & string, string>;

const CREATED_DESCRIPTION = "When your billing system made it.";
const UPDATED_DESCRIPTION = "When it last changed; createdAt if absent. Of two copies of one id the newer one stays.";
const AMOUNT_DESCRIPTION = "In the currency's minor unit: 4900 is 49.00 EUR, and 4900 JPY.";
const CURRENCY_DESCRIPTION = "ISO 4217 code. One that ISO 4217 does not know is taken, and flagged in the log.";
const ENTITY_DESCRIPTION = "Name of the business entity of yours that bills.";

export const SUBSCRIPTION_DESCRIPTIONS: FieldDescriptions<Subscription> = {
  id: "Your id of the subscription.",
  state: "CANCELED and EXPIRED end the recovery of its invoices.",
  customerId: "Your id of the customer.",
  businessEntity: ENTITY_DESCRIPTION,
  planId: "Your id of the plan.",
  amount: AMOUNT_DESCRIPTION,
  currency: CURRENCY_DESCRIPTION,
  createdAt: CREATED_DESCRIPTION,
  updatedAt: UPDATED_DESCRIPTION,
  activatedAt: "When it became active.",
  canceledAt: "When it was canceled; of a canceled one.",
  expiresAt: "When it ends, if it does.",
  billingPeriod: "How many units make one billing period.",
  billingPeriodUnit: "The unit of billingPeriod.",
};

export const INVOICE_DESCRIPTIONS: FieldDescriptions<Invoice> = {
  id: "Your id of the invoice.",
  state: "UNPAID and PARTIALLY_PAID are in recovery; every other state stops it.",
  customerId: "Your id of the customer.",
  subscriptionId: "The subscription that it belongs to; absent for a one-off invoice. It may be pushed later.",
  businessEntity: ENTITY_DESCRIPTION,
  amount: `${AMOUNT_DESCRIPTION} The total, also when a part is paid.`,
  amountDue:
    "What is left to pay, in minor units, from 0 to amount. Without it, the payments that you pushed are taken off the amount. If a version in PARTIALLY_PAID has a smaller amount than the one before, that amount is what is left.",
  currency: CURRENCY_DESCRIPTION,
  createdAt: CREATED_DESCRIPTION,
  updatedAt: UPDATED_DESCRIPTION,
};

export const TRANSACTION_DESCRIPTIONS: FieldDescriptions<Transaction> = {
  id: "Your id of the payment attempt.",
  state: "How the attempt stands.",
  invoiceId: "The invoice that was tried to be paid. It may be pushed later.",
  amount: AMOUNT_DESCRIPTION,
  currency: CURRENCY_DESCRIPTION,
  createdAt: "When the attempt was made.",
  updatedAt: UPDATED_DESCRIPTION,
  customerId: "Your id of the customer.",
  subscriptionId: "Your id of the subscription.",
  businessEntity: ENTITY_DESCRIPTION,
  recoveryActionId: "The id of the recovery action, which is that of its event, if this attempt carries one out.",
  paymentMethodType:
    "Lower case and open: card, sepa_debit, ach_debit, bacs_debit, paypal, other. Bank debits go by their scheme's rules under their gateway's name too, such as us_bank_account.",
  paymentMethodId: "Your id of the payment method. A new one says that the customer changed it.",
  paymentGatewayId: "Your id of the gateway account.",
  paymentGatewayName:
    "The gateway's name. Dunlin reads error codes that are numbers by it: those of Adyen, Braintree, Checkout.com, NMI, CyberSource and Authorize.Net.",
  paymentGatewayType: "The kind of gateway, as your billing system calls it.",
  paymentGatewayStatus:
    "The gateway's own status. With Stripe's not_sent_to_network a failed attempt uses up no limit of a network.",
  paymentGatewayTransactionId: "The gateway's id of the attempt.",
  paymentGatewayErrorCode: "The gateway's error code. With it, the moment of the next try is chosen better.",
  paymentGatewayErrorMessage: "The gateway's error text. It may have lines.",
  networkDeclineCode: "The card network's response code, such as 51, or a bank's return code, such as R01 or AM04.",
  networkAdviceCode: "The network's advice to merchants, such as 03.",
  declineCategory: "The kind of decline as your billing system sees it, with the prefix DECLINE_CATEGORY_.",
  cardBrand: "The card's network.",
  cardBin: "The first 6 to 8 digits of the card number.",
  cardLast4: "The last four digits of the card number.",
  cardFingerprint: "The same for the same card, whoever uses it. A new one says that the customer changed the card.",
  cardCountry: "Where the card was issued: ISO 3166 alpha-2.",
  cardIssuer: "The bank that issued the card.",
  cardFunding:
    "What the card draws on. Deferred debit cards are CARD_FUNDING_CHARGE. CARD_FUNDING_UNKNOWN is the same as absent.",
  cardExpiryMonth: "The month in which the card expires.",
  cardExpiryYear: "The year in which the card expires.",
  customerTimezone: "The customer's time zone as IANA names it, such as Europe/Berlin.",
  initiator: "Who made the attempt.",
  attemptNumber: "The number of this attempt on the invoice, as you count them.",
  networkToken: "Whether the attempt used a network token.",
};

/** One record of a kind. Fields that are not listed are ignored. */
export function recordSchema<Row>(
  kind: RecordKind<Row>,
  description: string,
  words: FieldDescriptions<Row>,
): DocumentPart {
  const fields = [...kind.fields];
  return {
    type: "object",
    description,
    required: fields.filter(([, { required }]) => required).map(([name]) => name),
    properties: Object.fromEntries(
      fields.map(([name, field]) => [name, fieldSchema(field, words[name as keyof Row & string])]),
    ),
  };
}

/** The body of an ingest: 1 to 200 records. */
export const batchSchema = (kind: RecordKind<unknown>, record: string): DocumentPart => ({
  type: "object",
  required: [kind.name],
  properties: {
    [kind.name]: {
      type: "array",
      minItems: 1,
      maxItems: BATCH_RECORDS_MAX,
      items: { $ref: `#/components/schemas/${record}` },
      description:
        "All of them are stored, or none. If an id stands there twice, its records count as if they came in two requests.",
    },
  },
});
