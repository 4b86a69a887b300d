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

/** @see docs/sources.md, names of cards */
const BRAND_ALIASES = new Map([
  ["mc", "mastercard"],
  ["americanexpress", "amex"],
  ["dinersclub", "diners"],
  ["cup", "unionpay"],
  ["cartebancaire", "cartesbancaires"],
]);

/** "mastercard" for "MC" and "MasterCard". */
export function normalizeBrand(brand: string): string {
  const name = brand.toLowerCase().replace(/[^a-z]/g, "");
  return BRAND_ALIASES.get(name) ?? name;
}

/** "American Express" for "amex". */
export const cardBrandName = (brand: string): string => BRAND_NAMES.get(normalizeBrand(brand)) ?? brand;

/** "SEPA debit" for "sepa_debit". */
export const paymentMethodName = (paymentMethodType: string): string =>
  METHOD_NAMES.get(paymentSchemeOf(paymentMethodType)) ?? cardBrandName(paymentMethodType);
