import { newCalibration } from "./calibrate.ts";
import { newFirstRetryCounts } from "./first-retry-counts.ts";
import { FAMILIES, KIND_COUNT, KIND_ROW_COUNT, usualKindChances } from "./hypotheses.ts";
import { newStrain } from "./loosen-weights.ts";
import {
  COLUMN_STARTS,
  FEATURE_BUCKETS,
  PAID_BETWEEN,
  REASONS,
  ROW_WIDTH,
  ROWS_BY_KIND,
  SINCE_PAY_BINS,
  STANDINGS,
  sincePayCell,
  WEIGHT_COUNT,
  WEIGHT_STARTS,
} from "./model-layout.ts";
import { CYCLE_COUNT, CYCLE_KINDS, PAY_CYCLES } from "./pay-cycles.ts";
import { newSettlementScores } from "./settlement.ts";
import { newShortfalls } from "./shortfall.ts";
import { newWorkspace, type Workspace } from "./workspace.ts";

/** Everything that was learned. Changed in place by functions named `learn…`, `note…`, `count…`, `loosen…` and `put…`; all others only read it. */
export interface LearnedModel {
  /** Mean and variance of each weight. */
  mean: Float64Array;
  variance: Float64Array;
  /** How likely each pay cycle is, as counts of people: everywhere, and by country. */
  cycles: Float64Array;
  countryCycles: Map<string, Float64Array>;
  /** How many cases had each kind of explanation: rows of KINDS, by reason and by code. */
  kinds: Float64Array;
  /** How likely each way of booking is, by scheme, as logarithms: see booking.ts. */
  bookings: Float64Array;
  /** How names shift the families, one number for each: see `shiftIndex`. */
  shifts: Float64Array;
  /** How often each name was seen, for the step of its shift. */
  seen: Float64Array;
  /** Calibration of what was chosen, by class of reason, first tries apart: see trim.ts. */
  trim: Float64Array;
  /** First tries, by class of reason and time since the failure: see firsts.ts. */
  firsts: Float64Array;
  /** The means before any lesson. Not stored: a model is made from its prior, and what is stored is put in its place. */
  start: Float64Array;
  /** How much groups of weights were held back: see loosen.ts. */
  strain: Float64Array;
  /** Share of the latest tries that were approved, and of how many. A merchant's own: see own.ts. */
  tries: Float64Array;
  /** How far what was said of the latest tries did not come true, by class of reason: see shortfall.ts. A merchant's own. */
  shortfalls: Float64Array;
  /** Scratch memory of the functions that take this model. Not part of the model, and not stored. */
  workspace: Workspace;
}

/** Where the shifts of a name begin, by where its weight is. */
export const shiftIndex = (name: number) => FAMILIES.length * (name - WEIGHT_STARTS.name);

/** Prior strength, in cases: of the kinds of one reason, and of the pay cycles, in customers. */
const KINDS_STRENGTH = 40;
const CYCLES_STRENGTH = 60;
/** The counts of a country begin as those of so many people, paid as people everywhere are. */
export const COUNTRY_START_COUNT = 20;
/** And beside them, however many they become, everybody counts as so many people. */
const EVERYWHERE_COUNT = 25;
/** Before any try was seen: as if one in five of so many had been approved. */
const INITIAL_APPROVAL_RATE = [0.2, 20];

/** Variance of a weight before anything was learned, by block: how much one may differ from its neighbours. */
const INITIAL_VARIANCES: Readonly<Record<keyof typeof WEIGHT_STARTS, number>> = {
  reason: 0.15,
  hour: 0.01,
  weekday: 0.01,
  date: 0.03, // else what is true of a date is put down to the customers who were charged on it
  elapsed: 0.02,
  tries: 0.02,
  gap: 0.02,
  weekTries: 0.03,
  since: 0.1,
  anyDay: 0.1,
  dateCell: 0.02,
  before: 0.1,
  after: 0.1,
  never: 0.1,
  ample: 0.1,
  firstDate: 0.03,
  beside: 0.5, // seldom met, and much may hang on it
  name: 0.015,
  row: 0.0015, // most say nothing; those that do are loosened
};

