import { DAY_MS } from "../../domain/durations.ts";
import { dayOfMonth, monthLength, weekdayOf } from "./local-days.ts";
import { bucketOf, REASONS, type Reason } from "./model-layout.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";

/**
 * Why a charge failed: money comes on a pay day, or on any day; something blocks the card for an unknown time; or the card will
 * never work.
 */
export const FAMILIES = ["cycle", "any_day", "hold", "never"] as const;

const HOUR_IN_DAYS = 1 / 24;
/** From the first failure; the last three end at a calendar boundary. */
const HOLD_DAYS = [
  2 * HOUR_IN_DAYS,
  6 * HOUR_IN_DAYS,
  14 * HOUR_IN_DAYS,
  1.2,
  2.2,
  3.3,
  4.6,
  6.3,
  8.5,
  11.5,
  15.5,
  21,
] as const;
const CALENDAR_TURNS = ["midnight", "week", "month"] as const;
const HOLD_COUNT = HOLD_DAYS.length + CALENDAR_TURNS.length;

/** Order: cycles, any day, holds, never. */
export const ANY_DAY_HYPOTHESIS = CYCLE_COUNT;
export const FIRST_HOLD = CYCLE_COUNT + 1;
export const NEVER_HYPOTHESIS = FIRST_HOLD + HOLD_COUNT;
export const HYPOTHESIS_COUNT = NEVER_HYPOTHESIS + 1;

/** All cycles are one kind. Cases are counted by kind. */
export const KIND_COUNT = 3 + HOLD_COUNT;
export const KIND_CYCLE = 0;
const KIND_ANY_DAY = 1;
export const KIND_NEVER = KIND_COUNT - 1;

export const familyOfKind = (kind: number) =>
  kind === KIND_CYCLE ? 0 : kind === KIND_ANY_DAY ? 1 : kind === KIND_NEVER ? 3 : 2;

export const kindOf = (explanation: number) => Math.max(KIND_CYCLE, explanation - CYCLE_COUNT + KIND_ANY_DAY);

/** @param offsetMs  local time minus UTC at the first failure */
export function holdEnds(firstFailedAt: number, offsetMs: number): Float64Array {
  const endTimes = new Float64Array(HOLD_COUNT);
  HOLD_DAYS.forEach((days, n) => {
    endTimes[n] = firstFailedAt + days * DAY_MS;
  });
  const day = Math.floor((firstFailedAt + offsetMs) / DAY_MS);
  const startOf = (days: number) => (day + days) * DAY_MS - offsetMs;
  endTimes[HOLD_DAYS.length] = startOf(1);
  endTimes[HOLD_DAYS.length + 1] = startOf(7 - ((weekdayOf(day) + 6) % 7));
  endTimes[HOLD_DAYS.length + 2] = startOf(monthLength(day) - dayOfMonth(day) + 1);
  return endTimes;
}

/** By length in days; null: ends at a calendar boundary. */
const HOLD_SHAPES = {
  even: (days: number | null) => (days === null ? 0.3 : 1),
  short: (days: number | null) => (days === null ? 0.3 : 1 / (1 + days * days)),
  turns: (days: number | null) => (days === null ? 4 : 0.4),
  days: (days: number | null) => (days === null || days < 1 ? 0.3 : 1),
} as const;

/** Cycle, any day, never; holds share the rest. */
const USUAL_SHARES: Readonly<Record<Reason, readonly [number, number, number, holds: keyof typeof HOLD_SHAPES]>> = {
  FIRST: [0.4, 0.2, 0.2, "even"],
  FUNDS: [0.6, 0.15, 0.15, "even"],
  GENERIC: [0.3, 0.1, 0.25, "even"],
  UNKNOWN: [0.35, 0.1, 0.25, "even"],
  LIMIT: [0.1, 0.05, 0.1, "turns"],
  ISSUER_DOWN: [0.05, 0.05, 0.05, "short"],
  EXPIRED: [0.02, 0.03, 0.55, "days"],
  INVALID_DATA: [0.02, 0.03, 0.8, "days"],
  AUTH_REQUIRED: [0.02, 0.03, 0.85, "days"],
  HARD_CARD: [0.01, 0.01, 0.95, "days"],
  FRAUD: [0.01, 0.01, 0.9, "days"],
  REVOKED: [0.01, 0.01, 0.97, "days"],
};

export function usualKindChances(reason: Reason): Float64Array {
  const [cycle, anyDay, neverShare, holds] = USUAL_SHARES[reason];
  const kinds = new Float64Array(KIND_COUNT);
  kinds[KIND_CYCLE] = cycle;
  kinds[KIND_ANY_DAY] = anyDay;
  kinds[KIND_NEVER] = neverShare;
  const rest = 1 - cycle - anyDay - neverShare;
  const weights = [...HOLD_DAYS, ...CALENDAR_TURNS.map(() => null)].map(HOLD_SHAPES[holds]);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  for (let n = 0; n < HOLD_COUNT; n++) kinds[kindOf(FIRST_HOLD + n)] = (rest * weights[n]!) / total;
  return kinds;
}

/** Shared by hash. */
const CODE_BUCKETS = 64;
/** First by reason, then by code. */
export const KIND_ROW_COUNT = REASONS.length + CODE_BUCKETS;

export const reasonRow = (reason: Reason) => REASONS.indexOf(reason) * KIND_COUNT;

/** As reported, whatever its reason. */
export const codeRow = (code: string) => (REASONS.length + bucketOf(code, CODE_BUCKETS)) * KIND_COUNT;
