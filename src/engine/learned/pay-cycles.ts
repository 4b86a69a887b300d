import { dayOfMonth, monthLength, weekdayOf } from "./local-days.ts";

/** Determines how fast money is spent. */
export const CYCLE_KINDS = ["weekly", "twice", "monthly"] as const;

export interface PayCycle {
  kind: number;
  /** Before any observation. */
  usual: number;
  /** Completes "pay comes …". */
  words: string;
  pays(day: number): boolean;
}

const WEEKDAYS = ["Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays"];
const WEEKLY = 0;
const TWICE = 1;
const MONTHLY = 2;

const ROUND_DATES = [1, 15, 25, 28, 31];
const isThursdayOrFriday = (weekday: number) => weekday === 4 || weekday === 5;

/** None is ruled out. */
export const PAY_CYCLES: readonly PayCycle[] = [
  ...range(1, 31).map((date) => ({
    kind: MONTHLY,
    usual: ROUND_DATES.includes(date) ? 5 : 1,
    words: date === 31 ? "at the end of the month" : `around the ${date}${ordinal(date)} of the month`,
    pays: isPostedOnDate(date),
  })),
  ...(
    [...range(2, 14).map((date) => [date, date + 15, 0.4] as const), [1, 15, 5], [15, 31, 5], [1, 16, 0.4]] as const
  ).map(([firstDate, second, usual]) => ({
    kind: TWICE,
    usual,
    words: `around the ${firstDate}${ordinal(firstDate)} and ${second === 31 ? "the end of the month" : `${second}${ordinal(second)}`}`,
    pays: isOnEither(isPostedOnDate(firstDate), isPostedOnDate(second)),
  })),
  // Without a weekend shift: card balances paid off, benefits, other customs.
  ...range(1, 31).map((date) => ({
    kind: MONTHLY,
    usual: 0.8,
    words: date === 31 ? "on the last day of the month" : `on the ${date}${ordinal(date)} of the month`,
    pays: isOnDate(date),
  })),
  ...(
    [
      [1, 15],
      [15, 31],
    ] as const
  ).map(([firstDate, second]) => ({
    kind: TWICE,
    usual: 0.8,
    words: `on the ${firstDate}${ordinal(firstDate)} and ${second === 31 ? "the last day of the month" : `${second}${ordinal(second)}`}`,
    pays: isOnEither(isOnDate(firstDate), isOnDate(second)),
  })),
  ...range(0, 6).map((weekday) => ({
    kind: WEEKLY,
    usual: isThursdayOrFriday(weekday) ? 5 : 1.5,
    words: `on ${WEEKDAYS[weekday]}`,
    pays: (day: number) => weekdayOf(day) === weekday,
  })),
  ...range(0, 13).map((phase) => ({
    kind: TWICE,
    usual: isThursdayOrFriday(weekdayOf(phase)) ? 5 : 0.25,
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
    pays: (day: number) => weekdayOf(day) === 3 && Math.ceil(dayOfMonth(day) / 7) === nth,
  })),
  {
    kind: MONTHLY,
    usual: 1,
    words: "on the fifth working day of the month",
    pays: (day) => workingDayOfMonth(day) === 5,
  },
];

export const CYCLE_COUNT = PAY_CYCLES.length;
export const KIND_BY_CYCLE = Uint8Array.from(PAY_CYCLES, ({ kind }) => kind);

/** Friday if the date is on a weekend; the month's last day if it is past its end. Days are counted since 1970. */
export function isPostedOnDate(date: number) {
  return (day: number) => {
    const weekday = weekdayOf(day);
    if (weekday === 0 || weekday === 6) return false;
    for (let ahead = 0; ahead <= (weekday === 5 ? 2 : 0); ahead++)
      if (dayOfMonth(day + ahead) === Math.min(date, monthLength(day + ahead))) return true;
    return false;
  };
}

function isOnDate(date: number) {
  return (day: number) => dayOfMonth(day) === Math.min(date, monthLength(day));
}

function isOnEither(a: (day: number) => boolean, b: (day: number) => boolean) {
  return (day: number) => a(day) || b(day);
}

/** 0 on weekends. */
export function workingDayOfMonth(day: number) {
  if (weekdayOf(day) === 0 || weekdayOf(day) === 6) return 0;
  let count = 0;
  for (let n = day - dayOfMonth(day) + 1; n <= day; n++) if (weekdayOf(n) !== 0 && weekdayOf(n) !== 6) count++;
  return count;
}

const DAYS_PER_BLOCK = 256;
/** A year takes about 40 kB. */
const MAX_BLOCKS = 64;
export const MAX_CYCLE_DAYS = 36;
const blockByNumber = new Map<number, Uint8Array>();

/**
 * @param day  local
 * @returns an array, and where the day's CYCLE_COUNT numbers begin
 */
export function daysSincePay(day: number): { row: Uint8Array; from: number } {
  const number = Math.floor(day / DAYS_PER_BLOCK);
  let row = blockByNumber.get(number);
  if (!row) {
    if (blockByNumber.size >= MAX_BLOCKS) blockByNumber.clear();
    row = makeBlock(number * DAYS_PER_BLOCK);
    blockByNumber.set(number, row);
  }
  return { row, from: (day - number * DAYS_PER_BLOCK) * CYCLE_COUNT };
}

function makeBlock(start: number) {
  const row = new Uint8Array(DAYS_PER_BLOCK * CYCLE_COUNT);
  PAY_CYCLES.forEach((cycle, c) => {
    let since = 0;
    while (since < MAX_CYCLE_DAYS && !cycle.pays(start - since)) since++;
    for (let n = 0; n < DAYS_PER_BLOCK; n++) {
      if (n > 0) since = cycle.pays(start + n) ? 0 : Math.min(MAX_CYCLE_DAYS, since + 1);
      row[n * CYCLE_COUNT + c] = since;
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