/** How long to wait is what a code tells most of: one limit is lifted at midnight, another one only days later. */
const CODE_GAP_VARIANCE = 0.02;

/** A model that knows only the shape of things: money is likelier soon after pay, a hold keeps everything off until it ends. */
export function newLearnedModel(): LearnedModel {
  const mean = new Float64Array(WEIGHT_COUNT);
  const variance = new Float64Array(WEIGHT_COUNT);
  // Each block is written over from where the next one begins.
  for (const [block, from] of Object.entries(WEIGHT_STARTS))
    variance.fill(INITIAL_VARIANCES[block as keyof typeof WEIGHT_STARTS], from);
  for (let row = 0; row < ROWS_BY_KIND.code.rows; row++) {
    const start = ROWS_BY_KIND.code.start + row * ROW_WIDTH;
    variance.fill(CODE_GAP_VARIANCE, start + COLUMN_STARTS.gap, start + ROW_WIDTH);
  }
  mean[WEIGHT_STARTS.reason] = 1.3;
  for (const standing of Object.values(STANDINGS)) {
    for (let kind = 0; kind < CYCLE_KINDS.length; kind++) {
      for (let bin = 0; bin < SINCE_PAY_BINS; bin++) {
        const late = bin < 4 ? 0 : bin - 3;
        mean[sincePayCell(standing, PAID_BETWEEN.fresh, kind, bin)] = bin === 0 ? -0.2 : 0.5 - 0.12 * late;
        mean[sincePayCell(standing, PAID_BETWEEN.same, kind, bin)] = -1.2 - 0.03 * late;
        mean[sincePayCell(standing, PAID_BETWEEN.first, kind, bin)] = bin === 0 ? 0 : 0.25 - 0.05 * late;
      }
    }
  }
  mean[WEIGHT_STARTS.ample] = 0.8;
  mean.fill(-0.9, WEIGHT_STARTS.anyDay, WEIGHT_STARTS.dateCell);
  mean.fill(-2.3, WEIGHT_STARTS.before, WEIGHT_STARTS.after);
  mean.fill(1, WEIGHT_STARTS.after, WEIGHT_STARTS.never);
  mean[WEIGHT_STARTS.never] = -2.6;
  const kinds = new Float64Array(KIND_ROW_COUNT * KIND_COUNT);
  REASONS.forEach((reason, r) => {
    usualKindChances(reason).forEach((share, k) => {
      kinds[r * KIND_COUNT + k] = share * KINDS_STRENGTH;
    });
  });
  return {
    mean,
    variance,
    cycles: usualCycleCounts(CYCLES_STRENGTH),
    countryCycles: new Map(),
    kinds,
    bookings: newSettlementScores(),
    shifts: new Float64Array(FAMILIES.length * FEATURE_BUCKETS),
    seen: new Float64Array(FEATURE_BUCKETS),
    trim: newCalibration(),
    firsts: newFirstRetryCounts(),
    start: mean.slice(),
    strain: newStrain(),
    tries: Float64Array.from(INITIAL_APPROVAL_RATE),
    shortfalls: newShortfalls(),
    workspace: newWorkspace(),
  };
}

/** So many people, paid as is usual. */
function usualCycleCounts(people: number): Float64Array {
  const total = PAY_CYCLES.reduce((sum, { usual }) => sum + usual, 0);
  return Float64Array.from(PAY_CYCLES, ({ usual }) => (people * usual) / total);
}

/** Chances of the cycles in a country: by its own counts and everybody's. */
export function cycleChances(learned: LearnedModel, country: string): Float64Array {
  const everywhere = learned.cycles;
  const own = learned.countryCycles.get(country);
  let total = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) total += everywhere[c]!;
  const chances = new Float64Array(CYCLE_COUNT);
  const pooled = EVERYWHERE_COUNT / total;
  let sum = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) {
    const count = everywhere[c]! * pooled + (own ? own[c]! : 0);
    chances[c] = Math.max(count, 1e-4);
    sum += chances[c]!;
  }
  for (let c = 0; c < CYCLE_COUNT; c++) chances[c]! /= sum;
  return chances;
}
