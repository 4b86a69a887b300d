import { paymentSchemeOf } from "../../domain/payment-schemes.ts";
import { findBankDebit } from "./bank-debits.ts";
import { findBrand } from "./card-networks.ts";
import { findWallet } from "./wallets.ts";

/** What was paid with, so that its codes can be read. */
export interface Instrument {
  /** "card", "sepa_debit", "ach_debit", "bacs_debit", another, or null when not known: then codes are read as a card's. */
  paymentMethodType: string | null;
  /** Card brand; null when not known. */
  network: string | null;
  /** ISO 3166 alpha-2; null when not known. */
  cardCountry: string | null;
}

/** What merchants call a card when they are asked for the type. */
export const CARD_TYPES: ReadonlySet<string> = new Set(["card", "credit_card", "debit_card"]);

/** Of Adyen, Braintree, Chargebee and Stripe: what holds cards alone, so that whoever names no brand is still charged on one. @see docs/sources.md, names of cards */
const CARD_WALLET_TYPES: ReadonlySet<string> = new Set(
  `scheme apple_pay applepay apple_pay_card google_pay googlepay paywithgoogle android_pay_card samsung_pay_card
  visa_checkout_card`.split(/\s+/),
);

/**
 * Whether the rules of card networks hold. Whatever has a card's brand is one, also behind Link, and what is paid by Apple Pay or Google Pay is one in any case:
 * the network sees and counts its tries like those of any card. Only what has rules of its own goes by those, whatever stands behind it.
 */
export function isCard({ paymentMethodType, network }: Instrument): boolean {
  if (paymentMethodType === null) return true;
  if (findBankDebit(paymentMethodType) || findWallet(paymentMethodType)) return false;
  return CARD_TYPES.has(paymentMethodType) || CARD_WALLET_TYPES.has(paymentMethodType) || (network ?? "").trim() !== "";
}

/** A way of paying by the name that lessons have for it: "card" also of "credit_card", and of what has a brand for a name, as Adyen's "mc" and "visa_applepay". */
export const normalizeMethod = (paymentMethodType: string): string =>
  CARD_TYPES.has(paymentMethodType) || findBrand(null, paymentMethodType) !== null
    ? "card"
    : paymentSchemeOf(paymentMethodType);

/** Whether it is known how such a payment may be tried again. */
export const hasKnownRules = (instrument: Instrument): boolean =>
  isCard(instrument) || findBankDebit(instrument.paymentMethodType) !== undefined;
