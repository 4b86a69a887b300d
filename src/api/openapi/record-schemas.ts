import type { InvoiceRecord } from "../../domain/invoice.ts";
import type { Subscription } from "../../domain/subscription.ts";
import type { Transaction } from "../../domain/transaction.ts";
import { BATCH_RECORDS_MAX, type RecordKind } from "../../ingest/parse-batch.ts";
import { type DocumentPart, fieldSchema } from "./field-schema.ts";

type FieldDescriptions<Row> = Record<keyof Row & string, string>;

const CREATED_DESCRIPTION = "When your billing system created it.";
const UPDATED_DESCRIPTION = "When it last changed; createdAt if absent. The newer of two versions of an id wins.";
const AMOUNT_DESCRIPTION = "In the currency's minor unit: 4900 is 49.00 EUR, and 4900 JPY.";
const CURRENCY_DESCRIPTION = "ISO 4217 code. A code that is not in ISO 4217 is accepted and logged.";
const ENTITY_DESCRIPTION = "The name of your business entity that bills.";

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
  canceledAt: "When it was canceled.",
  expiresAt: "When it ends, if it does.",
  billingPeriod: "The length of a billing period, in billingPeriodUnit.",
  billingPeriodUnit: "The unit of billingPeriod.",
};

export const INVOICE_DESCRIPTIONS: FieldDescriptions<InvoiceRecord> = {
  id: "Your id of the invoice.",
  state: "An invoice in UNPAID or PARTIALLY_PAID is in recovery. Every other state stops recovery.",
  customerId: "Your id of the customer.",
  subscriptionId: "The subscription of the invoice; absent for a one-off invoice. You can push the subscription later.",
  businessEntity: ENTITY_DESCRIPTION,
  amount: `${AMOUNT_DESCRIPTION} The total, even if a part is paid.`,
  amountDue:
    "The amount that is left to pay, in minor units, from 0 to amount. If it is absent, Dunlin subtracts the payments that you pushed from amount. If a version in PARTIALLY_PAID has a smaller amount than the previous version, Dunlin treats that amount as the amount due.",
  currency: CURRENCY_DESCRIPTION,
  createdAt: CREATED_DESCRIPTION,
  updatedAt: UPDATED_DESCRIPTION,
};

export const TRANSACTION_DESCRIPTIONS: FieldDescriptions<Transaction> = {
  id: "Your id of the payment attempt.",
  state: "The state of the attempt.",
  invoiceId: "The invoice that the attempt was made for. You can push the invoice later.",
  amount: AMOUNT_DESCRIPTION,
  currency: CURRENCY_DESCRIPTION,
  createdAt: "When the attempt was made.",
  updatedAt: UPDATED_DESCRIPTION,
  customerId: "Your id of the customer.",
  subscriptionId: "Your id of the subscription.",
  businessEntity: ENTITY_DESCRIPTION,
  recoveryActionId:
    "The id of the recovery action that this attempt carries out, if any. It is the id of the action's event.",
  paymentMethodType:
    "A lower-case word, such as card, sepa_debit, ach_debit, bacs_debit, paypal or other. Other words are accepted. Dunlin also recognizes gateway names of bank debits, such as us_bank_account, and applies the rules of their scheme.",
  paymentMethodId: "Your id of the payment method. A new id means that the customer changed the payment method.",
  paymentGatewayId: "Your id of the gateway account.",
  paymentGatewayName:
    "The gateway's name. Dunlin needs it to interpret numeric error codes of Adyen, Braintree, Checkout.com, NMI, CyberSource and Authorize.Net.",
  paymentGatewayType: "The type of gateway, as your billing system calls it.",
  paymentGatewayStatus:
    "The gateway's own status. A failed attempt with Stripe's not_sent_to_network does not count toward network limits.",
  paymentGatewayTransactionId: "The gateway's id of the attempt.",
  paymentGatewayErrorCode: "The gateway's error code. It helps Dunlin choose the time of the next retry.",
  paymentGatewayErrorMessage: "The gateway's error message. It can have several lines.",
  networkDeclineCode: "The card network's response code, such as 51, or a bank's return code, such as R01 or AM04.",
  networkAdviceCode: "The network's advice to merchants, such as 03.",
  declineCategory: "Your billing system's category of the decline, with the prefix DECLINE_CATEGORY_.",
  cardBrand: "The card's network.",
  cardBin: "The first 6 to 8 digits of the card number.",
  cardLast4: "The last four digits of the card number.",
  cardFingerprint:
    "Equal for the same card, also across customers. A new fingerprint means that the customer changed the card.",
  cardCountry: "The country in which the card was issued: ISO 3166 alpha-2.",
  cardIssuer: "The bank that issued the card.",
  cardFunding:
    "The card's funding type. Deferred debit cards are CARD_FUNDING_CHARGE. CARD_FUNDING_UNKNOWN means the same as absent.",
  cardExpiryMonth: "The month in which the card expires.",
  cardExpiryYear: "The year in which the card expires.",
  customerTimezone: "The customer's IANA time zone, such as Europe/Berlin.",
  initiator: "Who or what started the attempt.",
  attemptNumber: "The number of this attempt on the invoice, by your count.",
  networkToken: "Whether the attempt used a network token.",
};

/** Allows other fields, because the API ignores them. */
export function recordSchema<Row>(
  kind: RecordKind<Row>,
  description: string,
  fieldDescriptions: FieldDescriptions<Row>,
): DocumentPart {
  const fields = [...kind.fields];
  return {
    type: "object",
    description,
    required: fields.filter(([, { required }]) => required).map(([name]) => name),
    properties: Object.fromEntries(
      fields.map(([name, field]) => [name, fieldSchema(field, fieldDescriptions[name as keyof Row & string])]),
    ),
  };
}

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
        "Dunlin stores all of these records or none. If an id appears twice, its records count as if you had sent them in two requests.",
    },
  },
});
