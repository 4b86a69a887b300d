/**
 * Names at Stripe, Braintree, Adyen, GoCardless, Chargebee and others.
 *
 * @see docs/sources.md, names of bank debits, and of PayPal #paypal
 */
const METHOD_TYPES_BY_SCHEME = {
  sepa_debit: [
    "sepa_debit",
    "sepa_direct_debit",
    "sepadirectdebit",
    "sepa_core",
    "sepa_cor1",
    "sepa_debit_account",
    "sepa",
  ],
  ach_debit: ["ach_debit", "us_bank_account", "ach", "ach_direct_debit"],
  bacs_debit: ["bacs_debit", "bacs", "bacs_direct_debit", "directdebit_gb"],
  paypal: ["paypal", "paypal_account", "paypal_express_checkout"],
} as const;

const SCHEMES_BY_METHOD_TYPE: ReadonlyMap<string, string> = new Map(
  Object.entries(METHOD_TYPES_BY_SCHEME).flatMap(([scheme, names]) => names.map((name) => [name, scheme] as const)),
);

/** The name in rules and models: "ach_debit" for Stripe's "us_bank_account". Unknown types stay unchanged. */
export const paymentSchemeOf = (paymentMethodType: string): string =>
  SCHEMES_BY_METHOD_TYPE.get(paymentMethodType.toLowerCase()) ?? paymentMethodType;
