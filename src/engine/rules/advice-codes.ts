import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import type { DeclineGroup } from "./decline-groups.ts";
import { normalizeCardCode } from "./response-codes.ts";
import { SOURCES, type Source } from "./sources.ts";

/** Mastercard merchant advice code (DE48 SE84), sent by some issuers with the response code. */
export interface AdviceCode {
  code: string;
  /** Null if it concerns only the number of retries. */
  group: DeclineGroup | null;
  /** Minimum, after the decline. */
  waitMs: number;
  bars: boolean;
  /** Attempts until Dunlin gives up the card; Infinity unless it can hardly ever pay later. */
  triesMax: number;
  words: string;
  source: Source;
}

const defineAdvice = (code: string, words: string, rest: Partial<AdviceCode>): AdviceCode => ({
  code,
  group: null,
  waitMs: 0,
  bars: false,
  triesMax: Number.POSITIVE_INFINITY,
  words,
  source: SOURCES.mastercardAdvice,
  ...rest,
});
const defineWait = (code: string, waitMs: number, words: string) =>
  defineAdvice(code, `the bank advised waiting ${words}`, { group: "FUNDS", waitMs });

export const unknownAdvice = (code: string): AdviceCode =>
  defineAdvice(normalizeAdviceCode(code), `the bank sent advice ${normalizeAdviceCode(code)}`, {});

/** @see docs/sources.md#mastercard-advice-codes */
export const ADVICE_CODES: readonly AdviceCode[] = [
  defineAdvice("01", "there is newer card data", { group: "EXPIRED" }),
  defineAdvice("02", "the bank advised waiting 72 hours", { group: "GENERIC", waitMs: 72 * HOUR_MS }),
  defineAdvice("03", "the bank advised never to charge this card again", { group: "HARD_CARD", bars: true }),
  defineAdvice("04", "the stored card token was not accepted", { group: "INVALID_DATA" }),
  defineAdvice("05", "the agreed amount was not approved", { group: "HARD_CARD", bars: true }),
  defineAdvice("21", "the customer canceled the recurring payment", { group: "REVOKED", bars: true }),
  defineAdvice("22", "the card does not qualify for this merchant", { group: "HARD_CARD", bars: true }),
  defineWait("24", HOUR_MS, "1 hour"),
  defineWait("25", DAY_MS, "24 hours"),
  defineWait("26", 2 * DAY_MS, "2 days"),
  defineWait("27", 4 * DAY_MS, "4 days"),
  defineWait("28", 6 * DAY_MS, "6 days"),
  defineWait("29", 8 * DAY_MS, "8 days"),
  defineWait("30", 10 * DAY_MS, "10 days"),
  // "Few retries" names no number; three declines in total is Dunlin's interpretation.
  defineAdvice("40", "the card is prepaid and cannot be topped up", { triesMax: 3 }),
  defineAdvice("41", "the card is virtual and for a single use", { group: "HARD_CARD", bars: true }),
  defineAdvice("42", "a sanctions check stopped the payment", { group: "FRAUD", bars: true }),
  defineAdvice("43", "the card is virtual", {}),
];

const normalizeAdviceCode = (code: string) => normalizeCardCode(code).padStart(2, "0");

const adviceByCode = new Map(ADVICE_CODES.map((advice) => [advice.code, advice]));

/**
 * For the whole process.
 *
 * @see rule-overrides.ts
 */
export const setAdviceCode = (advice: AdviceCode) => adviceByCode.set(advice.code, advice);

/** On every network: misreading one costs a retry, but missing one costs a fee. */
const CODES_READ_ON_EVERY_NETWORK = new Set(["03", "21"]);

/** Null if unlisted, or if the network's advice codes mean something else. */
export function findAdviceCode(code: string | null, readsAdvice: boolean): AdviceCode | null {
  const found = code === null ? undefined : adviceByCode.get(normalizeAdviceCode(code));
  return found && (readsAdvice || CODES_READ_ON_EVERY_NETWORK.has(found.code)) ? found : null;
}
