import type { PayRhythm } from "./pay-rhythm.ts";

/** Winter time all year: an hour does not move a pay day. */
export interface CountryProfile {
  country: string;
  currency: string;
  /** Approximate minor units per US dollar. */
  perDollar: number;
  utcOffsetHours: number;
  rhythms: readonly (readonly [PayRhythm, number])[];
}

const payOnDates = (...days: number[]): PayRhythm => ({ kind: "dated", days });
const weeklyPay = (weekday: number): PayRhythm => ({ kind: "weekly", weekday });
const fortnightlyPay = (weekday: number, phase: number): PayRhythm => ({ kind: "fortnightly", weekday, phase });
const IRREGULAR_PAY: PayRhythm = { kind: "irregular", perDay: 0.1 };

/**
 * Pay rhythms. US: about 27% weekly, 43% every other week, 19% twice a month, 10% monthly (Bureau of Labor Statistics, Current
 * Employment Statistics, 2023), benefits on the second to fourth Wednesday (Social Security Administration). Britain: the last
 * working day and the 25th to 28th, benefits every four weeks. Brazil: the fifth working day (CLT art. 459). Other shares are
 * guesses.
 */
export const COUNTRY_PROFILES: readonly (readonly [CountryProfile, number])[] = [
  [
    {
      country: "US",
      currency: "USD",
      perDollar: 100,
      utcOffsetHours: -6,
      rhythms: [
        [weeklyPay(5), 18],
        [weeklyPay(4), 6],
        [fortnightlyPay(5, 0), 19],
        [fortnightlyPay(5, 1), 19],
        [fortnightlyPay(4, 0), 3],
        [payOnDates(15, 31), 11],
        [payOnDates(1, 15), 7],
        [payOnDates(31), 4],
        [payOnDates(1), 4],
        [{ kind: "nth_weekday", nth: 2, weekday: 3 }, 2],
        [{ kind: "nth_weekday", nth: 3, weekday: 3 }, 2],
        [IRREGULAR_PAY, 5],
      ],
    },
    38,
  ],
  [
    {
      country: "GB",
      currency: "GBP",
      perDollar: 79,
      utcOffsetHours: 0,
      rhythms: [
        [payOnDates(31), 34],
        [payOnDates(28), 20],
        [payOnDates(25), 14],
        [weeklyPay(5), 12],
        [{ kind: "four_weekly", phase: 3 }, 6],
        [{ kind: "four_weekly", phase: 17 }, 6],
        [IRREGULAR_PAY, 8],
      ],
    },
    16,
  ],
  [
    defineEuroCountry(
      "DE",
      [payOnDates(31), 42],
      [payOnDates(28), 12],
      [payOnDates(15), 16],
      [payOnDates(1), 22],
      [IRREGULAR_PAY, 8],
    ),
    16,
  ],
  [defineEuroCountry("FR", [payOnDates(28), 30], [payOnDates(31), 36], [payOnDates(5), 18], [IRREGULAR_PAY, 16]), 8],
  [
    defineEuroCountry(
      "ES",
      [payOnDates(31), 40],
      [payOnDates(28), 20],
      [payOnDates(25), 20],
      [payOnDates(10), 10],
      [IRREGULAR_PAY, 10],
    ),
    6,
  ],
  [
    {
      country: "BR",
      currency: "BRL",
      perDollar: 520,
      utcOffsetHours: -3,
      rhythms: [
        [{ kind: "business_day", nth: 5 }, 60],
        [payOnDates(20, 5), 20],
        [payOnDates(31), 10],
        [IRREGULAR_PAY, 10],
      ],
    },
    6,
  ],
  [
    {
      country: "SE",
      currency: "SEK",
      perDollar: 1040,
      utcOffsetHours: 1,
      rhythms: [
        [payOnDates(25), 80],
        [payOnDates(18), 10],
        [IRREGULAR_PAY, 10],
      ],
    },
    5,
  ],
  [
    {
      country: "AU",
      currency: "AUD",
      perDollar: 152,
      utcOffsetHours: 10,
      rhythms: [
        [fortnightlyPay(4, 0), 28],
        [fortnightlyPay(4, 1), 28],
        [weeklyPay(4), 22],
        [payOnDates(15), 14],
        [IRREGULAR_PAY, 8],
      ],
    },
    5,
  ],
];

function defineEuroCountry(country: string, ...rhythms: readonly (readonly [PayRhythm, number])[]): CountryProfile {
  return { country, currency: "EUR", perDollar: 92, utcOffsetHours: 1, rhythms };
}
