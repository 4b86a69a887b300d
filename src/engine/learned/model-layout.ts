import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { hashText } from "../../domain/hash-text.ts";
import { DATE_CELL_COUNT } from "./date-outcomes.ts";
import { CYCLE_KINDS, MAX_CYCLE_DAYS } from "./pay-cycles.ts";

/** FIRST: an invoice's first charge; nothing has failed yet. */
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

/** Reasons of one class behave alike over the day and the week. */
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

/** Settled charges have no time of day. */
export const SETTLED_HOUR = 24;

/**
 * The pay day in four parts, then days 1, 2, 3, 4-5, 6-7, 8-10, 11-14, 15-20, 21 and more. Settled charges fall in the morning.
 */
export const SINCE_PAY_BINS = 13;
const sincePayBinBuffer = Int32Array.from({ length: MAX_CYCLE_DAYS + 1 }, (_, days) =>
  days <= 3 ? days + 3 : days <= 5 ? 7 : days <= 7 ? 8 : days <= 10 ? 9 : days <= 14 ? 10 : days <= 20 ? 11 : 12,
);
/** Up to MAX_CYCLE_DAYS. The next call overwrites the result. */
export function sincePayBins(hour: number): Int32Array {
  sincePayBinBuffer[0] = hour < 6 ? 0 : hour < 10 || hour === SETTLED_HOUR ? 1 : hour < 16 ? 2 : 3;
  return sincePayBinBuffer;
}

/**
 * First charges so far: mostly approved; mixed or too few; mostly declined. Customers who often run short have less left soon
 * after pay.
 */
export const STANDINGS = { good: 0, between: 1, bad: 2 } as const;
const STANDING_COUNT = 3;

/** Pay between the last attempt and this one. */
export const PAID_BETWEEN = { fresh: 0, same: 1, first: 2 } as const;

const SINCE_PAY_CELLS = 3 * CYCLE_KINDS.length * SINCE_PAY_BINS;

export const FEATURE_BUCKETS = 16384;

/** Since the failure. */
export const ELAPSED_BINS = 10;
const GAP_BINS = 8;
const ATTEMPT_BINS = 6;
/** Since the customer's other invoice was charged. */
const OTHER_INVOICE_BINS = 5;

/**
 * Attributes that may make some times better for one case than for another. Each value has a row of weights for times, which
 * start at zero, even if pretrained. Texts share rows by hash; common ones, and most issuers, do not collide.
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
/** Four hours each, and one for settled charges. */
const DAY_PARTS = 7;
/** A time has one weight in each column group of a row. */
export const COLUMN_STARTS = runningSums({
  dayPart: DAY_PARTS,
  weekday: 7,
  date: 31,
  elapsed: ELAPSED_BINS,
  gap: GAP_BINS,
});
/** Includes the last group's end. */
export const COLUMN_EDGES: readonly number[] = [...Object.values(COLUMN_STARTS), COLUMN_STARTS.gap + GAP_BINS];
export const COLUMN_GROUPS = COLUMN_EDGES.length - 1;
export const ROW_WIDTH = COLUMN_EDGES[COLUMN_GROUPS]!;

function runningSums<K extends string>(sizes: Readonly<Record<K, number>>): Readonly<Record<K, number>> {
  let sum = 0;
  const starts = Object.entries<number>(sizes).map(([name, count]) => {
    sum += count;
    return [name, sum - count] as const;
  });
  return Object.fromEntries(starts) as Record<K, number>;
}

/** Two hours each, and one for settled charges. */
const HOUR_BINS = 13;

let allocatedCount = 0;
const allocateWeights = (count: number) => {
  const from = allocatedCount;
  allocatedCount += count;
  return from;
};

/** First weight of each kind. */
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
/** A hypothesis's own weight, its cell, lies before. */
export const CELL_WEIGHTS_END = WEIGHT_STARTS.firstDate;

/** @param standing  first charges have one set of cells, chosen by `between` */
export const sincePayCell = (standing: number, between: number, kind: number, bin: number) =>
  WEIGHT_STARTS.since + standing * SINCE_PAY_CELLS + (between * CYCLE_KINDS.length + kind) * SINCE_PAY_BINS + bin;
/** From a cell with new pay to the one without. */
export const FRESH_TO_SAME_OFFSET =
  sincePayCell(0, PAID_BETWEEN.same, 0, 0) - sincePayCell(0, PAID_BETWEEN.fresh, 0, 0);

export function bucketOf(text: string, buckets: number): number {
  const hash = hashText(text);
  return ((hash ^ (hash >>> 15)) >>> 0) % buckets;
}

/** Takes "issuer:N26". */
export const featureIndex = (name: string) => WEIGHT_STARTS.name + bucketOf(name, FEATURE_BUCKETS);

