// Written by generate-records.ts from openapi.json. Moments are ISO 8601 in UTC.

/** A subscription, as your billing system knows it. */
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
  /** Name of the business entity of yours that bills. */
  businessEntity?: string | null;
  /** Your id of the plan. */
  planId?: string | null;
  /** In the currency's minor unit: 4900 is 49.00 EUR, and 4900 JPY. */
  amount: number;
  /** ISO 4217 code. One that ISO 4217 does not know is taken, and flagged in the log. */
  currency: string;
  /** When your billing system made it. */
  createdAt: string;
  /** When it last changed; createdAt if absent. Of two copies of one id the newer one stays. */
  updatedAt?: string | null;
  /** When it became active. */
  activatedAt?: string | null;
  /** When it was canceled; of a canceled one. */
  canceledAt?: string | null;
  /** When it ends, if it does. */
  expiresAt?: string | null;
  /** How many units make one billing period. */
  billingPeriod?: number | null;
  /** The unit of billingPeriod. */
  billingPeriodUnit?:
    | "BILLING_PERIOD_UNIT_DAY"
    | "BILLING_PERIOD_UNIT_WEEK"
    | "BILLING_PERIOD_UNIT_MONTH"
    | "BILLING_PERIOD_UNIT_YEAR"
    | null;
}

/** An invoice, as your billing system knows it. */
export interface Invoice {
  /** Your id of the invoice. */
  id: string;
  /** UNPAID and PARTIALLY_PAID are in recovery; every other state stops it. */
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
  /** The subscription that it belongs to; absent for a one-off invoice. It may be pushed later. */
  subscriptionId?: string | null;
  /** Name of the business entity of yours that bills. */
  businessEntity?: string | null;
  /** In the currency's minor unit: 4900 is 49.00 EUR, and 4900 JPY. The total, also when a part is paid. */
  amount: number;
  /** What is left to pay, in minor units, from 0 to amount. Without it, the payments that you pushed are taken off the amount. If a version in PARTIALLY_PAID has a smaller amount than the one before, that amount is what is left. */
  amountDue?: number | null;
  /** ISO 4217 code. One that ISO 4217 does not know is taken, and flagged in the log. */
  currency: string;
  /** When your billing system made it. */
  createdAt: string;
  /** When it last changed; createdAt if absent. Of two copies of one id the newer one stays. */
  updatedAt?: string | null;
}

/** One payment attempt, whoever made it. */
export interface Transaction {
  /** Your id of the payment attempt. */
  id: string;
  /** How the attempt stands. */
  state:
    | "TRANSACTION_STATE_PAID"
    | "TRANSACTION_STATE_FAILED"
    | "TRANSACTION_STATE_PENDING"
    | "TRANSACTION_STATE_VOIDED"
    | "TRANSACTION_STATE_REFUNDED"
    | "TRANSACTION_STATE_DISPUTED";
  /** The invoice that was tried to be paid. It may be pushed later. */
  invoiceId: string;
  /** In the currency's minor unit: 4900 is 49.00 EUR, and 4900 JPY. */
  amount: number;
  /** ISO 4217 code. One that ISO 4217 does not know is taken, and flagged in the log. */
  currency: string;
  /** When the attempt was made. */
  createdAt: string;
  /** When it last changed; createdAt if absent. Of two copies of one id the newer one stays. */
  updatedAt?: string | null;
  /** Your id of the customer. */
  customerId?: string | null;
  /** Your id of the subscription. */
  subscriptionId?: string | null;
  /** Name of the business entity of yours that bills. */
  businessEntity?: string | null;
  /** The id of the recovery action, which is that of its event, if this attempt carries one out. */
  recoveryActionId?: string | null;
  /** Lower case and open: card, sepa_debit, ach_debit, bacs_debit, paypal, other. Bank debits go by their scheme's rules under their gateway's name too, such as us_bank_account. */
  paymentMethodType?: string | null;
  /** Your id of the payment method. A new one says that the customer changed it. */
  paymentMethodId?: string | null;
  /** Your id of the gateway account. */
  paymentGatewayId?: string | null;
  /** The gateway's name. Dunlin reads error codes that are numbers by it: those of Adyen, Braintree, Checkout.com, NMI, CyberSource and Authorize.Net. */
  paymentGatewayName?: string | null;
  /** The kind of gateway, as your billing system calls it. */
  paymentGatewayType?: string | null;
  /** The gateway's own status. With Stripe's not_sent_to_network a failed attempt uses up no limit of a network. */
  paymentGatewayStatus?: string | null;
  /** The gateway's id of the attempt. */
  paymentGatewayTransactionId?: string | null;
  /** The gateway's error code. With it, the moment of the next try is chosen better. */
  paymentGatewayErrorCode?: string | null;
  /** The gateway's error text. It may have lines. */
  paymentGatewayErrorMessage?: string | null;
  /** The card network's response code, such as 51, or a bank's return code, such as R01 or AM04. */
  networkDeclineCode?: string | null;
  /** The network's advice to merchants, such as 03. */
  networkAdviceCode?: string | null;
  /** The kind of decline as your billing system sees it, with the prefix DECLINE_CATEGORY_. */
  declineCategory?: string | null;
  /** The card's network. */
  cardBrand?: string | null;
  /** The first 6 to 8 digits of the card number. */
  cardBin?: string | null;
  /** The last four digits of the card number. */
  cardLast4?: string | null;
  /** The same for the same card, whoever uses it. A new one says that the customer changed the card. */
  cardFingerprint?: string | null;
  /** Where the card was issued: ISO 3166 alpha-2. */
  cardCountry?: string | null;
  /** The bank that issued the card. */
  cardIssuer?: string | null;
  /** What the card draws on. Deferred debit cards are CARD_FUNDING_CHARGE. CARD_FUNDING_UNKNOWN is the same as absent. */
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
  /** The customer's time zone as IANA names it, such as Europe/Berlin. */
  customerTimezone?: string | null;
  /** Who made the attempt. */
  initiator?:
    | "TRANSACTION_INITIATOR_BILLING_SYSTEM"
    | "TRANSACTION_INITIATOR_RECOVERY_ACTION"
    | "TRANSACTION_INITIATOR_CUSTOMER"
    | "TRANSACTION_INITIATOR_MERCHANT_MANUAL"
    | null;
  /** The number of this attempt on the invoice, as you count them. */
  attemptNumber?: number | null;
  /** Whether the attempt used a network token. */
  networkToken?: boolean | null;
}

export interface IngestReply {
  /** Names this request: quote it when you ask about it. */
  requestId: string;
}

/** A refusal or a fault. */
export interface ErrorReply {
  /** The HTTP status. */
  code: number;
  /** What is wrong, for people; not for programs to take apart. Of a batch up to 20 problems, joined by semicolons, and how many more there are. */
  message: string;
  /** Empty. */
  details: Record<string, unknown>[];
}
