import type { Initiator } from "./transaction.ts";

/** A paid or failed attempt. Text is as the gateway wrote it. */
export interface PastAttempt {
  invoiceId: string;
  /** The invoice's id if the customer is unknown. */
  customerId: string;
  at: Date;
  approved: boolean;
  /** A customer's own attempt is not a retry by the merchant's system. */
  initiator: Initiator | null;
  /** Minor units. */
  amount: number;
  currency: string;
  /** Probability that the merchant's system chose this time, by the classes in src/backtest/retry-gaps.ts. */
  chance: number | null;
  networkDeclineCode: string | null;
  networkAdviceCode: string | null;
  /** As in the code tables: a number has the gateway's name with it. */
  gatewayCode: string | null;
  declineCategory: string | null;
  paymentMethodType: string | null;
  cardBrand: string | null;
  cardCountry: string | null;
  /** In lower case. */
  cardFunding: string | null;
  cardIssuer: string | null;
  cardFingerprint: string | null;
  customerTimezone: string | null;
}
