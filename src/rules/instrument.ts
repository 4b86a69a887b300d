import { schemeOf } from "../domain/schemes.ts";
import { bankDebit } from "./bank-debits.ts";
import { brandOf } from "./card-networks.ts";
import { walletOf } from "./wallets.ts";

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
export const CARDS: ReadonlySet<string> = new Set(["card", "credit_card", "debit_card"]);

/** Of Adyen, Braintree, Chargebee and Stripe: what holds cards alone, so that whoever names no brand is still charged on one. @see docs/sources.md, names of cards */
const HOLDS_CARDS: ReadonlySet<string> = new Set(
  `scheme apple_pay applepay apple_pay_card google_pay googlepay paywithgoogle android_pay_card samsung_pay_card
  visa_checkout_card`.split(/\s+/),
);

/**
 * Whether the rules of card networks hold. Whatever has a card's brand is one, also behind Link, and what is paid by Apple Pay or Google Pay is one in any case:
 * the network sees and counts its tries like those of any card. Only what has rules of its own goes by those, whatever stands behind it.
 */
export function isCard({ paymentMethodType, network }: Instrument): boolean {
  if (paymentMethodType === null) return true;
  if (bankDebit(paymentMethodType) || walletOf(paymentMethodType)) return false;
  return CARDS.has(paymentMethodType) || HOLDS_CARDS.has(paymentMethodType) || (network ?? "").trim() !== "";
}

/** A way of paying by the name that lessons have for it: "card" also of "credit_card", and of what has a brand for a name, as Adyen's "mc" and "visa_applepay". */
export const methodOf = (paymentMethodType: string): string =>
  CARDS.has(paymentMethodType) || brandOf(null, paymentMethodType) !== null ? "card" : schemeOf(paymentMethodType);

/** Whether it is known how such a payment may be tried again. */
export const hasRules = (instrument: Instrument): boolean =>
  isCard(instrument) || bankDebit(instrument.paymentMethodType) !== undefined;
