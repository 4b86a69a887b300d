import { dateOf, monthLength, weekdayOf } from "./calendar.ts";

/** How often pay comes: decides how fast it is spent. */
export const CYCLE_KINDS = ["weekly", "twice", "monthly"] as const;

/** One way in which somebody may be paid. */
export interface PayCycle {
  kind: number;
  /** How common it is beside the others, before anybody was seen. */
  usual: number;
  /** Completes "pay comes …". */
  words: string;
  pays(day: number): boolean;
}

const WEEKDAYS = ["Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays"];
const WEEKLY = 0;
const TWICE = 1;
const MONTHLY = 2;

/** Dates of the month on which many are paid. */
const ROUND_DATES = [1, 15, 25, 28, 31];
const isLateInWeek = (weekday: number) => weekday === 4 || weekday === 5;

/** Everybody's pay is looked for among these: the hypotheses of the filter. Any may be; round dates, the month's end, Thursdays and Fridays are held to be common. */
export const PAY_CYCLES: readonly PayCycle[] = [
  ...range(1, 31).map((date) => ({
    kind: MONTHLY,
    usual: ROUND_DATES.includes(date) ? 5 : 1,
    words: date === 31 ? "at the end of the month" : `around the ${date}${ordinal(date)} of the month`,
    pays: dated(date),
  })),
  ...(
    [...range(2, 14).map((date) => [date, date + 15, 0.4] as const), [1, 15, 5], [15, 31, 5], [1, 16, 0.4]] as const
  ).map(([first, second, usual]) => ({
    kind: TWICE,
    usual,
    words: `around the ${first}${ordinal(first)} and ${second === 31 ? "the end of the month" : `${second}${ordinal(second)}`}`,
    pays: either(dated(first), dated(second)),
  })),
  // The same dates where nothing is moved for a weekend: cards that are paid off, benefits, other customs.
  ...range(1, 31).map((date) => ({
    kind: MONTHLY,
    usual: 0.8,
    words: date === 31 ? "on the last day of the month" : `on the ${date}${ordinal(date)} of the month`,
    pays: onDate(date),
  })),
  ...(
    [
      [1, 15],
      [15, 31],
    ] as const
  ).map(([first, second]) => ({
    kind: TWICE,
    usual: 0.8,
    words: `on the ${first}${ordinal(first)} and ${second === 31 ? "the last day of the month" : `${second}${ordinal(second)}`}`,
    pays: either(onDate(first), onDate(second)),
  })),
  ...range(0, 6).map((weekday) => ({
    kind: WEEKLY,
    usual: isLateInWeek(weekday) ? 5 : 1.5,
    words: `on ${WEEKDAYS[weekday]}`,
    pays: (day: number) => weekdayOf(day) === weekday,
  })),
  ...range(0, 13).map((phase) => ({
    kind: TWICE,
    usual: isLateInWeek(weekdayOf(phase)) ? 5 : 0.25,
    words: `every other week on ${WEEKDAYS[weekdayOf(phase)]}`,
    pays: (day: number) => modulo(day, 14) === phase,
  })),
  ...range(0, 27).map((phase) => ({
    kind: MONTHLY,
    usual: 0.25,
    words: `every four weeks on ${WEEKDAYS[weekdayOf(phase)]}`,
    pays: (day: number) => modulo(day, 28) === phase,
  })),
  ...range(2, 4).map((nth) => ({
    kind: MONTHLY,
    usual: 1,
    words: `on the ${nth}${ordinal(nth)} Wednesday of the month`,
    pays: (day: number) => weekdayOf(day) === 3 && Math.ceil(dateOf(day) / 7) === nth,
  })),
  { kind: MONTHLY, usual: 1, words: "on the fifth working day of the month", pays: (day) => workingDay(day) === 5 },
];

export const CYCLES = PAY_CYCLES.length;
/** The same as PAY_CYCLES[c].kind, where it is asked often. */
export const kindOfCycle = Uint8Array.from(PAY_CYCLES, ({ kind }) => kind);

/** On a weekend, pay is posted on the Friday before. Dates past the month's end mean its last day. */
function dated(date: number) {
  return (day: number) => {
    const weekday = weekdayOf(day);
    if (weekday === 0 || weekday === 6) return false;
    for (let ahead = 0; ahead <= (weekday === 5 ? 2 : 0); ahead++)
      if (dateOf(day + ahead) === Math.min(date, monthLength(day + ahead))) return true;
    return false;
  };
}

function onDate(date: number) {
  return (day: number) => dateOf(day) === Math.min(date, monthLength(day));
}

function either(one: (day: number) => boolean, other: (day: number) => boolean) {
  return (day: number) => one(day) || other(day);
}

function workingDay(day: number) {
  if (weekdayOf(day) === 0 || weekdayOf(day) === 6) return 0;
  let count = 0;
  for (let n = day - dateOf(day) + 1; n <= day; n++) if (weekdayOf(n) !== 0 && weekdayOf(n) !== 6) count++;
  return count;
}

const BLOCK = 256;
/** Rows are made a block at a time, and a year's blocks weigh 40 kB. */
const BLOCKS_MAX = 64;
/** No cycle lasts longer than this many days. */
export const LONGEST = 36;
const blocks = new Map<number, Uint8Array>();

/**
 * For each cycle, the days since pay last came, as of a local day.
 *
 * @returns an array and where in it the day's CYCLES numbers begin
 */
export function sincePay(day: number): { row: Uint8Array; from: number } {
  const number = Math.floor(day / BLOCK);
  let row = blocks.get(number);
  if (!row) {
    if (blocks.size >= BLOCKS_MAX) blocks.clear();
    row = makeBlock(number * BLOCK);
    blocks.set(number, row);
  }
  return { row, from: (day - number * BLOCK) * CYCLES };
}

function makeBlock(start: number) {
  const row = new Uint8Array(BLOCK * CYCLES);
  PAY_CYCLES.forEach((cycle, c) => {
    let since = 0;
    while (since < LONGEST && !cycle.pays(start - since)) since++;
    for (let n = 0; n < BLOCK; n++) {
      if (n > 0) since = cycle.pays(start + n) ? 0 : Math.min(LONGEST, since + 1);
      row[n * CYCLES + c] = since;
    }
  });
  return row;
}

/** Days before 1970 are negative. */
function modulo(day: number, length: number) {
  return ((day % length) + length) % length;
}

function range(from: number, to: number) {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n);
}

function ordinal(number: number) {
  if (number >= 11 && number <= 13) return "th";
  return ["th", "st", "nd", "rd"][number % 10] ?? "th";
}
