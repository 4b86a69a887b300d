import { DAY_MS } from "../../domain/durations.ts";
import { cardBrandName, normalizeBrand } from "../../domain/payment-method-names.ts";
import type { CodeDialect } from "./response-codes.ts";
import { SOURCES, type Source } from "./sources.ts";

/** At most so many declined or unanswered tries in any stretch of that length. */
export interface AttemptLimit {
  attemptsMax: number;
  /** Infinity: as long as the invoice is open. */
  windowMs: number;
  /** All tries on the card or account, those of the same amount, or those of the one invoice. */
  counts: "card" | "card_and_amount" | "invoice";
  /** Words that complete "allows at most …". */
  words: string;
  source: Source;
}

export interface CardNetwork {
  /** As people read it; a file of rules may change it. */
  name: string;
  /** How its response codes are read, whatever it is called. */
  dialect: CodeDialect;
  limits: readonly AttemptLimit[];
  /** Whether a Visa category 1 code bars the card for good. */
  barsCategory1: boolean;
  /** Whether all Mastercard advice codes are read; 03 and 21 are honoured whatever the network. */
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

/** Not known, or one whose limits were not seen: the strictest rule of each kind. */
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

/** A network with a programme of its own that was not seen, under its own name. */
const defineUnreadNetwork = (brand: string): CardNetwork => ({ ...UNKNOWN_NETWORK, name: cardBrandName(brand) });

const networkByBrand = new Map<string, CardNetwork>([
  ["visa", VISA],
  ["mastercard", MASTERCARD],
  ["amex", AMEX],
  ["discover", DISCOVER],
  // Accepted and cleared by Discover and by Mastercard.
  ["diners", DISCOVER],
  ["maestro", MASTERCARD],
  ["elo", defineUnreadNetwork("elo")],
  ["jcb", defineUnreadNetwork("jcb")],
  ["unionpay", defineUnreadNetwork("unionpay")],
  ["cartesbancaires", defineUnreadNetwork("cartesbancaires")],
]);

/** A brand by the name that rules and lessons have for it: "mastercard" of "MC" and "MasterCard"; a stranger in small letters. */
export function networkKeyOf(brand: string): string {
  const key = normalizeBrand(brand);
  return networkByBrand.has(key) ? key : brand.toLowerCase();
}

/** The rules of a card brand as gateways write it ("visa", "American Express"); null or a stranger: the strictest. */
export const findCardNetwork = (brand: string | null): CardNetwork =>
  (brand === null ? undefined : networkByBrand.get(normalizeBrand(brand))) ?? UNKNOWN_NETWORK;

/** What Adyen writes behind a brand, without a sign between: "mcdebit", "visasuperpremiumcredit". */
const PRODUCT_SUFFIX =
  /(?:super|premium|standard|commercial|consumer|corporate|business|small|purchasing|fleet|prepaid|reloadable|anonymous|credit|debit)+$/;

/**
 * The brand of what was paid with. Where nobody says one, a type may: Adyen's are "visa", "mc", "visa_applepay" and "mcdebit". Taken for no card, one that was
 * reported stolen would be tried again.
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

/** From now on a brand has these rules, in the whole process. @see override.ts */
export const setCardNetwork = (brand: string, network: CardNetwork) =>
  networkByBrand.set(normalizeBrand(brand), network);

/** All there are by now, that of strangers among them. */
export const listCardNetworks = (): CardNetwork[] => [...new Set(networkByBrand.values()), UNKNOWN_NETWORK];
