import { type PayRhythm, payDueChance } from "../pay-rhythm.ts";
import { computeOffsets, computeWorkDays, type Zone } from "../world-calendar.ts";
import { CALENDAR } from "./year.ts";

type WeightedRhythms = readonly (readonly [PayRhythm, number])[];

export interface Country {
  code: string;
  currency: string;
  incomes: number;
  prices: number;
  /** Of its issuers. */
  utcOffsetHours: number;
  /** UTC offsets in ms, by zone and calendar day. */
  clocks: readonly Float64Array[];
  work: Uint8Array;
  wages: WeightedRhythms;
  benefits: WeightedRhythms;
}

const payOnDates = (...days: number[]): PayRhythm => ({ kind: "dated", days });
/** Mostly on Fridays. */
const WEEKDAYS = [
  [1, 1],
  [3, 1],
  [4, 1],
  [5, 3],
] as const;
const weeklyPay = (share: number): WeightedRhythms =>
  WEEKDAYS.map(([weekday, weight]) => [{ kind: "weekly", weekday }, (share * weight) / 6]);
const fortnightlyPay = (share: number, weekdays: readonly (readonly [number, number])[] = WEEKDAYS): WeightedRhythms =>
  weekdays.flatMap(([weekday, weight]) =>
    [0, 1].map((phase) => [{ kind: "fortnightly", weekday, phase }, (share * weight) / 12] as const),
  );
const fourWeeklyPay = (share: number, ...phases: number[]): WeightedRhythms =>
  phases.map((phase) => [{ kind: "four_weekly", phase }, share / phases.length]);
/** By birthday or file. */
const payOnAnyDate = (share: number, last: number): WeightedRhythms =>
  Array.from({ length: last }, (_, index) => [payOnDates(index + 1), share / last]);
const payOnWednesday = (nth: number): PayRhythm => ({ kind: "nth_weekday", nth, weekday: 3 });

const americanZone = (utcOffsetHours: number): Zone => ({ utcOffsetHours, summer: "US" });

function defineCountry(
  code: string,
  zones: readonly Zone[],
  profile: Pick<Country, "currency" | "incomes" | "prices" | "wages" | "benefits">,
): Country {
  return {
    ...profile,
    code,
    utcOffsetHours: zones[0]!.utcOffsetHours,
    clocks: zones.map((zone) => computeOffsets(zone, CALENDAR)),
    work: computeWorkDays(code, CALENDAR),
  };
}

/**
 * US wages as in `COUNTRY_PROFILES`, Australian ones weekly or every other week. US benefits come on the 1st, 3rd or a Wednesday
 * by birthday, British ones every four weeks or on a date, Spanish ones on the 25th or in the first days. Other shares are
 * guesses.
 */
export const COUNTRIES: readonly (readonly [Country, number])[] = [
  [
    defineCountry("US", [americanZone(-5), americanZone(-6), americanZone(-8)], {
      currency: "USD",
      incomes: 1,
      prices: 1,
      wages: [...weeklyPay(27), ...fortnightlyPay(45), [payOnDates(15, 31), 18], [payOnDates(31), 10]],
      benefits: [
        [payOnDates(1), 35],
        [payOnDates(3), 10],
        [payOnWednesday(2), 18],
        [payOnWednesday(3), 18],
        [payOnWednesday(4), 19],
      ],
    }),
    42,
  ],
  [
    defineCountry("GB", [{ utcOffsetHours: 0, summer: "EU" }], {
      currency: "GBP",
      incomes: 0.85,
      prices: 1,
      wages: [
        ...weeklyPay(15),
        ...fourWeeklyPay(17, 1, 8, 15, 22),
        [payOnDates(31), 33],
        [payOnDates(25), 20],
        [payOnDates(28), 15],
      ],
      benefits: [...payOnAnyDate(45, 28), ...fourWeeklyPay(55, 4, 11, 18, 25)],
    }),
    20,
  ],
  [
    defineCountry("ES", [{ utcOffsetHours: 1, summer: "EU" }], {
      currency: "EUR",
      incomes: 0.8,
      prices: 1,
      wages: [
        [payOnDates(31), 55],
        [payOnDates(28), 20],
        [payOnDates(5), 25],
      ],
      benefits: [[payOnDates(25), 50], ...payOnAnyDate(50, 4)],
    }),
    14,
  ],
  [
    defineCountry("AU", [{ utcOffsetHours: 10, summer: "AU" }, { utcOffsetHours: 8 }], {
      currency: "AUD",
      incomes: 1.3,
      prices: 1.4,
      wages: [...weeklyPay(40), ...fortnightlyPay(45), [payOnDates(15), 15]],
      benefits: fortnightlyPay(100, [
        [1, 1],
        [2, 1],
        [3, 1],
        [4, 1],
        [5, 1],
      ]),
    }),
    12,
  ],
  [
    defineCountry("MX", [{ utcOffsetHours: -6 }], {
      currency: "USD",
      incomes: 0.55,
      prices: 0.7,
      wages: [[payOnDates(15, 31), 65], ...weeklyPay(35)],
      benefits: payOnAnyDate(100, 25),
    }),
    10,
  ],
];

const payDaysByRhythm = new Map<PayRhythm, Uint8Array>();

/** Pay moves forward before holidays as before weekends. */
export function findPayDays({ work }: Country, rhythm: PayRhythm): Uint8Array {
  let days = payDaysByRhythm.get(rhythm);
  if (!days) {
    days = new Uint8Array(CALENDAR.days);
    payDaysByRhythm.set(rhythm, days);
    for (let nominal = 0; nominal < CALENDAR.days; nominal++) {
      if (payDueChance(rhythm, CALENDAR.firstDay + nominal) === 0) continue;
      let day = nominal;
      while (day > 0 && !work[day]) day--;
      days[day] = 1;
    }
  }
  return days;
}
