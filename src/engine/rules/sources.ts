/** `anchor`: its paragraph in docs/sources.md. */
export interface Source {
  anchor: string;
  /** Or a note that the rule is Dunlin's own; fits into a sentence on an invoice. */
  document: string;
  /** Edition, date or last dated change; "undated" if it has none. */
  date: string;
  /** False: from memory or deduced, and marked [verify] in docs/sources.md. */
  verified: boolean;
}

const defineSource = (anchor: string, document: string, date: string, verified = true): Source => ({
  anchor,
  document,
  date,
  verified,
});

/** Each appears word for word in docs/sources.md. */
export const SOURCES = {
  visaReattempts: defineSource("visa-excessive-reattempts", "Recurly and TabaPay on Visa's rules", "4 August 2026"),
  visaCategories: defineSource(
    "visa-decline-categories",
    "Visa decline categories as processors list them",
    "17 April 2021",
  ),
  mastercardExcessive: defineSource("mastercard-excessive-attempts", "TabaPay on Mastercard's rules", "January 2025"),
  mastercardAdvice: defineSource(
    "mastercard-advice-codes",
    "Mastercard merchant advice codes as processors list them",
    "undated",
  ),
  otherCards: defineSource("amex-discover", "no public limit of this network, Visa's is used", "own choice", false),
  unknownCards: defineSource("unknown-network", "the strictest of the card networks' limits", "own choice", false),
  paypal: defineSource("paypal", "PayPal: payment failures and recovering balances", "undated"),
  sepa: defineSource("sepa-returns", "Adyen Auto Rescue for SEPA", "undated"),
  ach: defineSource("ach-returns", "processors on Nacha's rules", "undated"),
  bacs: defineSource("bacs-returns", "Clear Direct Debit and AccessPaySuite on Bacs", "undated"),
  declineGroups: defineSource("decline-groups", "Dunlin's decline groups", "own choice", false),
  responseCodes: defineSource("response-codes", "Antom, Nexi and others on response codes", "undated"),
  stripeCodes: defineSource("stripe-decline-codes", "Stripe decline codes", "14 July 2026"),
  stripeBlocks: defineSource("stripe-blocked-payments", "Stripe on blocked payments", "undated"),
  stripeDebits: defineSource("stripe-debit-codes", "Stripe on failed bank debits", "undated"),
  goCardlessCauses: defineSource("gocardless-causes", "GoCardless's causes of events", "14 July 2026"),
  adyenReasons: defineSource("adyen-refusal-reasons", "Adyen refusal reasons", "14 July 2026"),
  braintreeCodes: defineSource("braintree-response-codes", "Braintree processor response codes", "14 July 2026"),
  recurlyCodes: defineSource("recurly-error-codes", "Recurly API transaction errors", "undated"),
  postponed: defineSource("postponed", "a request of the merchant", "own choice", false),
  recoveryRule: defineSource("recovery-rules", "a recovery rule of the merchant", "own choice", false),
  disputes: defineSource("disputes", "Dunlin on disputes", "own choice", false),
  checkoutCodes: defineSource("checkout-response-codes", "Checkout.com response codes", "14 July 2026"),
  nmiCodes: defineSource("nmi-response-codes", "copies of NMI's response codes", "undated"),
  cyberSourceCodes: defineSource("cybersource-reason-codes", "copies of CyberSource's reason codes", "undated"),
  authorizeNetCodes: defineSource(
    "authorize-net-reason-codes",
    "copies of Authorize.Net's response reasons",
    "undated",
  ),
  mercadoPagoCodes: defineSource("mercado-pago-status-details", "clients of Mercado Pago on rejected cards", "undated"),
  mollieReasons: defineSource("mollie-failure-reasons", "Mollie failure and status reasons", "1 August 2026"),
  paddleCodes: defineSource("paddle-error-codes", "Paddle payment error codes", "undated"),
  declineCategory: defineSource("decline-category-field", "the merchant's own decline category", "own choice", false),
} as const satisfies Record<string, Source>;

/** Has no paragraph in docs/sources.md. */
const OPERATOR_ANCHOR = "rules-of-your-own";
export const operatorSource = (document: string, date: string): Source => defineSource(OPERATOR_ANCHOR, document, date);
export const isOperatorSource = ({ anchor }: Source) => anchor === OPERATOR_ANCHOR;
