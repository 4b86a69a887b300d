import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { hashText } from "../domain/hash-text.ts";
import { DATE_CELLS } from "./dates.ts";
import { CYCLE_KINDS, LONGEST } from "./pay-cycles.ts";

/** Why the charge before failed, as the model tells reasons apart; FIRST: a bill's first charge, nothing failed yet. */
export const REASONS = [
  "FIRST",
  "FUNDS",
  "GENERIC",
  "UNKNOWN",
  "LIMIT",
  "ISSUER_DOWN",
  "EXPIRED",
  "INVALID_DATA",
  "AUTH_REQUIRED",
  "HARD_CARD",
  "FRAUD",
  "REVOKED",
] as const;
export type Reason = (typeof REASONS)[number];

/** Reasons that behave alike through the day and the week. */
const CLASSES: Readonly<Record<Reason, number>> = {
  FIRST: 0,
  FUNDS: 1,
  GENERIC: 2,
  UNKNOWN: 3,
  LIMIT: 4,
  ISSUER_DOWN: 5,
  EXPIRED: 6,
  INVALID_DATA: 7,
  AUTH_REQUIRED: 7,
  HARD_CARD: 7,
  FRAUD: 7,
  REVOKED: 7,
};
export const CLASS_COUNT = 8;
export const classOf = (reason: Reason) => CLASSES[reason];

/** The hour of the day of what a bank books with all that it has of a day: after the hours of the clock. */
export const BOOKED_HOUR = 24;

/** Days since pay, in bins that widen: pay day itself in four parts of the day, then 1, 2, 3, 4-5, 6-7, 8-10, 11-14, 15-20, 21 on. What is booked comes in the morning. */
export const SINCE_BINS = 13;
const BIN_OF_SINCE = Uint8Array.from({ length: 64 }, (_, days) =>
  days <= 3 ? days + 3 : days <= 5 ? 7 : days <= 7 ? 8 : days <= 10 ? 9 : days <= 14 ? 10 : days <= 20 ? 11 : 12,
);
const sinceBin = (days: number, hour: number) =>
  days > 0
    ? BIN_OF_SINCE[Math.min(days, 63)]!
    : hour < 6
      ? 0
      : hour < 10 || hour === BOOKED_HOUR
        ? 1
        : hour < 16
          ? 2
          : 3;

const bins = Int32Array.from({ length: LONGEST + 1 }, (_, days) => sinceBin(days, 0));
/** For an hour of the day, the bin of each number of days since pay, up to LONGEST. Written over by the next call. */
export function sinceBins(hour: number): Int32Array {
  bins[0] = sinceBin(0, hour);
  return bins;
}

/** How a customer's first charges went: most were approved, neither or too few to say, most were declined. Who is often short has less left soon after pay. */
export const STANDINGS = { good: 0, between: 1, bad: 2 } as const;
const STANDING_COUNT = 3;

/** What lies between the last try and this one, if that is how somebody is paid. */
export const PAID_BETWEEN = { fresh: 0, same: 1, first: 2 } as const;

/** Cells of pay cycles for one standing. */
const SINCE_CELLS = 3 * CYCLE_KINDS.length * SINCE_BINS;

/** Buckets for names by hash: countries, issuers, merchants, codes. */
export const NAME_BUCKETS = 16384;

/** Stretches of time since the failure. */
export const ELAPSED_BINS = 10;
const GAP_BINS = 8;
const TRIES_BINS = 6;
/** Steps of the time since another bill of the customer was charged. */
const BESIDE_BINS = 5;

/**
 * What may make some moments better for one case than for another. Each value has a row of weights for moments, which start at zero: no
 * prior has any. Steps of amount and tenure have a row each; texts share so many by hash, enough that common ones share none, and that few issuers do.
 */
