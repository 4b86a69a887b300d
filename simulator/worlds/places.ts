import type { PayRhythm } from "./pay-rhythm.ts";

/** A country as a world sees it. Winter time all year: an hour changes nothing about a pay day. */
export interface Place {
  country: string;
  currency: string;
  /** Minor units of the currency for one US dollar, roughly. */
  perDollar: number;
  utcOffsetHours: number;
  rhythms: readonly (readonly [PayRhythm, number])[];
}

const dated = (...days: number[]): PayRhythm => ({ kind: "dated", days });
const weekly = (weekday: number): PayRhythm => ({ kind: "weekly", weekday });
const fortnightly = (weekday: number, phase: number): PayRhythm => ({ kind: "fortnightly", weekday, phase });
const irregular: PayRhythm = { kind: "irregular", perDay: 0.1 };

/**
 * Pay rhythms by country. US: about 27 % weekly, 43 % every other week, 19 % twice a month, 10 % monthly (Bureau of
 * Labor Statistics, Current Employment Statistics, 2023), benefits on the second to fourth Wednesday (Social Security
 * Administration). Britain: the last working day and the 25th to 28th, benefits every four weeks. Brazil: the fifth
 * working day (CLT art. 459). Shares elsewhere are guesses around the customary dates.
 */
export const PLACES: readonly (readonly [Place, number])[] = [
  [
    {
      country: "US",
      currency: "USD",
      perDollar: 100,
      utcOffsetHours: -6,
      rhythms: [
        [weekly(5), 18],
        [weekly(4), 6],
        [fortnightly(5, 0), 19],
        [fortnightly(5, 1), 19],
        [fortnightly(4, 0), 3],
        [dated(15, 31), 11],
        [dated(1, 15), 7],
        [dated(31), 4],
        [dated(1), 4],
        [{ kind: "nth_weekday", nth: 2, weekday: 3 }, 2],
        [{ kind: "nth_weekday", nth: 3, weekday: 3 }, 2],
        [irregular, 5],
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
        [dated(31), 34],
        [dated(28), 20],
        [dated(25), 14],
        [weekly(5), 12],
        [{ kind: "four_weekly", phase: 3 }, 6],
        [{ kind: "four_weekly", phase: 17 }, 6],
        [irregular, 8],
      ],
    },
    16,
  ],
  [euro("DE", [dated(31), 42], [dated(28), 12], [dated(15), 16], [dated(1), 22], [irregular, 8]), 16],
  [euro("FR", [dated(28), 30], [dated(31), 36], [dated(5), 18], [irregular, 16]), 8],
  [euro("ES", [dated(31), 40], [dated(28), 20], [dated(25), 20], [dated(10), 10], [irregular, 10]), 6],
  [
    {
      country: "BR",
      currency: "BRL",
      perDollar: 520,
      utcOffsetHours: -3,
      rhythms: [
        [{ kind: "business_day", nth: 5 }, 60],
        [dated(20, 5), 20],
        [dated(31), 10],
        [irregular, 10],
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
        [dated(25), 80],
        [dated(18), 10],
        [irregular, 10],
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
        [fortnightly(4, 0), 28],
        [fortnightly(4, 1), 28],
        [weekly(4), 22],
        [dated(15), 14],
        [irregular, 8],
      ],
    },
    5,
  ],
];

function euro(country: string, ...rhythms: readonly (readonly [PayRhythm, number])[]): Place {
  return { country, currency: "EUR", perDollar: 92, utcOffsetHours: 1, rhythms };
}