const ROW_STARTS = runningSums(ROW_COUNT_BY_KIND);
export const ROWS_BY_KIND = Object.fromEntries(
  Object.entries(ROW_COUNT_BY_KIND).map(([kind, rows]) => [
    kind,
    { start: WEIGHT_STARTS.row + ROW_STARTS[kind as RowKind] * ROW_WIDTH, rows },
  ]),
) as Readonly<Record<RowKind, { start: number; rows: number }>>;

/** Chosen so that common values do not collide. */
const HASH_PREFIXES = {
  country: "country/",
  code: "code/r",
  advice: "advice/",
  pay: "way:",
  network: "ca/",
  issuer: "",
  period: "every/",
} as const;

/** Texts such as "SE", "51", "24", "debit:card", "visa", "1year"; steps of amount and tenure. */
type RowValues = Readonly<
  Record<keyof typeof HASH_PREFIXES, string | null> & { amount: number; tenure: number | null }
>;

/** Steps beyond the last row share it. */
export function rowStart(kind: RowKind, value: string | number): number {
  const { start, rows } = ROWS_BY_KIND[kind];
  const row =
    typeof value === "number"
      ? Math.min(value, rows - 1)
      : bucketOf(`${HASH_PREFIXES[kind as keyof typeof HASH_PREFIXES]}${value}`, rows);
  return start + row * ROW_WIDTH;
}

/** Unknown values have no row. */
export function rowsOf(values: RowValues): Int32Array {
  const knownValues = Object.entries(values).filter((entry): entry is [RowKind, string | number] => entry[1] !== null);
  return Int32Array.from(knownValues, ([kind, value]) => rowStart(kind, value));
}

/** Replaces the previous code's row. */
export function withCodeRow(rows: Int32Array, row: number): Int32Array {
  const { start, rows: count } = ROWS_BY_KIND.code;
  const isCode = (row: number) => row >= start && row < start + count * ROW_WIDTH;
  return Int32Array.from([...rows.filter((row) => !isCode(row)), row]);
}

export const dayPartColumn = (hour: number) => COLUMN_STARTS.dayPart + (hour >> 2);

function findBin(value: number, edges: readonly number[]) {
  let bin = 0;
  while (bin < edges.length && value >= edges[bin]!) bin++;
  return bin;
}

const ELAPSED_EDGES = [0.25, 0.75, 1.5, 2.5, 4, 6, 9, 13, 20].map((days) => days * DAY_MS);
export const elapsedBin = (ms: number) => findBin(ms, ELAPSED_EDGES);
export const elapsedWeight = (classIndex: number, ms: number) =>
  WEIGHT_STARTS.elapsed + classIndex * ELAPSED_BINS + elapsedBin(ms);

const GAP_EDGES = [3, 9, 18, 36, 72, 120, 216].map((hours) => hours * HOUR_MS);
export const gapBin = (ms: number) => findBin(ms, GAP_EDGES);
export const gapWeight = (classIndex: number, ms: number) => WEIGHT_STARTS.gap + classIndex * GAP_BINS + gapBin(ms);

export const attemptsWeight = (classIndex: number, retryCount: number) =>
  WEIGHT_STARTS.tries + classIndex * ATTEMPT_BINS + Math.min(ATTEMPT_BINS - 1, retryCount);
/** More attempts count as this many. */
export const MAX_WEEK_ATTEMPTS = 5;
export const weekAttemptsWeight = (retryCount: number) =>
  WEIGHT_STARTS.weekTries + Math.min(MAX_WEEK_ATTEMPTS, retryCount);
export const hourWeight = (classIndex: number, hour: number) =>
  WEIGHT_STARTS.hour + classIndex * HOUR_BINS + (hour >> 1);
export const weekdayWeight = (classIndex: number, weekday: number) => WEIGHT_STARTS.weekday + classIndex * 7 + weekday;
/** Separate for first charges: most are approved on any day, and their number would hide how dates affect retries. */
export const dateWeight = (classIndex: number, date: number) =>
  (classIndex === 0 ? WEIGHT_STARTS.firstDate : WEIGHT_STARTS.date) + date - 1;
export const dateCellWeight = (classIndex: number, cell: number) =>
  WEIGHT_STARTS.dateCell + classIndex * DATE_CELL_COUNT + cell;
const OTHER_INVOICE_EDGES = [0.25, 1, 3, 7].map((days) => days * DAY_MS);
/** Shared by all reasons, since such charges are rare. */
export const otherInvoiceWeight = (approved: boolean, ms: number) =>
  WEIGHT_STARTS.beside + Number(approved) * OTHER_INVOICE_BINS + findBin(ms, OTHER_INVOICE_EDGES);
const ANY_DAY_EDGES = [1, 3, 7].map((days) => days * DAY_MS);
export const anyDayWeight = (classIndex: number, gapMs: number) =>
  WEIGHT_STARTS.anyDay + classIndex * 4 + findBin(gapMs, ANY_DAY_EDGES);
