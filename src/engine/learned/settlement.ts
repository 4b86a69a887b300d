import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { paymentSchemeOf } from "../../domain/payment-schemes.ts";
import { weekdayOf } from "./local-days.ts";
import { bucketOf, SETTLED_HOUR } from "./model-layout.ts";

/**
 * A charge before a business day's cut-off is booked this many business days later; any other counts as submitted on the next
 * business day.
 */
interface SettlementPattern {
  /** Local hour; 24: at the day's end. */
  cutoff: number;
  businessDays: number;
}

export const IMMEDIATE = 0;
/** The first has no delay: the bank answers at once. */
export const SETTLEMENT_PATTERNS: readonly (SettlementPattern | null)[] = [
  null,
  ...[0, 1, 2].flatMap((businessDays) => [11, 14, 17, 21, 24].map((cutoff) => ({ cutoff, businessDays }))),
];

export interface BankClock {
  /** Local time minus UTC. */
  offsetMs: number;
  /** Index in SETTLEMENT_PATTERNS. */
  booking: number;
}

const isWeekend = (day: number) => weekdayOf(day) % 6 === 0;

const nextBusinessDay = (day: number) => {
  while (isWeekend(day)) day++;
  return day;
};

/** On which the bank decides; since 1970. */
export function settlementDay({ offsetMs, booking }: BankClock, at: number): number {
  const local = at + offsetMs;
  const booked = SETTLEMENT_PATTERNS[booking];
  if (!booked) return Math.floor(local / DAY_MS);
  let day = nextBusinessDay(Math.floor((local + (24 - booked.cutoff) * HOUR_MS) / DAY_MS));
  for (let n = 0; n < booked.businessDays; n++) day = nextBusinessDay(day + 1);
  return day;
}

export const settlementDayEnd = (clock: BankClock, at: number) =>
  (settlementDay(clock, at) + 1) * DAY_MS - clock.offsetMs;

/** 0 to 23, or SETTLED_HOUR. */
export function settlementHour({ offsetMs, booking }: BankClock, at: number): number {
  if (booking !== IMMEDIATE) return SETTLED_HOUR;
  const local = at + offsetMs;
  return Math.floor((local - Math.floor(local / DAY_MS) * DAY_MS) / HOUR_MS);
}

/** SEPA, ACH and Bacs have one each. */
const SCHEME_BUCKETS = 64;

/** Debit card networks answer at once. */
const CARD_DEBIT_PATTERN =
  /^(card|visa|mastercard|maestro|discover|interac|eftpos|elo|hipercard|rupay|troy|bancontact|girocard|dankort|prepaid)_/;

/** A bank debit, such as "sepa_debit". */
export const hasSettlementPattern = (paymentMethodType: string | null): paymentMethodType is string =>
  paymentMethodType !== null &&
  paymentSchemeOf(paymentMethodType).endsWith("_debit") &&
  !CARD_DEBIT_PATTERN.test(paymentMethodType);

const schemeRow = (scheme: string) => bucketOf(paymentSchemeOf(scheme), SCHEME_BUCKETS) * SETTLEMENT_PATTERNS.length;

/** docs/sources.md; a merchant's bank or gateway may have others. */
const PUBLISHED_BUSINESS_DAYS = { sepa_debit: 1, ach_debit: 1, bacs_debit: 2 } as const;

/** Log scores by scheme: published business days start with a small advantage. */
export function newSettlementScores(): Float64Array {
  const all = new Float64Array(SCHEME_BUCKETS * SETTLEMENT_PATTERNS.length);
  for (const [scheme, days] of Object.entries(PUBLISHED_BUSINESS_DAYS))
    SETTLEMENT_PATTERNS.forEach((booking, n) => {
      if (booking?.businessDays === days) all[schemeRow(scheme) + n] = 1;
    });
  return all;
}

interface SettlementScores {
  bookings: Float64Array;
}

export function likeliestSettlement({ bookings }: SettlementScores, paymentMethodType: string | null): number {
  if (!hasSettlementPattern(paymentMethodType)) return IMMEDIATE;
  const row = bookings.subarray(schemeRow(paymentMethodType)).subarray(0, SETTLEMENT_PATTERNS.length);
  return row.indexOf(Math.max(...row));
}

/** Reduces the weight of earlier retries: a gateway may change its cut-off. */
const FADE_FACTOR = 0.999;
/** Limits one outcome's effect, per model. */
const MIN_CHANCE = 0.02;
/** A pattern that scores lower than the best by more is skipped until fading brings it closer. */
const MAX_SCORE_GAP = 8;

/** @param chancesBy  approval probabilities, one per model, if history and retry settled by this pattern */
export function learnSettlement(
  { bookings }: SettlementScores,
  scheme: string,
  approved: boolean,
  chancesBy: (booking: number) => readonly number[],
) {
  const row = bookings.subarray(schemeRow(scheme)).subarray(0, SETTLEMENT_PATTERNS.length);
  const most = Math.max(...row);
  const logLikelihoods = SETTLEMENT_PATTERNS.map((_, n) =>
    row[n]! < most - MAX_SCORE_GAP ? null : logLikelihood(chancesBy(n), approved),
  );
  const best = Math.max(...logLikelihoods.map((logLikelihood) => logLikelihood ?? Number.NEGATIVE_INFINITY));
  for (let n = 0; n < row.length; n++) row[n] = FADE_FACTOR * (row[n]! - most) + (logLikelihoods[n] ?? best);
  const next = Math.max(...row);
  for (let n = 0; n < row.length; n++) row[n]! -= next;
}

const logLikelihood = (chances: readonly number[], approved: boolean) =>
  chances.reduce((sum, chance) => {
    const sure = Math.min(1 - MIN_CHANCE, Math.max(MIN_CHANCE, chance));
    return sum + Math.log(approved ? sure : 1 - sure);
  }, 0);
