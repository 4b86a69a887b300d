// Generated from openapi.json by generate-records.ts. Timestamps are ISO 8601 in UTC.

/** A subscription in your billing system. */
export interface Subscription {
  /** Your id of the subscription. */
  id: string;
  /** CANCELED and EXPIRED end the recovery of its invoices. */
  state:
    | "SUBSCRIPTION_STATE_ACTIVE"
    | "SUBSCRIPTION_STATE_CANCELED"
    | "SUBSCRIPTION_STATE_TRIALING"
    | "SUBSCRIPTION_STATE_PENDING"
    | "SUBSCRIPTION_STATE_PAST_DUE"
    | "SUBSCRIPTION_STATE_PAUSED"
    | "SUBSCRIPTION_STATE_EXPIRED";
  /** Your id of the customer. */
  customerId: string;
  /** The name of your business entity that bills. */
  businessEntity?: string | null;
  /** Your id of the plan. */
  planId?: string | null;
  /** In the currency's minor unit: 4900 is 49.00 EUR, and 4900 JPY. */
  amount: number;
  /** ISO 4217 code. A code that is not in ISO 4217 is accepted and logged. */
  currency: string;
  /** When your billing system created it. */
  createdAt: string;
  /** When it last changed; createdAt if absent. The newer of two versions of an id wins. */
  updatedAt?: string | null;
  /** When it became active. */
  activatedAt?: string | null;
  /** When it was canceled. */
  canceledAt?: string | null;
  /** When it ends, if it does. */
  expiresAt?: string | null;
  /** The length of a billing period, in billingPeriodUnit. */
  billingPeriod?: number | null;
  /** The unit of billingPeriod. */
  billingPeriodUnit?:
    | "BILLING_PERIOD_UNIT_DAY"
    | "BILLING_PERIOD_UNIT_WEEK"
    | "BILLING_PERIOD_UNIT_MONTH"
    | "BILLING_PERIOD_UNIT_YEAR"
    | null;
}

/** An invoice in your billing system. */
export interface Invoice {
  /** Your id of the invoice. */
  id: string;
  /** An invoice in UNPAID or PARTIALLY_PAID is in recovery. Every other state stops recovery. */
  state:
    | "INVOICE_STATE_PAID"
    | "INVOICE_STATE_UNPAID"
    | "INVOICE_STATE_DRAFT"
    | "INVOICE_STATE_PARTIALLY_PAID"
    | "INVOICE_STATE_VOIDED"
    | "INVOICE_STATE_UNCOLLECTIBLE"
    | "INVOICE_STATE_REFUNDED";
  /** Your id of the customer. */
  customerId: string;
  /** The subscription of the invoice; absent for a one-off invoice. You can push the subscription later. */
  subscriptionId?: string | null;
  /** The name of your business entity that bills. */
  businessEntity?: string | null;
  /** In the currency's minor unit: 4900 is 49.00 EUR, and 4900 JPY. The total, even if a part is paid. */
  amount: number;
  /** The amount that is left to pay, in minor units, from 0 to amount. If it is absent, Dunlin subtracts the payments that you pushed from amount. If a version in PARTIALLY_PAID has a smaller amount than the previous version, Dunlin treats that amount as the amount due. */
  amountDue?: number | null;
  /** ISO 4217 code. A code that is not in ISO 4217 is accepted and logged. */
  currency: string;
  /** When your billing system created it. */
  createdAt: string;
  /** When it last changed; createdAt if absent. The newer of two versions of an id wins. */
  updatedAt?: string | null;
}

