import { DAY_MS } from "../../domain/durations.ts";
import { cardBrandName, normalizeBrand } from "../../domain/payment-method-names.ts";
import type { CodeDialect } from "./response-codes.ts";
import { SOURCES, type Source } from "./sources.ts";

/** Declined or unanswered attempts in any window of this length. */
export interface AttemptLimit {
  attemptsMax: number;
  /** Infinity: while the invoice is open. */
  windowMs: number;
  /** Attempts on the card or account, with the same amount, or for the invoice. */
  counts: "card" | "card_and_amount" | "invoice";
  /** Completes "allows at most …". */
  words: string;
  source: Source;
}

export interface CardNetwork {
  /** A file of rules may change it. */
  name: string;
  /** Whatever the name. */
  dialect: CodeDialect;
  limits: readonly AttemptLimit[];
  /** Visa category 1 codes block the card permanently. */
  barsCategory1: boolean;
  /** All Mastercard advice codes; 03 and 21 count on every network. */
  readsAdvice: boolean;
  source: Source;
}

const VISA_30_DAYS: AttemptLimit = {
  attemptsMax: 20,
  windowMs: 30 * DAY_MS,
  counts: "card_and_amount",
  words: "20 declined attempts for one amount on a card in 30 days",
  source: SOURCES.visaReattempts,
};
const MASTERCARD_24_HOURS: AttemptLimit = {
  attemptsMax: 10,
  windowMs: DAY_MS,
  counts: "card",
  words: "10 declined attempts on a card in 24 hours",
  source: SOURCES.mastercardExcessive,
};
const MASTERCARD_30_DAYS: AttemptLimit = {
  attemptsMax: 35,
  windowMs: 30 * DAY_MS,
  counts: "card_and_amount",
  words: "35 declined attempts for one amount on a card in 30 days",
  source: SOURCES.mastercardExcessive,
};

const defineLikeVisa = (brand: string, dialect: CodeDialect): CardNetwork => ({
  name: cardBrandName(brand),
  dialect,
  limits: [{ ...VISA_30_DAYS, source: SOURCES.otherCards }],
  barsCategory1: true,
  readsAdvice: false,
  source: SOURCES.otherCards,
});

const VISA: CardNetwork = {
  name: cardBrandName("visa"),
  dialect: "visa",
  limits: [VISA_30_DAYS],
  barsCategory1: true,
  readsAdvice: false,
  source: SOURCES.visaReattempts,
};
const MASTERCARD: CardNetwork = {
  name: cardBrandName("mastercard"),
  dialect: "mastercard",
  limits: [MASTERCARD_24_HOURS, MASTERCARD_30_DAYS],
  barsCategory1: false,
  readsAdvice: true,
  source: SOURCES.mastercardExcessive,
};
const AMEX = defineLikeVisa("amex", "amex");
const DISCOVER = defineLikeVisa("discover", "common");

/** Also if a network's limits are not available: the strictest rule of each kind. */
export const UNKNOWN_NETWORK: CardNetwork = {
  name: "the card network",
  dialect: "common",
  limits: [
    { ...MASTERCARD_24_HOURS, source: SOURCES.unknownCards },
    { ...VISA_30_DAYS, source: SOURCES.unknownCards },
  ],
  barsCategory1: true,
  readsAdvice: true,
  source: SOURCES.unknownCards,
};

/** Its own rules were not available; only the name is known. */
const defineUnreadNetwork = (brand: string): CardNetwork => ({ ...UNKNOWN_NETWORK, name: cardBrandName(brand) });

const networkByBrand = new Map<string, CardNetwork>([
  ["visa", VISA],
  ["mastercard", MASTERCARD],
  ["amex", AMEX],
  ["discover", DISCOVER],
  // Discover clears Diners; Mastercard clears Maestro.
  ["diners", DISCOVER],
  ["maestro", MASTERCARD],
  ["elo", defineUnreadNetwork("elo")],
  ["jcb", defineUnreadNetwork("jcb")],
  ["unionpay", defineUnreadNetwork("unionpay")],
  ["cartesbancaires", defineUnreadNetwork("cartesbancaires")],
]);

/** The name in rules and model: "mastercard" for "MC" and "MasterCard"; an unknown brand in lower case. */
export function networkKeyOf(brand: string): string {
  const key = normalizeBrand(brand);
  return networkByBrand.has(key) ? key : brand.toLowerCase();
}

/** Any gateway's spelling ("visa", "American Express"); null or unknown: the strictest rules. */
export const findCardNetwork = (brand: string | null): CardNetwork =>
  (brand === null ? undefined : networkByBrand.get(normalizeBrand(brand))) ?? UNKNOWN_NETWORK;

/** Adyen appends products to a brand without a separator: "mcdebit", "visasuperpremiumcredit". */
const PRODUCT_SUFFIX =
  /(?:super|premium|standard|commercial|consumer|corporate|business|small|purchasing|fleet|prepaid|reloadable|anonymous|credit|debit)+$/;

/**
 * Without a brand, the type may name it: Adyen reports "visa", "mc", "visa_applepay" and "mcdebit". An unrecognized card would be
 * retried even if reported stolen.
 */
export function findBrand(
  cardBrand: string | null | undefined,
  paymentMethodType: string | null | undefined,
): string | null {
  if (cardBrand?.trim() || !paymentMethodType) return cardBrand ?? null;
  const card = paymentMethodType.split("_")[0]!;
  const key = [paymentMethodType, card, card.replace(PRODUCT_SUFFIX, "")]
    .map(normalizeBrand)
    .find((name) => networkByBrand.has(name));
  return key ?? cardBrand ?? null;
}

/**
 * For the whole process.
 *
 * @see rule-overrides.ts
 */
export const setCardNetwork = (brand: string, network: CardNetwork) =>
  networkByBrand.set(normalizeBrand(brand), network);

export const listCardNetworks = (): CardNetwork[] => [...new Set(networkByBrand.values()), UNKNOWN_NETWORK];
