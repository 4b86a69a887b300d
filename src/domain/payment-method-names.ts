import { paymentSchemeOf } from "./payment-schemes.ts";

const METHOD_NAMES = new Map([
  ["sepa_debit", "SEPA debit"],
  ["ach_debit", "ACH debit"],
  ["bacs_debit", "Bacs debit"],
  ["paypal", "PayPal"],
]);
const BRAND_NAMES = new Map([
  ["visa", "Visa"],
  ["mastercard", "Mastercard"],
  ["amex", "American Express"],
  ["discover", "Discover"],
  ["diners", "Diners Club"],
  ["maestro", "Maestro"],
  ["elo", "Elo"],
  ["jcb", "JCB"],
  ["unionpay", "UnionPay"],
  ["cartesbancaires", "Cartes Bancaires"],
]);

/** Other names of them, Adyen's among them. @see docs/sources.md, names of cards */
const BRAND_ALIASES = new Map([
  ["mc", "mastercard"],
  ["americanexpress", "amex"],
  ["dinersclub", "diners"],
  ["cup", "unionpay"],
  ["cartebancaire", "cartesbancaires"],
]);

/** A card's brand by one name, of small letters alone: "mastercard" of "MC" and "MasterCard". */
export function normalizeBrand(brand: string): string {
  const name = brand.toLowerCase().replace(/[^a-z]/g, "");
  return BRAND_ALIASES.get(name) ?? name;
}

/** A card's brand as people write it, "American Express" of a gateway's "amex"; a stranger as it was pushed. */
export const cardBrandName = (brand: string): string => BRAND_NAMES.get(normalizeBrand(brand)) ?? brand;

/** A way of paying as people write it, "SEPA debit" of a gateway's "sepa_debit"; a stranger as it was pushed. */
export const paymentMethodName = (paymentMethodType: string): string =>
  METHOD_NAMES.get(paymentSchemeOf(paymentMethodType)) ?? cardBrandName(paymentMethodType);

/** What an invoice is to be paid by, in a sentence of an earlier program: it had the words of gateways. */
const FORMER_PAYER_SENTENCE = /( is due, to be paid by )([a-z_]+)(?: \(([a-z]+)(?=[ ,)]))?/;

/** What was known, as it is said now, where an earlier program said it: so a sentence that is put in other words is no news. */
export const updateFormerSentences = (known: readonly string[]): string[] =>
  known.map((sentence) =>
    sentence.replace(
      FORMER_PAYER_SENTENCE,
      (_, due: string, way: string, brand?: string) =>
        `${due}${paymentMethodName(way)}${brand === undefined ? "" : ` (${cardBrandName(brand)}`}`,
    ),
  );
