/** Where a rule comes from. The anchor names the paragraph in docs/sources.md that says what was read and how good it is. */
export interface Source {
  anchor: string;
  /** Short enough for a sentence on an invoice. */
  document: string;
  /** Edition or date of what was read; "undated" when it carried none. */
  date: string;
  /** False: written from memory or deduced, and marked [verify] in docs/sources.md. */
  verified: boolean;
}

const source = (anchor: string, document: string, date: string, verified = true): Source => ({
  anchor,
  document,
  date,
  verified,
});

export const SOURCES = {
  visaReattempts: source("visa-excessive-reattempts", "Visa Core Rules table 7-2", "18 April 2026"),
  visaCategories: source("visa-decline-categories", "Visa decline categories", "17 April 2021"),
  mastercardExcessive: source(
    "mastercard-excessive-attempts",
    "Mastercard Transaction Processing Excellence",
    "January 2025",
  ),
  mastercardAdvice: source("mastercard-advice-codes", "Mastercard merchant advice codes", "undated"),
  otherCards: source("amex-discover", "no public limit of this network, Visa's is used", "own choice", false),
  unknownCards: source("unknown-network", "the strictest of the card networks' limits", "own choice", false),
  paypal: source("paypal", "PayPal: payment failures and recovering balances", "undated"),
  sepa: source("sepa-returns", "Adyen Auto Rescue for SEPA", "undated"),
  ach: source("ach-returns", "Nacha rules 2.12.4", "undated"),
  bacs: source("bacs-returns", "Bacs re-presentation", "undated"),
  declineGroups: source("decline-groups", "Dunlin's decline groups", "own choice", false),
  stripeCodes: source("stripe-decline-codes", "Stripe decline codes", "undated", false),
  adyenReasons: source("adyen-refusal-reasons", "Adyen refusal reasons", "undated"),
  braintreeCodes: source("braintree-response-codes", "Braintree processor response codes", "undated"),
  recurlyCodes: source("recurly-error-codes", "Recurly API transaction errors", "undated"),
  declineCategory: source("decline-category-field", "the merchant's own decline category", "own choice", false),
} as const satisfies Record<string, Source>;