/** One payment attempt, by any initiator. */
export interface Transaction {
  /** Your id of the payment attempt. */
  id: string;
  /** The state of the attempt. */
  state:
    | "TRANSACTION_STATE_PAID"
    | "TRANSACTION_STATE_FAILED"
    | "TRANSACTION_STATE_PENDING"
    | "TRANSACTION_STATE_VOIDED"
    | "TRANSACTION_STATE_REFUNDED"
    | "TRANSACTION_STATE_DISPUTED";
  /** The invoice that the attempt was made for. You can push the invoice later. */
  invoiceId: string;
  /** In the currency's minor unit: 4900 is 49.00 EUR, and 4900 JPY. */
  amount: number;
  /** ISO 4217 code. A code that is not in ISO 4217 is accepted and logged. */
  currency: string;
  /** When the attempt was made. */
  createdAt: string;
  /** When it last changed; createdAt if absent. The newer of two versions of an id wins. */
  updatedAt?: string | null;
  /** Your id of the customer. */
  customerId?: string | null;
  /** Your id of the subscription. */
  subscriptionId?: string | null;
  /** The name of your business entity that bills. */
  businessEntity?: string | null;
  /** The id of the recovery action that this attempt carries out, if any. It is the id of the action's event. */
  recoveryActionId?: string | null;
  /** A lower-case word, such as card, sepa_debit, ach_debit, bacs_debit, paypal or other. Other words are accepted. Dunlin also recognizes gateway names of bank debits, such as us_bank_account, and applies the rules of their scheme. */
  paymentMethodType?: string | null;
  /** Your id of the payment method. A new id means that the customer changed the payment method. */
  paymentMethodId?: string | null;
  /** Your id of the gateway account. */
  paymentGatewayId?: string | null;
  /** The gateway's name. Dunlin needs it to interpret numeric error codes of Adyen, Braintree, Checkout.com, NMI, CyberSource and Authorize.Net. */
  paymentGatewayName?: string | null;
  /** The type of gateway, as your billing system calls it. */
  paymentGatewayType?: string | null;
  /** The gateway's own status. A failed attempt with Stripe's not_sent_to_network does not count toward network limits. */
  paymentGatewayStatus?: string | null;
  /** The gateway's id of the attempt. */
  paymentGatewayTransactionId?: string | null;
  /** The gateway's error code. It helps Dunlin choose the time of the next retry. */
  paymentGatewayErrorCode?: string | null;
  /** The gateway's error message. It can have several lines. */
  paymentGatewayErrorMessage?: string | null;
  /** The card network's response code, such as 51, or a bank's return code, such as R01 or AM04. */
  networkDeclineCode?: string | null;
  /** The network's advice to merchants, such as 03. */
  networkAdviceCode?: string | null;
  /** Your billing system's category of the decline, with the prefix DECLINE_CATEGORY_. */
  declineCategory?: string | null;
  /** The card's network. */
  cardBrand?: string | null;
  /** The first 6 to 8 digits of the card number. */
  cardBin?: string | null;
  /** The last four digits of the card number. */
  cardLast4?: string | null;
  /** Equal for the same card, also across customers. A new fingerprint means that the customer changed the card. */
  cardFingerprint?: string | null;
  /** The country in which the card was issued: ISO 3166 alpha-2. */
  cardCountry?: string | null;
  /** The bank that issued the card. */
  cardIssuer?: string | null;
  /** The card's funding type. Deferred debit cards are CARD_FUNDING_CHARGE. CARD_FUNDING_UNKNOWN means the same as absent. */
  cardFunding?:
    | "CARD_FUNDING_CREDIT"
    | "CARD_FUNDING_DEBIT"
    | "CARD_FUNDING_PREPAID"
    | "CARD_FUNDING_CHARGE"
    | "CARD_FUNDING_UNKNOWN"
    | null;
  /** The month in which the card expires. */
  cardExpiryMonth?: number | null;
  /** The year in which the card expires. */
  cardExpiryYear?: number | null;
  /** The customer's IANA time zone, such as Europe/Berlin. */
  customerTimezone?: string | null;
  /** Who or what started the attempt. */
  initiator?:
    | "TRANSACTION_INITIATOR_BILLING_SYSTEM"
    | "TRANSACTION_INITIATOR_RECOVERY_ACTION"
    | "TRANSACTION_INITIATOR_CUSTOMER"
    | "TRANSACTION_INITIATOR_MERCHANT_MANUAL"
    | null;
  /** The number of this attempt on the invoice, by your count. */
  attemptNumber?: number | null;
  /** Whether the attempt used a network token. */
  networkToken?: boolean | null;
}

export interface IngestReply {
  /** The id of this request. Quote it in support requests. */
  requestId: string;
}

/** An error. */
export interface ErrorReply {
  /** The HTTP status. */
  code: number;
  /** The problem, for people. Programs should not parse it. For a batch, it lists up to 20 problems, joined by semicolons, and the number of further ones. */
  message: string;
  /** Empty. */
  details: Record<string, unknown>[];
}
