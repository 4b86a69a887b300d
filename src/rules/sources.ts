/** Where a rule comes from. The anchor names the paragraph in docs/sources.md that says what was read and how good it is. */
export interface Source {
  anchor: string;
  /** What was read, or that it is our own; short enough for a sentence on an invoice. */
  document: string;
  /** Edition or date of what was read, or of the last dated step of the rule in it; "undated" when it carried none. */
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

/** Each stands word for word in its paragraph of docs/sources.md, and so does whether it is verified. */
export const SOURCES = {
  visaReattempts: source("visa-excessive-reattempts", "Recurly and TabaPay on Visa's rules", "4 August 2026"),
  visaCategories: source("visa-decline-categories", "Visa decline categories as processors list them", "17 April 2021"),
  mastercardExcessive: source("mastercard-excessive-attempts", "TabaPay on Mastercard's rules", "January 2025"),
  mastercardAdvice: source(
    "mastercard-advice-codes",
    "Mastercard merchant advice codes as processors list them",
    "undated",
  ),
  otherCards: source("amex-discover", "no public limit of this network, Visa's is used", "own choice", false),
  unknownCards: source("unknown-network", "the strictest of the card networks' limits", "own choice", false),
  paypal: source("paypal", "PayPal: payment failures and recovering balances", "undated"),
  sepa: source("sepa-returns", "Adyen Auto Rescue for SEPA", "undated"),
  ach: source("ach-returns", "processors on Nacha's rules", "undated"),
  bacs: source("bacs-returns", "Clear Direct Debit and AccessPaySuite on Bacs", "undated"),
  declineGroups: source("decline-groups", "Dunlin's decline groups", "own choice", false),
  responseCodes: source("response-codes", "Antom, Nexi and others on response codes", "undated"),
  stripeCodes: source("stripe-decline-codes", "Stripe decline codes", "14 July 2026"),
  stripeBlocks: source("stripe-blocked-payments", "Stripe on blocked payments", "undated"),
  stripeDebits: source("stripe-debit-codes", "Stripe on failed bank debits", "undated"),
  goCardlessCauses: source("gocardless-causes", "GoCardless's causes of events", "14 July 2026"),
  adyenReasons: source("adyen-refusal-reasons", "Adyen refusal reasons", "14 July 2026"),
  braintreeCodes: source("braintree-response-codes", "Braintree processor response codes", "14 July 2026"),
  recurlyCodes: source("recurly-error-codes", "Recurly API transaction errors", "undated"),
  disputes: source("disputes", "Dunlin on disputes", "own choice", false),
  checkoutCodes: source("checkout-response-codes", "Checkout.com response codes", "14 July 2026"),
  nmiCodes: source("nmi-response-codes", "copies of NMI's response codes", "undated"),
  cyberSourceCodes: source("cybersource-reason-codes", "copies of CyberSource's reason codes", "undated"),
  authorizeNetCodes: source("authorize-net-reason-codes", "copies of Authorize.Net's response reasons", "undated"),
  mercadoPagoCodes: source("mercado-pago-status-details", "clients of Mercado Pago on rejected cards", "undated"),
  mollieReasons: source("mollie-failure-reasons", "Mollie failure and status reasons", "1 August 2026"),
  paddleCodes: source("paddle-error-codes", "Paddle payment error codes", "undated"),
  declineCategory: source("decline-category-field", "the merchant's own decline category", "own choice", false),
} as const satisfies Record<string, Source>;

/** Of the rules that an operator brings along: there is no paragraph of ours. */
const OWN = "rules-of-your-own";
export const ownSource = (document: string, date: string): Source => source(OWN, document, date);
export const isOwn = ({ anchor }: Source) => anchor === OWN;
