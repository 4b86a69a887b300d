import { offsetsOf, workDays, type Zone } from "../calendar.ts";
import { type PayRhythm, payDue } from "../pay-rhythm.ts";
import { CALENDAR } from "./year.ts";

type Rhythms = readonly (readonly [PayRhythm, number])[];

export interface Country {
  code: string;
  currency: string;
  /** What people earn, and what merchants charge, beside the United States. */
  incomes: number;
  prices: number;
  /** Where its issuers keep their clocks. */
  utcOffsetHours: number;
  /** Offsets from UTC, ms, by day of the calendar, of each zone. */
  clocks: readonly Float64Array[];
  /** 1 on days on which banks work. */
  work: Uint8Array;
  wages: Rhythms;
  benefits: Rhythms;
}

const dated = (...days: number[]): PayRhythm => ({ kind: "dated", days });
/** On Fridays mostly. */
const WEEKDAYS = [
  [1, 1],
  [3, 1],
  [4, 1],
  [5, 3],
] as const;
const weekly = (share: number): Rhythms =>
  WEEKDAYS.map(([weekday, weight]) => [{ kind: "weekly", weekday }, (share * weight) / 6]);
const fortnightly = (share: number, weekdays: readonly (readonly [number, number])[] = WEEKDAYS): Rhythms =>
  weekdays.flatMap(([weekday, weight]) =>
    [0, 1].map((phase) => [{ kind: "fortnightly", weekday, phase }, (share * weight) / 12] as const),
  );
const fourWeekly = (share: number, ...phases: number[]): Rhythms =>
  phases.map((phase) => [{ kind: "four_weekly", phase }, share / phases.length]);
/** A date of one's own, by birthday or file. */
const anyDate = (share: number, last: number): Rhythms =>
  Array.from({ length: last }, (_, index) => [dated(index + 1), share / last]);
const wednesday = (nth: number): PayRhythm => ({ kind: "nth_weekday", nth, weekday: 3 });

const american = (utcOffsetHours: number): Zone => ({ utcOffsetHours, summer: "US" });

function country(
  code: string,
  zones: readonly Zone[],
  of: Pick<Country, "currency" | "incomes" | "prices" | "wages" | "benefits">,
): Country {
  return {
    ...of,
    code,
    utcOffsetHours: zones[0]!.utcOffsetHours,
    clocks: zones.map((zone) => offsetsOf(zone, CALENDAR)),
    work: workDays(code, CALENDAR),
  };
}

/**
 * Where people are, with how many in a hundred, and when they are paid. Wages of the US as in PLACES, those of
 * Australia every week or other week; benefits in the US on the 1st, 3rd or a Wednesday by birthday, in Britain every
 * four weeks or on a date, in Spain on the 25th or in the first days. Other shares are guesses around customary dates.
 */
export const COUNTRIES: readonly (readonly [Country, number])[] = [
  [
    country("US", [american(-5), american(-6), american(-8)], {
      currency: "USD",
      incomes: 1,
      prices: 1,
      wages: [...weekly(27), ...fortnightly(45), [dated(15, 31), 18], [dated(31), 10]],
      benefits: [
        [dated(1), 35],
        [dated(3), 10],
        [wednesday(2), 18],
        [wednesday(3), 18],
        [wednesday(4), 19],
      ],
    }),
    42,
  ],
  [
    country("GB", [{ utcOffsetHours: 0, summer: "EU" }], {
      currency: "GBP",
      incomes: 0.85,
      prices: 1,
      wages: [...weekly(15), ...fourWeekly(17, 1, 8, 15, 22), [dated(31), 33], [dated(25), 20], [dated(28), 15]],
      benefits: [...anyDate(45, 28), ...fourWeekly(55, 4, 11, 18, 25)],
    }),
    20,
  ],
  [
    country("ES", [{ utcOffsetHours: 1, summer: "EU" }], {
      currency: "EUR",
      incomes: 0.8,
      prices: 1,
      wages: [
        [dated(31), 55],
        [dated(28), 20],
        [dated(5), 25],
      ],
      benefits: [[dated(25), 50], ...anyDate(50, 4)],
    }),
    14,
  ],
  [
    country("AU", [{ utcOffsetHours: 10, summer: "AU" }, { utcOffsetHours: 8 }], {
      currency: "AUD",
      incomes: 1.3,
      prices: 1.4,
      wages: [...weekly(40), ...fortnightly(45), [dated(15), 15]],
      benefits: fortnightly(100, [
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
    country("MX", [{ utcOffsetHours: -6 }], {
      currency: "USD",
      incomes: 0.55,
      prices: 0.7,
      wages: [[dated(15, 31), 65], ...weekly(35)],
      benefits: anyDate(100, 25),
    }),
    10,
  ],
];

const remembered = new Map<PayRhythm, Uint8Array>();

/** 1 for each day of the calendar on which pay of one of the country's rhythms comes; before holidays as before weekends. */
export function payDays({ work }: Country, rhythm: PayRhythm): Uint8Array {
  let days = remembered.get(rhythm);
  if (!days) {
    days = new Uint8Array(CALENDAR.days);
    remembered.set(rhythm, days);
    for (let nominal = 0; nominal < CALENDAR.days; nominal++) {
      if (payDue(rhythm, CALENDAR.firstDay + nominal) === 0) continue;
      let day = nominal;
      while (day > 0 && !work[day]) day--;
      days[day] = 1;
    }
  }
  return days;
}
