import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { schemeOf } from "../domain/schemes.ts";
import { weekdayOf } from "./calendar.ts";
import { BOOKED_HOUR, bucketOf } from "./layout.ts";

/**
 * How a scheme books: what was handed in before the cut-off of a business day is booked so many business days later;
 * and what came on no business day, or after the cut-off, counts as handed in on the next one.
 */
interface Booking {
  /** Local hour, 24: the whole day is before it. */
  cutoff: number;
  businessDays: number;
}

/** A card is judged at once. */
export const AT_ONCE = 0;
/** What is tried to be told apart. The first one is no booking at all: judged at once. */
export const BOOKINGS: readonly (Booking | null)[] = [
  null,
  ...[0, 1, 2].flatMap((businessDays) => [11, 14, 17, 21, 24].map((cutoff) => ({ cutoff, businessDays }))),
];

/** How a customer's moments become moments at their bank. */
export interface Clock {
  /** Local time less UTC. */
  offsetMs: number;
  /** Which of BOOKINGS holds. */
  booking: number;
}

const isWeekend = (day: number) => weekdayOf(day) % 6 === 0;

const businessDayFrom = (day: number) => {
  while (isWeekend(day)) day++;
  return day;
};

/** The local day on which a charge that is asked for at a moment is judged, since 1970. */
export function judgedOn({ offsetMs, booking }: Clock, at: number): number {
  const local = at + offsetMs;
  const booked = BOOKINGS[booking];
  if (!booked) return Math.floor(local / DAY_MS);
  let day = businessDayFrom(Math.floor((local + (24 - booked.cutoff) * HOUR_MS) / DAY_MS));
  for (let n = 0; n < booked.businessDays; n++) day = businessDayFrom(day + 1);
  return day;
}

/** When the day is over on which a charge that is asked for at a moment is judged. */
export const judgedBy = (clock: Clock, at: number) => (judgedOn(clock, at) + 1) * DAY_MS - clock.offsetMs;

/** The local hour at which it is judged, 0 to 23, or BOOKED_HOUR. */
export function judgedHour({ offsetMs, booking }: Clock, at: number): number {
  if (booking !== AT_ONCE) return BOOKED_HOUR;
  const local = at + offsetMs;
  return Math.floor((local - Math.floor(local / DAY_MS) * DAY_MS) / HOUR_MS);
}

/** Schemes share so many rows by hash: enough that SEPA, ACH and Bacs have one each. */
const SCHEME_ROWS = 64;

/** The networks of debit cards, which answer at once. */
const CARDS =
  /^(card|visa|mastercard|maestro|discover|interac|eftpos|elo|hipercard|rupay|troy|bancontact|girocard|dankort|prepaid)_/;

/** Whether a way of paying is booked as its scheme has it: a bank debit, such as "sepa_debit". */
export const isBooked = (paymentMethodType: string | null): paymentMethodType is string =>
  paymentMethodType !== null && schemeOf(paymentMethodType).endsWith("_debit") && !CARDS.test(paymentMethodType);

const rowOf = (scheme: string) => bucketOf(schemeOf(scheme), SCHEME_ROWS) * BOOKINGS.length;

/** Business days as the schemes publish them (docs/sources.md); a merchant's bank or gateway may have others. */
const PUBLISHED_DAYS = { sepa_debit: 1, ach_debit: 1, bacs_debit: 2 } as const;

/** How likely each of BOOKINGS is for each scheme before anything was seen, as logarithms: little speaks for what is published. */
export function usualBookings(): Float64Array {
  const all = new Float64Array(SCHEME_ROWS * BOOKINGS.length);
  for (const [scheme, days] of Object.entries(PUBLISHED_DAYS))
    BOOKINGS.forEach((booking, n) => {
      if (booking?.businessDays === days) all[rowOf(scheme) + n] = 1;
    });
  return all;
}

interface Bookings {
  /** For each scheme a row of BOOKINGS, as `usualBookings`. */
  bookings: Float64Array;
}

/** Which of BOOKINGS is the likeliest for a way of paying. */
export function bookingOf({ bookings }: Bookings, paymentMethodType: string | null): number {
  if (!isBooked(paymentMethodType)) return AT_ONCE;
  const row = bookings.subarray(rowOf(paymentMethodType)).subarray(0, BOOKINGS.length);
  return row.indexOf(Math.max(...row));
}

/** Old tries count less by so much with each new one: a gateway may change its cut-off. */
const FADE = 0.999;
/** By no model does a try speak for one booking, or against it, as if its outcome had been surer than this. */
const SURE = 0.02;
/** What is less likely than the likeliest by this much is not looked at, until fading has brought it nearer. */
const FAR = 8;

/**
 * Learn how a scheme books from the outcome of a try.
 *
 * @param chancesBy  of approval, by what one of BOOKINGS makes of the customer's history and of the try: one for each model that was asked
 */
export function learnBooking(
  { bookings }: Bookings,
  scheme: string,
  approved: boolean,
  chancesBy: (booking: number) => readonly number[],
) {
  const row = bookings.subarray(rowOf(scheme)).subarray(0, BOOKINGS.length);
  const most = Math.max(...row);
  const said = BOOKINGS.map((_, n) => (row[n]! < most - FAR ? null : logOf(chancesBy(n), approved)));
  const best = Math.max(...said.map((log) => log ?? Number.NEGATIVE_INFINITY));
  for (let n = 0; n < row.length; n++) row[n] = FADE * (row[n]! - most) + (said[n] ?? best);
  const next = Math.max(...row);
  for (let n = 0; n < row.length; n++) row[n]! -= next;
}

const logOf = (chances: readonly number[], approved: boolean) =>
  chances.reduce((sum, chance) => {
    const sure = Math.min(1 - SURE, Math.max(SURE, chance));
    return sum + Math.log(approved ? sure : 1 - sure);
  }, 0);
