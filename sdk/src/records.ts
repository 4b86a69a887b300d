/** Records as the wire has them: moments are ISO 8601 in UTC, amounts are integers in the currency's minor unit. */

export type SubscriptionState =
  `SUBSCRIPTION_STATE_${"ACTIVE" | "CANCELED" | "TRIALING" | "PENDING" | "PAST_DUE" | "PAUSED" | "EXPIRED"}`;

export interface Subscription {
  id: string;
  state: SubscriptionState;
  customerId: string;
  businessEntity?: string;
  planId?: string;
  amount: number;
  currency: string;
  createdAt: string;
  /** The newer copy of a record wins; without it the record counts as new as `createdAt`. */
  updatedAt?: string;
  activatedAt?: string;
  canceledAt?: string;
  expiresAt?: string;
  billingPeriod?: number;
  billingPeriodUnit?: `BILLING_PERIOD_UNIT_${"DAY" | "WEEK" | "MONTH" | "YEAR"}`;
}

export type InvoiceState =
  `INVOICE_STATE_${"PAID" | "UNPAID" | "DRAFT" | "PARTIALLY_PAID" | "VOIDED" | "UNCOLLECTIBLE" | "REFUNDED"}`;

export interface Invoice {
  id: string;
  state: InvoiceState;
  customerId: string;
  subscriptionId?: string;
  businessEntity?: string;
  amount: number;
  currency: string;
  createdAt: string;
  updatedAt?: string;
}

export type TransactionState =
  `TRANSACTION_STATE_${"PAID" | "FAILED" | "PENDING" | "VOIDED" | "REFUNDED" | "DISPUTED"}`;

/** One payment attempt, whoever made it. Only the first six fields are required; codes are as the gateway gave them. */
export interface Transaction {
  id: string;
  state: TransactionState;
  invoiceId: string;
  amount: number;
  currency: string;
  createdAt: string;
  updatedAt?: string;
  customerId?: string;
  subscriptionId?: string;
  businessEntity?: string;
  /** The id of the `recovery_action` event that asked for this attempt. */
  recoveryActionId?: string;
  /** card, sepa_debit, ach_debit, bacs_debit, paypal, other, … */
  paymentMethodType?: string;
  paymentMethodId?: string;
  paymentGatewayId?: string;
  paymentGatewayName?: string;
  paymentGatewayType?: string;
  paymentGatewayStatus?: string;
  paymentGatewayTransactionId?: string;
  paymentGatewayErrorCode?: string;
  paymentGatewayErrorMessage?: string;
  networkDeclineCode?: string;
  networkAdviceCode?: string;
  declineCategory?: string;
  cardBrand?: string;
  /** The first 6 to 8 digits; never send a whole card number. */
  cardBin?: string;
  cardLast4?: string;
  cardFingerprint?: string;
  cardCountry?: string;
  cardIssuer?: string;
  cardFunding?: `CARD_FUNDING_${"CREDIT" | "DEBIT" | "PREPAID"}`;
  cardExpiryMonth?: number;
  cardExpiryYear?: number;
  /** IANA name, such as Europe/Berlin. */
  customerTimezone?: string;
  initiator?: `TRANSACTION_INITIATOR_${"BILLING_SYSTEM" | "RECOVERY_ACTION" | "CUSTOMER" | "MERCHANT_MANUAL"}`;
  attemptNumber?: number;
  networkToken?: boolean;
}

export interface RecoveryAction {
  id: string;
  subscriptionId?: string;
  invoiceId: string;
  customerId: string;
  transactionId?: string;
  paymentMethodType?: string;
  cardCountry?: string;
  currency: string;
  /** RECOVERY_ACTION_TYPE_RETRY, …_CARD_CHANGE */
  type: string;
  /** RECOVERY_ACTION_STATUS_SCHEDULED, …_SENT, …_SUCCEEDED, …_FAILED, …_EXPIRED, …_CANCELED, …_DELIVERY_FAILED */
  status: string;
  integrationType: string;
  createdAt: string;
  executedAt?: string;
  updatedAt: string;
  actionSuggestion?: string;
  idealRetryTime?: string;
  attemptedAt?: string;
  reasons?: string[];
}

export interface RecoveryActionPage {
  recoveryActions: RecoveryAction[];
  /** Empty when there are no more pages. */
  nextPageToken: string;
  /** Over all pages. */
  totalSize: number;
}

/** The query of the list. Ascending by `executed_at` or `created_at` never misses and never doubles an action. */
export interface ListParams {
  /** 1 to 100. */
  pageSize?: number;
  pageToken?: string;
  subscriptionId?: string;
  invoiceId?: string;
  customerId?: string;
  transactionId?: string;
  cardCountry?: string;
  currency?: string;
  type?: string;
  status?: string;
  executedAfter?: string;
  executedBefore?: string;
  orderBy?: "executed_at" | "created_at" | "updated_at";
  orderDirection?: "asc" | "desc";
}
