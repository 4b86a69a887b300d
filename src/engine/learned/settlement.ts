import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { paymentSchemeOf } from "../../domain/payment-schemes.ts";
import { weekdayOf } from "./local-days.ts";
import { bucketOf, SETTLED_HOUR } from "./model-layout.ts";

/**
 * How a scheme books: what was handed in before the cut-off of a business day is booked so many business days later;
 * and what came on no business day, or after the cut-off, counts as handed in on the next one.
 */
interface SettlementPattern {
  /** Local hour, 24: the whole day is before it. */
  cutoff: number;
  businessDays: number;
}

/** A card is judged at once. */
export const IMMEDIATE = 0;
/** What is tried to be told apart. The first one is no booking at all: judged at once. */
export const SETTLEMENT_PATTERNS: readonly (SettlementPattern | null)[] = [
  null,
  ...[0, 1, 2].flatMap((businessDays) => [11, 14, 17, 21, 24].map((cutoff) => ({ cutoff, businessDays }))),
];

/** How a customer's moments become moments at their bank. */
export interface BankClock {
  /** Local time less UTC. */
  offsetMs: number;
  /** Which of BOOKINGS holds. */
  booking: number;
}

const isWeekend = (day: number) => weekdayOf(day) % 6 === 0;

const nextBusinessDay = (day: number) => {
  while (isWeekend(day)) day++;
  return day;
};

/** The local day on which a charge that is asked for at a moment is judged, since 1970. */
export function settlementDay({ offsetMs, booking }: BankClock, at: number): number {
  const local = at + offsetMs;
  const booked = SETTLEMENT_PATTERNS[booking];
  if (!booked) return Math.floor(local / DAY_MS);
  let day = nextBusinessDay(Math.floor((local + (24 - booked.cutoff) * HOUR_MS) / DAY_MS));
  for (let n = 0; n < booked.businessDays; n++) day = nextBusinessDay(day + 1);
  return day;
}

/** When the day is over on which a charge that is asked for at a moment is judged. */
export const settlementDayEnd = (clock: BankClock, at: number) =>
  (settlementDay(clock, at) + 1) * DAY_MS - clock.offsetMs;

/** The local hour at which it is judged, 0 to 23, or BOOKED_HOUR. */
export function settlementHour({ offsetMs, booking }: BankClock, at: number): number {
  if (booking !== IMMEDIATE) return SETTLED_HOUR;
  const local = at + offsetMs;
  return Math.floor((local - Math.floor(local / DAY_MS) * DAY_MS) / HOUR_MS);
}

/** Schemes share so many rows by hash: enough that SEPA, ACH and Bacs have one each. */
const SCHEME_BUCKETS = 64;

/** The networks of debit cards, which answer at once. */
const CARD_DEBIT_PATTERN =
  /^(card|visa|mastercard|maestro|discover|interac|eftpos|elo|hipercard|rupay|troy|bancontact|girocard|dankort|prepaid)_/;

/** Whether a way of paying is booked as its scheme has it: a bank debit, such as "sepa_debit". */
export const hasSettlementPattern = (paymentMethodType: string | null): paymentMethodType is string =>
  paymentMethodType !== null &&
  paymentSchemeOf(paymentMethodType).endsWith("_debit") &&
  !CARD_DEBIT_PATTERN.test(paymentMethodType);

const schemeRow = (scheme: string) => bucketOf(paymentSchemeOf(scheme), SCHEME_BUCKETS) * SETTLEMENT_PATTERNS.length;

/** Business days as the schemes publish them (docs/sources.md); a merchant's bank or gateway may have others. */
const PUBLISHED_BUSINESS_DAYS = { sepa_debit: 1, ach_debit: 1, bacs_debit: 2 } as const;

/** How likely each of BOOKINGS is for each scheme before anything was seen, as logarithms: little speaks for what is published. */
export function newSettlementScores(): Float64Array {
  const all = new Float64Array(SCHEME_BUCKETS * SETTLEMENT_PATTERNS.length);
  for (const [scheme, days] of Object.entries(PUBLISHED_BUSINESS_DAYS))
    SETTLEMENT_PATTERNS.forEach((booking, n) => {
      if (booking?.businessDays === days) all[schemeRow(scheme) + n] = 1;
    });
  return all;
}

interface SettlementScores {
  /** For each scheme a row of BOOKINGS, as `newSettlementScores`. */
  bookings: Float64Array;
}

/** Which of BOOKINGS is the likeliest for a way of paying. */
export function likeliestSettlement({ bookings }: SettlementScores, paymentMethodType: string | null): number {
  if (!hasSettlementPattern(paymentMethodType)) return IMMEDIATE;
  const row = bookings.subarray(schemeRow(paymentMethodType)).subarray(0, SETTLEMENT_PATTERNS.length);
  return row.indexOf(Math.max(...row));
}

/** Old tries count less by so much with each new one: a gateway may change its cut-off. */
const FADE_FACTOR = 0.999;
/** By no model does a try speak for one booking, or against it, as if its outcome had been surer than this. */
const MIN_CHANCE = 0.02;
/** What is less likely than the likeliest by this much is not looked at, until fading has brought it nearer. */
const MAX_SCORE_GAP = 8;

/**
 * Learn how a scheme books from the outcome of a try.
 *
 * @param chancesBy  of approval, by what one of BOOKINGS makes of the customer's history and of the try: one for each model that was asked
 */
export function learnSettlement(
  { bookings }: SettlementScores,
  scheme: string,
  approved: boolean,
  chancesBy: (booking: number) => readonly number[],
) {
  const row = bookings.subarray(schemeRow(scheme)).subarray(0, SETTLEMENT_PATTERNS.length);
  const most = Math.max(...row);
  const said = SETTLEMENT_PATTERNS.map((_, n) =>
    row[n]! < most - MAX_SCORE_GAP ? null : logLikelihood(chancesBy(n), approved),
  );
  const best = Math.max(...said.map((log) => log ?? Number.NEGATIVE_INFINITY));
  for (let n = 0; n < row.length; n++) row[n] = FADE_FACTOR * (row[n]! - most) + (said[n] ?? best);
  const next = Math.max(...row);
  for (let n = 0; n < row.length; n++) row[n]! -= next;
}

const logLikelihood = (chances: readonly number[], approved: boolean) =>
  chances.reduce((sum, chance) => {
    const sure = Math.min(1 - MIN_CHANCE, Math.max(MIN_CHANCE, chance));
    return sum + Math.log(approved ? sure : 1 - sure);
  }, 0);
