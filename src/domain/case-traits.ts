/** Properties by which recovery is summed; null if unknown. */
export interface CaseTraits {
  /** A `DeclineGroup` of the first declined attempt. */
  declineGroup: string | null;
  /** The network's code, or else the gateway's. */
  declineCode: string | null;
  /** Card network in lower case, or else the payment method. */
  paymentMethod: string | null;
  cardCountry: string | null;
  cardIssuer: string | null;
  planId: string | null;
  /** Lower bound in major units, as text. */
  amountBand: string | null;
  /** Executed retries, earliest first. */
  tries: readonly CaseTry[];
}

export interface CaseTry {
  /** On the customer's clock, from Monday 0:00 on: 0 to 167. */
  hourOfWeek: number;
  isPaid: boolean;
}