const ROWS = {
  country: 256,
  code: 256,
  advice: 64,
  pay: 64,
  network: 64,
  amount: 32,
  tenure: 16,
  issuer: 256,
  period: 64,
} as const;
type RowKind = keyof typeof ROWS;
const ROW_COUNT = Object.values(ROWS).reduce((sum, rows) => sum + rows, 0);
/** Parts of a day, of four hours each, and one of what is booked. */
const DAY_PARTS = 7;
/** Where in a row the weights of a moment begin: each moment has one of each group. */
export const COLUMNS = runningSums({
  dayPart: DAY_PARTS,
  weekday: 7,
  date: 31,
  elapsed: ELAPSED_BINS,
  gap: GAP_BINS,
});
/** Where the groups of columns begin, and where the last one ends. */
export const COLUMN_EDGES: readonly number[] = [...Object.values(COLUMNS), COLUMNS.gap + GAP_BINS];
export const COLUMN_GROUPS = COLUMN_EDGES.length - 1;
export const ROW_WIDTH = COLUMN_EDGES[COLUMN_GROUPS]!;

/** Where each begins when they follow one another. */
function runningSums<K extends string>(sizes: Readonly<Record<K, number>>): Readonly<Record<K, number>> {
  let sum = 0;
  const starts = Object.entries<number>(sizes).map(([name, count]) => {
    sum += count;
    return [name, sum - count] as const;
  });
  return Object.fromEntries(starts) as Record<K, number>;
}

/** Two hours of the day each, and one of what is booked. */
const HOURS = 13;

let size = 0;
const block = (count: number) => {
  const from = size;
  size += count;
  return from;
};

/** Where each kind of input has its weights. */
export const AT = {
  reason: block(REASONS.length),
  hour: block(CLASS_COUNT * HOURS),
  weekday: block(CLASS_COUNT * 7),
  date: block(31),
  elapsed: block(CLASS_COUNT * ELAPSED_BINS),
  tries: block(CLASS_COUNT * TRIES_BINS),
  gap: block(CLASS_COUNT * GAP_BINS),
  weekTries: block(6),
  since: block(STANDING_COUNT * SINCE_CELLS),
  anyDay: block(CLASS_COUNT * 4),
  dateCell: block(CLASS_COUNT * DATE_CELLS),
  before: block(CLASS_COUNT),
  after: block(CLASS_COUNT),
  never: block(1),
  ample: block(1),
  firstDate: block(31),
  beside: block(2 * BESIDE_BINS),
  name: block(NAME_BUCKETS),
  row: block(ROW_COUNT * ROW_WIDTH),
} as const;
export const WEIGHTS = size;

/** @param standing  for a first charge there is one set of cells: `between` */
export const sinceCell = (standing: number, between: number, kind: number, bin: number) =>
  AT.since + standing * SINCE_CELLS + (between * CYCLE_KINDS.length + kind) * SINCE_BINS + bin;
/** From the cell of a try that finds new pay to that of one that does not. */
export const TO_SAME = sinceCell(0, PAID_BETWEEN.same, 0, 0) - sinceCell(0, PAID_BETWEEN.fresh, 0, 0);

/** Which of so many buckets a text falls into. */
export function bucketOf(text: string, buckets: number): number {
  const hash = hashText(text);
  return ((hash ^ (hash >>> 15)) >>> 0) % buckets;
}

/** The weight of a name, such as "issuer:N26". */
export const nameWeight = (name: string) => AT.name + bucketOf(name, NAME_BUCKETS);

const ROW_STARTS = runningSums(ROWS);
/** Where the rows of each kind begin, and how many they are. */
export const ROWS_OF = Object.fromEntries(
  Object.entries(ROWS).map(([kind, rows]) => [kind, { start: AT.row + ROW_STARTS[kind as RowKind] * ROW_WIDTH, rows }]),
) as Readonly<Record<RowKind, { start: number; rows: number }>>;

/** What is put in front of a text, such that common values share no row: a hash of short texts often does. */
const PREFIX = {
  country: "country/",
  code: "code/r",
  advice: "advice/",
  pay: "way:",
  network: "ca/",
  issuer: "",
  period: "every/",
} as const;

/** Of what a case has a row each, where it is known: texts such as "SE", "51", "24", "debit:card", "visa", "1year"; steps of amount and tenure. */
type RowValues = Readonly<Record<keyof typeof PREFIX, string | null> & { amount: number; tenure: number | null }>;

