import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { hashText } from "../../domain/hash-text.ts";
import { DATE_CELL_COUNT } from "./date-outcomes.ts";
import { CYCLE_KINDS, MAX_CYCLE_DAYS } from "./pay-cycles.ts";

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
const CLASS_BY_REASON: Readonly<Record<Reason, number>> = {
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
export const classOf = (reason: Reason) => CLASS_BY_REASON[reason];

/** The hour of the day of what a bank books with all that it has of a day: after the hours of the clock. */
export const SETTLED_HOUR = 24;

/** Days since pay, in bins that widen: pay day itself in four parts of the day, then 1, 2, 3, 4-5, 6-7, 8-10, 11-14, 15-20, 21 on. What is booked comes in the morning. */
export const SINCE_PAY_BINS = 13;
const BIN_BY_DAYS_SINCE_PAY = Uint8Array.from({ length: 64 }, (_, days) =>
  days <= 3 ? days + 3 : days <= 5 ? 7 : days <= 7 ? 8 : days <= 10 ? 9 : days <= 14 ? 10 : days <= 20 ? 11 : 12,
);
const sincePayBin = (days: number, hour: number) =>
  days > 0
    ? BIN_BY_DAYS_SINCE_PAY[Math.min(days, 63)]!
    : hour < 6
      ? 0
      : hour < 10 || hour === SETTLED_HOUR
        ? 1
        : hour < 16
          ? 2
          : 3;

const sincePayBinBuffer = Int32Array.from({ length: MAX_CYCLE_DAYS + 1 }, (_, days) => sincePayBin(days, 0));
/** For an hour of the day, the bin of each number of days since pay, up to LONGEST. Written over by the next call. */
export function sincePayBins(hour: number): Int32Array {
  sincePayBinBuffer[0] = sincePayBin(0, hour);
  return sincePayBinBuffer;
}

/** How a customer's first charges went: most were approved, neither or too few to say, most were declined. Who is often short has less left soon after pay. */
export const STANDINGS = { good: 0, between: 1, bad: 2 } as const;
const STANDING_COUNT = 3;

/** What lies between the last try and this one, if that is how somebody is paid. */
export const PAID_BETWEEN = { fresh: 0, same: 1, first: 2 } as const;

/** Cells of pay cycles for one standing. */
const SINCE_PAY_CELLS = 3 * CYCLE_KINDS.length * SINCE_PAY_BINS;

/** Buckets for names by hash: countries, issuers, merchants, codes. */
export const FEATURE_BUCKETS = 16384;

/** Stretches of time since the failure. */
export const ELAPSED_BINS = 10;
const GAP_BINS = 8;
const ATTEMPT_BINS = 6;
/** Steps of the time since another bill of the customer was charged. */
const OTHER_INVOICE_BINS = 5;

/**
 * What may make some moments better for one case than for another. Each value has a row of weights for moments, which start at zero: no
 * prior has any. Steps of amount and tenure have a row each; texts share so many by hash, enough that common ones share none, and that few issuers do.
 */
const ROW_COUNT_BY_KIND = {
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
type RowKind = keyof typeof ROW_COUNT_BY_KIND;
const ROW_COUNT = Object.values(ROW_COUNT_BY_KIND).reduce((sum, rows) => sum + rows, 0);
/** Parts of a day, of four hours each, and one of what is booked. */
const DAY_PARTS = 7;
/** Where in a row the weights of a moment begin: each moment has one of each group. */
export const COLUMN_STARTS = runningSums({
  dayPart: DAY_PARTS,
  weekday: 7,
  date: 31,
  elapsed: ELAPSED_BINS,
  gap: GAP_BINS,
});
/** Where the groups of columns begin, and where the last one ends. */
export const COLUMN_EDGES: readonly number[] = [...Object.values(COLUMN_STARTS), COLUMN_STARTS.gap + GAP_BINS];
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
const HOUR_BINS = 13;

let allocatedCount = 0;
const allocateWeights = (count: number) => {
  const from = allocatedCount;
  allocatedCount += count;
  return from;
};

/** Where each kind of input has its weights. */
export const WEIGHT_STARTS = {
  reason: allocateWeights(REASONS.length),
  hour: allocateWeights(CLASS_COUNT * HOUR_BINS),
  weekday: allocateWeights(CLASS_COUNT * 7),
  date: allocateWeights(31),
  elapsed: allocateWeights(CLASS_COUNT * ELAPSED_BINS),
  tries: allocateWeights(CLASS_COUNT * ATTEMPT_BINS),
  gap: allocateWeights(CLASS_COUNT * GAP_BINS),
  weekTries: allocateWeights(6),
  since: allocateWeights(STANDING_COUNT * SINCE_PAY_CELLS),
  anyDay: allocateWeights(CLASS_COUNT * 4),
  dateCell: allocateWeights(CLASS_COUNT * DATE_CELL_COUNT),
  before: allocateWeights(CLASS_COUNT),
  after: allocateWeights(CLASS_COUNT),
  never: allocateWeights(1),
  ample: allocateWeights(1),
  firstDate: allocateWeights(31),
  beside: allocateWeights(2 * OTHER_INVOICE_BINS),
  name: allocateWeights(FEATURE_BUCKETS),
  row: allocateWeights(ROW_COUNT * ROW_WIDTH),
} as const;
export const WEIGHT_COUNT = allocatedCount;

/** @param standing  for a first charge there is one set of cells: `between` */
export const sincePayCell = (standing: number, between: number, kind: number, bin: number) =>
  WEIGHT_STARTS.since + standing * SINCE_PAY_CELLS + (between * CYCLE_KINDS.length + kind) * SINCE_PAY_BINS + bin;
/** From the cell of a try that finds new pay to that of one that does not. */
export const FRESH_TO_SAME_OFFSET =
  sincePayCell(0, PAID_BETWEEN.same, 0, 0) - sincePayCell(0, PAID_BETWEEN.fresh, 0, 0);

/** Which of so many buckets a text falls into. */
export function bucketOf(text: string, buckets: number): number {
  const hash = hashText(text);
  return ((hash ^ (hash >>> 15)) >>> 0) % buckets;
}

/** The weight of a name, such as "issuer:N26". */
export const featureIndex = (name: string) => WEIGHT_STARTS.name + bucketOf(name, FEATURE_BUCKETS);

const ROW_STARTS = runningSums(ROW_COUNT_BY_KIND);
/** Where the rows of each kind begin, and how many they are. */
export const ROWS_BY_KIND = Object.fromEntries(
  Object.entries(ROW_COUNT_BY_KIND).map(([kind, rows]) => [
    kind,
    { start: WEIGHT_STARTS.row + ROW_STARTS[kind as RowKind] * ROW_WIDTH, rows },
  ]),
) as Readonly<Record<RowKind, { start: number; rows: number }>>;

/** What is put in front of a text, such that common values share no row: a hash of short texts often does. */
const HASH_PREFIXES = {
  country: "country/",
  code: "code/r",
  advice: "advice/",
  pay: "way:",
  network: "ca/",
  issuer: "",
  period: "every/",
} as const;

/** Of what a case has a row each, where it is known: texts such as "SE", "51", "24", "debit:card", "visa", "1year"; steps of amount and tenure. */
type RowValues = Readonly<
  Record<keyof typeof HASH_PREFIXES, string | null> & { amount: number; tenure: number | null }
>;

/** Where the row of a value begins. A step that is too large shares the last row. */
export function rowStart(kind: RowKind, value: string | number): number {
  const { start, rows } = ROWS_BY_KIND[kind];
  const row =
    typeof value === "number"
      ? Math.min(value, rows - 1)
      : bucketOf(`${HASH_PREFIXES[kind as keyof typeof HASH_PREFIXES]}${value}`, rows);
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
  const { start, rows: count } = ROWS_BY_KIND.code;
  const isCode = (each: number) => each >= start && each < start + count * ROW_WIDTH;
  return Int32Array.from([...rows.filter((each) => !isCode(each)), row]);
}

/** Where in a row a part of the day has its weight. */
export const dayPartColumn = (hour: number) => COLUMN_STARTS.dayPart + (hour >> 2);

/** A moment as rows tell it apart. `date`: 1 to 31. */
interface RowTime {
  hour: number;
  weekday: number;
  date: number;
  elapsedMs: number;
  gapMs: number;
}

/** The columns of a moment: COLUMN_GROUPS numbers, written into `columns`. */
export function fillColumns(of: RowTime, columns: Int32Array) {
  columns[0] = dayPartColumn(of.hour);
  columns[1] = COLUMN_STARTS.weekday + of.weekday;
  columns[2] = COLUMN_STARTS.date + of.date - 1;
  columns[3] = COLUMN_STARTS.elapsed + elapsedBin(of.elapsedMs);
  columns[4] = COLUMN_STARTS.gap + gapBin(of.gapMs);
}

function findBin(value: number, edges: readonly number[]) {
  let bin = 0;
  while (bin < edges.length && value >= edges[bin]!) bin++;
  return bin;
}

const ELAPSED_EDGES = [0.25, 0.75, 1.5, 2.5, 4, 6, 9, 13, 20].map((days) => days * DAY_MS);
export const elapsedBin = (ms: number) => findBin(ms, ELAPSED_EDGES);
export const elapsedWeight = (of: number, ms: number) => WEIGHT_STARTS.elapsed + of * ELAPSED_BINS + elapsedBin(ms);

const GAP_EDGES = [3, 9, 18, 36, 72, 120, 216].map((hours) => hours * HOUR_MS);
const gapBin = (ms: number) => findBin(ms, GAP_EDGES);
export const gapWeight = (of: number, ms: number) => WEIGHT_STARTS.gap + of * GAP_BINS + gapBin(ms);

export const attemptsWeight = (of: number, tries: number) =>
  WEIGHT_STARTS.tries + of * ATTEMPT_BINS + Math.min(ATTEMPT_BINS - 1, tries);
/** More tries in a week than these are as these. */
export const MAX_WEEK_ATTEMPTS = 5;
export const weekAttemptsWeight = (tries: number) => WEIGHT_STARTS.weekTries + Math.min(MAX_WEEK_ATTEMPTS, tries);
export const hourWeight = (of: number, hour: number) => WEIGHT_STARTS.hour + of * HOUR_BINS + (hour >> 1);
export const weekdayWeight = (of: number, weekday: number) => WEIGHT_STARTS.weekday + of * 7 + weekday;
/** First charges have dates of their own: most are approved on any day, and they are so many that a retry's date would mean nothing. */
export const dateWeight = (of: number, date: number) =>
  (of === 0 ? WEIGHT_STARTS.firstDate : WEIGHT_STARTS.date) + date - 1;
export const dateCellWeight = (of: number, cell: number) => WEIGHT_STARTS.dateCell + of * DATE_CELL_COUNT + cell;
const OTHER_INVOICE_EDGES = [0.25, 1, 3, 7].map((days) => days * DAY_MS);
/** What came of the charge of another bill of the customer, and how long ago. The same for all reasons: such charges are few. */
export const otherInvoiceWeight = (approved: boolean, ms: number) =>
  WEIGHT_STARTS.beside + Number(approved) * OTHER_INVOICE_BINS + findBin(ms, OTHER_INVOICE_EDGES);
const ANY_DAY_EDGES = [1, 3, 7].map((days) => days * DAY_MS);
export const anyDayWeight = (of: number, gapMs: number) =>
  WEIGHT_STARTS.anyDay + of * 4 + findBin(gapMs, ANY_DAY_EDGES);
