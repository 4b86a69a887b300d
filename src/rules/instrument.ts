import { schemeOf } from "../domain/schemes.ts";
import { bankDebit } from "./bank-debits.ts";
import { brandOf } from "./card-networks.ts";
import { WALLETS } from "./wallets.ts";

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

/**
 * Whether the rules of card networks hold. Whatever has a card's brand is one, also behind Apple Pay, Google Pay or Link: the network sees and
 * counts its tries like those of any card. Only what has rules of its own goes by those, whatever stands behind it.
 */
export function isCard({ paymentMethodType, network }: Instrument): boolean {
  if (paymentMethodType === null) return true;
  if (bankDebit(paymentMethodType) || WALLETS.has(paymentMethodType)) return false;
  return CARDS.has(paymentMethodType) || (network ?? "").trim() !== "";
}

/** A way of paying by the name that lessons have for it: "card" also of "credit_card", and of what has a brand for a name, as Adyen's "mc" and "visa_applepay". */
export const methodOf = (paymentMethodType: string): string =>
  CARDS.has(paymentMethodType) || brandOf(null, paymentMethodType) !== null ? "card" : schemeOf(paymentMethodType);

/** Whether it is known how such a payment may be tried again. */
export const hasRules = (instrument: Instrument): boolean =>
  isCard(instrument) || bankDebit(instrument.paymentMethodType) !== undefined;
