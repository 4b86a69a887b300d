import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import type { DeclineGroup } from "./decline-groups.ts";
import { plainCode } from "./response-codes.ts";
import { SOURCES, type Source } from "./sources.ts";

/** A Mastercard merchant advice code (DE48 SE84), sent beside the response code by some issuers. */
export interface AdviceCode {
  code: string;
  /** null: says how often, not why. */
  group: DeclineGroup | null;
  /** The card may not be tried before this long after the decline. */
  waitMs: number;
  /** The card may never be tried again. */
  bars: boolean;
  /** Tries after which the card is given up; Infinity but for cards that can hardly ever pay later. */
  triesMax: number;
  words: string;
  source: Source;
}

const advice = (code: string, words: string, rest: Partial<AdviceCode>): AdviceCode => ({
  code,
  group: null,
  waitMs: 0,
  bars: false,
  triesMax: Number.POSITIVE_INFINITY,
  words,
  source: SOURCES.mastercardAdvice,
  ...rest,
});
const after = (code: string, waitMs: number, words: string) =>
  advice(code, `the bank advises to try again after ${words}`, { group: "FUNDS", waitMs });

/** A code of no table, which says nothing yet. */
export const newAdvice = (code: string): AdviceCode =>
  advice(normalCode(code), `the bank sent advice ${normalCode(code)}`, {});

/** @see docs/sources.md#mastercard-advice-codes */
export const ADVICE_CODES: readonly AdviceCode[] = [
  advice("01", "there is newer card data", { group: "EXPIRED" }),
  advice("02", "the bank advises to try again after 72 hours", { group: "GENERIC", waitMs: 72 * HOUR_MS }),
  advice("03", "the bank advises never to try this card again", { group: "HARD_CARD", bars: true }),
  advice("04", "the stored card token was not accepted", { group: "INVALID_DATA" }),
  advice("05", "the agreed amount was not approved", { group: "HARD_CARD", bars: true }),
  advice("21", "the customer cancelled the recurring payment", { group: "REVOKED", bars: true }),
  advice("22", "the card does not qualify for this merchant", { group: "HARD_CARD", bars: true }),
  after("24", HOUR_MS, "1 hour"),
  after("25", DAY_MS, "24 hours"),
  after("26", 2 * DAY_MS, "2 days"),
  after("27", 4 * DAY_MS, "4 days"),
  after("28", 6 * DAY_MS, "6 days"),
  after("29", 8 * DAY_MS, "8 days"),
  after("30", 10 * DAY_MS, "10 days"),
  // "Few retries" carries no number; three declines in all is our own reading of it.
  advice("40", "the card is prepaid and cannot be topped up", { triesMax: 3 }),
  advice("41", "the card is virtual and for a single use", { group: "HARD_CARD", bars: true }),
  advice("42", "a sanctions check stopped the payment", { group: "FRAUD", bars: true }),
  advice("43", "the card is virtual", {}),
];

const normalCode = (code: string) => plainCode(code).padStart(2, "0");

const BY_CODE = new Map(ADVICE_CODES.map((each) => [each.code, each]));

/** From now on an advice code means this, in the whole process. @see override.ts */
export const setAdviceCode = (advice: AdviceCode) => BY_CODE.set(advice.code, advice);

/** Honoured on every network: a wrong reading costs one retry, a missed one is charged. */
const ALWAYS_READ = new Set(["03", "21"]);

/** The row of an advice code; null when there is none, or when this network's advice means something else. */
export function adviceCode(code: string | null, readsAdvice: boolean): AdviceCode | null {
  const found = code === null ? undefined : BY_CODE.get(normalCode(code));
  return found && (readsAdvice || ALWAYS_READ.has(found.code)) ? found : null;
}
