import { schemeOf } from "./schemes.ts";

const WAYS = new Map([
  ["sepa_debit", "SEPA debit"],
  ["ach_debit", "ACH debit"],
  ["bacs_debit", "Bacs debit"],
  ["paypal", "PayPal"],
]);
const BRANDS = new Map([
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
const OTHER_NAMES = new Map([
  ["mc", "mastercard"],
  ["americanexpress", "amex"],
  ["dinersclub", "diners"],
  ["cup", "unionpay"],
  ["cartebancaire", "cartesbancaires"],
]);

/** A card's brand by one name, of small letters alone: "mastercard" of "MC" and "MasterCard". */
export function brandKey(brand: string): string {
  const name = brand.toLowerCase().replace(/[^a-z]/g, "");
  return OTHER_NAMES.get(name) ?? name;
}

/** A card's brand as people write it, "American Express" of a gateway's "amex"; a stranger as it was pushed. */
export const brandWords = (brand: string): string => BRANDS.get(brandKey(brand)) ?? brand;

/** A way of paying as people write it, "SEPA debit" of a gateway's "sepa_debit"; a stranger as it was pushed. */
export const wayWords = (paymentMethodType: string): string =>
  WAYS.get(schemeOf(paymentMethodType)) ?? brandWords(paymentMethodType);

/** What an invoice is to be paid by, in a sentence of an earlier program: it had the words of gateways. */
const FORMER_PAYER = /( is due, to be paid by )([a-z_]+)(?: \(([a-z]+)(?=[ ,)]))?/;

/** What was known, as it is said now, where an earlier program said it: so a sentence that is put in other words is no news. */
export const saidAsNow = (known: readonly string[]): string[] =>
  known.map((sentence) =>
    sentence.replace(
      FORMER_PAYER,
      (_, due: string, way: string, brand?: string) =>
        `${due}${wayWords(way)}${brand === undefined ? "" : ` (${brandWords(brand)}`}`,
    ),
  );
