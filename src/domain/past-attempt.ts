import type { Initiator } from "./transaction.ts";

/** An attempt of a merchant's history that was paid or failed, as a backtest looks at it. Strings are as the gateway gave them; null is "not known". */
export interface PastAttempt {
  invoiceId: string;
  /** The invoice's id where no customer is known. */
  customerId: string;
  at: Date;
  approved: boolean;
  /** Who made it: what a customer did is no try of the merchant's system. */
  initiator: Initiator | null;
  /** Minor units. */
  amount: number;
  currency: string;
  /** With which chance the merchant's system made this try when it did, by the classes of src/backtest/retry-gaps.ts. */
  chance: number | null;
  networkDeclineCode: string | null;
  networkAdviceCode: string | null;
  /** As the tables of codes write it: a number with the gateway's name, since it means something by that only. */
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
