export const TRANSACTION_STATES = ["PAID", "FAILED", "PENDING", "VOIDED", "REFUNDED", "DISPUTED"] as const;
export type TransactionState = (typeof TRANSACTION_STATES)[number];

/** From the first state to the one that is furthest along: of two versions of one date the latter is the truth. */
export const TRANSACTION_STATE_ORDER: readonly TransactionState[] = [
  "PENDING",
  "FAILED",
  "PAID",
  "VOIDED",
  "REFUNDED",
  "DISPUTED",
];

/** Other words for a state that mean it wherever they are used. Of "authorised" or "processed" only who writes them knows whether money came. */
export const TRANSACTION_STATE_SYNONYMS: Readonly<Record<TransactionState, readonly string[]>> = {
  PAID: ["SUCCEEDED", "SUCCESS", "SUCCESSFUL", "APPROVED", "CAPTURED", "SETTLED", "PARTIALLY_REFUNDED"],
  FAILED: ["FAILURE", "UNSUCCESSFUL", "DECLINED", "REFUSED", "REJECTED", "ERROR"],
  PENDING: ["PROCESSING"],
  VOIDED: ["VOID", "CANCELED", "CANCELLED"],
  REFUNDED: [],
  DISPUTED: [],
};

export const CARD_FUNDINGS = ["CREDIT", "DEBIT", "PREPAID", "CHARGE"] as const;
export type CardFunding = (typeof CARD_FUNDINGS)[number];

/** Other words for charge cards, which are paid in full once a month, without what stands between letters: Adyen and Checkout.com write them. */
const CHARGE_CARD_SYNONYMS = ["CHARGE", "CHARGECARD", "DEFERREDDEBIT", "DEFERREDDEBITCARD"];

/** Returns the funding that a word means in any spelling, `DeferredDebit` and `deferred_debit` alike; undefined if it means none. */
export function parseCardFunding(word: string): CardFunding | undefined {
  const letters = word
    .toUpperCase()
    .replace(/^\s*CARD_FUNDING_/, "")
    .replace(/[^A-Z]/g, "");
  return CHARGE_CARD_SYNONYMS.includes(letters) ? "CHARGE" : CARD_FUNDINGS.find((funding) => funding === letters);
}

export const INITIATORS = ["BILLING_SYSTEM", "RECOVERY_ACTION", "CUSTOMER", "MERCHANT_MANUAL"] as const;
export type Initiator = (typeof INITIATORS)[number];

/** One authorization attempt at the issuer, whoever made it. Strings are as the gateway gave them. */
export interface Transaction {
  id: string;
  state: TransactionState;
  invoiceId: string;
  amount: number;
  currency: string;
  createdAt: Date;
  updatedAt: Date;
  customerId?: string | undefined;
  subscriptionId?: string | undefined;
  businessEntity?: string | undefined;
  /** The recovery action that asked for this attempt. */
  recoveryActionId?: string | undefined;
  /** Lower case, open: card, sepa_debit, ach_debit, bacs_debit, paypal, other. What gateways call a debit is read by schemeOf. */
  paymentMethodType?: string | undefined;
  paymentMethodId?: string | undefined;
  paymentGatewayId?: string | undefined;
  paymentGatewayName?: string | undefined;
  paymentGatewayType?: string | undefined;
  paymentGatewayStatus?: string | undefined;
  paymentGatewayTransactionId?: string | undefined;
  paymentGatewayErrorCode?: string | undefined;
  paymentGatewayErrorMessage?: string | undefined;
  networkDeclineCode?: string | undefined;
  networkAdviceCode?: string | undefined;
  declineCategory?: string | undefined;
  cardBrand?: string | undefined;
  cardBin?: string | undefined;
  cardLast4?: string | undefined;
  cardFingerprint?: string | undefined;
  cardCountry?: string | undefined;
  cardIssuer?: string | undefined;
  cardFunding?: CardFunding | undefined;
  cardExpiryMonth?: number | undefined;
  cardExpiryYear?: number | undefined;
  customerTimezone?: string | undefined;
  initiator?: Initiator | undefined;
  attemptNumber?: number | undefined;
  networkToken?: boolean | undefined;
}

/** Whether the bank said yes, whatever became of the money later. */
export const isApproved = ({ state }: Pick<Transaction, "state">) =>
  state === "PAID" || state === "REFUNDED" || state === "DISPUTED";
