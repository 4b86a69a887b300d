export const TRANSACTION_STATES = ["PAID", "FAILED", "PENDING", "VOIDED", "REFUNDED", "DISPUTED"] as const;
export type TransactionState = (typeof TRANSACTION_STATES)[number];

/** Of two versions with the same date, the later state wins. */
export const TRANSACTION_STATE_ORDER: readonly TransactionState[] = [
  "PENDING",
  "FAILED",
  "PAID",
  "VOIDED",
  "REFUNDED",
  "DISPUTED",
];

/** Unambiguous in every system. "Authorised" and "processed" may or may not mean paid. */
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

/** Adyen's and Checkout.com's words, letters only. */
const CHARGE_CARD_SYNONYMS = ["CHARGE", "CHARGECARD", "DEFERREDDEBIT", "DEFERREDDEBITCARD"];

/** In any spelling, such as `DeferredDebit` or `deferred_debit`. */
export function parseCardFunding(word: string): CardFunding | undefined {
  const letters = word
    .toUpperCase()
    .replace(/^\s*CARD_FUNDING_/, "")
    .replace(/[^A-Z]/g, "");
  return CHARGE_CARD_SYNONYMS.includes(letters) ? "CHARGE" : CARD_FUNDINGS.find((funding) => funding === letters);
}

export const INITIATORS = ["BILLING_SYSTEM", "RECOVERY_ACTION", "CUSTOMER", "MERCHANT_MANUAL"] as const;
export type Initiator = (typeof INITIATORS)[number];

/** An authorization attempt, by anyone. Text is as the gateway wrote it. */
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
  /** Requested the attempt. */
  recoveryActionId?: string | undefined;
  /** In lower case: card, sepa_debit, ach_debit, bacs_debit, paypal or others. See `paymentSchemeOf`. */
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

/** By the bank, even if the money went back later. */
export const isApproved = ({ state }: Pick<Transaction, "state">) =>
  state === "PAID" || state === "REFUNDED" || state === "DISPUTED";