/** Where the row of a value begins. A step that is too large shares the last row. */
export function rowStart(kind: RowKind, value: string | number): number {
  const { start, rows } = ROWS_OF[kind];
  const row =
    typeof value === "number"
      ? Math.min(value, rows - 1)
      : bucketOf(`${PREFIX[kind as keyof typeof PREFIX]}${value}`, rows);
  return start + row * ROW_WIDTH;
}

/** Where the rows of a case begin. What is not known (null) has none. */
export function rowsOf(values: RowValues): Int32Array {
  const known = Object.entries(values).filter((each): each is [RowKind, string | number] => each[1] !== null);
  return Int32Array.from(known, ([kind, value]) => rowStart(kind, value));
}

/**
 * The rows of a case whose latest decline has another code: that one's stands in place of the row of the code before.
 *
 * @param row  where it begins
 */
export function withCodeRow(rows: Int32Array, row: number): Int32Array {
  const { start, rows: count } = ROWS_OF.code;
  const isCode = (each: number) => each >= start && each < start + count * ROW_WIDTH;
  return Int32Array.from([...rows.filter((each) => !isCode(each)), row]);
}

/** Where in a row a part of the day has its weight. */
export const dayPartColumn = (hour: number) => COLUMNS.dayPart + (hour >> 2);

/** A moment as rows tell it apart. `date`: 1 to 31. */
interface RowMoment {
  hour: number;
  weekday: number;
  date: number;
  elapsedMs: number;
  gapMs: number;
}

/** The columns of a moment: COLUMN_GROUPS numbers, written into `columns`. */
export function columnsOf(of: RowMoment, columns: Int32Array) {
  columns[0] = dayPartColumn(of.hour);
  columns[1] = COLUMNS.weekday + of.weekday;
  columns[2] = COLUMNS.date + of.date - 1;
  columns[3] = COLUMNS.elapsed + elapsedBin(of.elapsedMs);
  columns[4] = COLUMNS.gap + gapBin(of.gapMs);
}

function binOf(value: number, edges: readonly number[]) {
  let bin = 0;
  while (bin < edges.length && value >= edges[bin]!) bin++;
  return bin;
}

const ELAPSED_EDGES = [0.25, 0.75, 1.5, 2.5, 4, 6, 9, 13, 20].map((days) => days * DAY_MS);
export const elapsedBin = (ms: number) => binOf(ms, ELAPSED_EDGES);
export const elapsedWeight = (of: number, ms: number) => AT.elapsed + of * ELAPSED_BINS + elapsedBin(ms);

const GAP_EDGES = [3, 9, 18, 36, 72, 120, 216].map((hours) => hours * HOUR_MS);
const gapBin = (ms: number) => binOf(ms, GAP_EDGES);
export const gapWeight = (of: number, ms: number) => AT.gap + of * GAP_BINS + gapBin(ms);

export const triesWeight = (of: number, tries: number) => AT.tries + of * TRIES_BINS + Math.min(TRIES_BINS - 1, tries);
/** More tries in a week than these are as these. */
export const WEEK_TRIES_MAX = 5;
export const weekTriesWeight = (tries: number) => AT.weekTries + Math.min(WEEK_TRIES_MAX, tries);
export const hourWeight = (of: number, hour: number) => AT.hour + of * HOURS + (hour >> 1);
export const weekdayWeight = (of: number, weekday: number) => AT.weekday + of * 7 + weekday;
/** First charges have dates of their own: most are approved on any day, and they are so many that a retry's date would mean nothing. */
export const dateWeight = (of: number, date: number) => (of === 0 ? AT.firstDate : AT.date) + date - 1;
export const dateCellWeight = (of: number, cell: number) => AT.dateCell + of * DATE_CELLS + cell;
const BESIDE_EDGES = [0.25, 1, 3, 7].map((days) => days * DAY_MS);
/** What came of the charge of another bill of the customer, and how long ago. The same for all reasons: such charges are few. */
export const besideWeight = (approved: boolean, ms: number) =>
  AT.beside + Number(approved) * BESIDE_BINS + binOf(ms, BESIDE_EDGES);
const ANY_DAY_EDGES = [1, 3, 7].map((days) => days * DAY_MS);
export const anyDayWeight = (of: number, gapMs: number) => AT.anyDay + of * 4 + binOf(gapMs, ANY_DAY_EDGES);
