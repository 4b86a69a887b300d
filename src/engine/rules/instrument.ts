import { paymentSchemeOf } from "../../domain/payment-schemes.ts";
import { findBankDebit } from "./bank-debits.ts";
import { findBrand } from "./card-networks.ts";
import { findWallet } from "./wallets.ts";

/** What reading a payment method's codes requires. */
export interface Instrument {
  /** "card", "sepa_debit", "ach_debit", "bacs_debit", or another type; null (not reported): read as a card. */
  paymentMethodType: string | null;
  network: string | null;
  /** ISO 3166 alpha-2; null if not reported. */
  cardCountry: string | null;
}

export const CARD_TYPES: ReadonlySet<string> = new Set(["card", "credit_card", "debit_card"]);

/**
 * Adyen, Braintree, Chargebee and Stripe types that hold only cards, so a payment without a brand is a card payment.
 *
 * @see docs/sources.md, names of cards
 */
const CARD_WALLET_TYPES: ReadonlySet<string> = new Set(
  `scheme apple_pay applepay apple_pay_card google_pay googlepay paywithgoogle android_pay_card samsung_pay_card
  visa_checkout_card`.split(/\s+/),
);

/**
 * Card network rules apply to anything with a card brand, also behind Link, and to Apple Pay and Google Pay, whose attempts the
 * network counts. A payment method with its own rules follows only those.
 */
export function isCard({ paymentMethodType, network }: Instrument): boolean {
  if (paymentMethodType === null) return true;
  if (findBankDebit(paymentMethodType) || findWallet(paymentMethodType)) return false;
  return CARD_TYPES.has(paymentMethodType) || CARD_WALLET_TYPES.has(paymentMethodType) || (network ?? "").trim() !== "";
}

/** The model's name: "card" also for "credit_card" and for brands such as Adyen's "mc" and "visa_applepay". */
export const normalizeMethod = (paymentMethodType: string): string =>
  CARD_TYPES.has(paymentMethodType) || findBrand(null, paymentMethodType) !== null
    ? "card"
    : paymentSchemeOf(paymentMethodType);

export const hasKnownRules = (instrument: Instrument): boolean =>
  isCard(instrument) || findBankDebit(instrument.paymentMethodType) !== undefined;
