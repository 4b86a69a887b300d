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

/** Functions named `learn…`, `record…`, `count…`, `loosen…` and `set…` change it in place; all others only read it. */
export interface LearnedModel {
  mean: Float64Array;
  variance: Float64Array;
  /** Customers by pay cycle, in total and by country. */
  cycles: Float64Array;
  countryCycles: Map<string, Float64Array>;
  /** Cases: KIND_COUNT numbers per row, by reason and by code. */
  kinds: Float64Array;
  /** Log scores by scheme: see settlement.ts. */
  bookings: Float64Array;
  /** Per feature, one per family: see `shiftIndex`. */
  shifts: Float64Array;
  /** By feature; determines its shift's step. */
  seen: Float64Array;
  /** For chosen retries: see calibrate.ts. */
  trim: Float64Array;
  /** See first-retry-counts.ts. */
  firsts: Float64Array;
  /** Initial means. Not stored. */
  start: Float64Array;
  /** By weight group: see loosen-weights.ts. */
  strain: Float64Array;
  /** Approval rate and number of the latest retries. Merchant-specific: see merchant-parameters.ts. */
  tries: Float64Array;
  /** See shortfall.ts. Merchant-specific. */
  shortfalls: Float64Array;
  /** Scratch memory. Not stored. */
  workspace: Workspace;
}

export const shiftIndex = (name: number) => FAMILIES.length * (name - WEIGHT_STARTS.name);

/** In cases and in customers. */
const KINDS_STRENGTH = 40;
const CYCLES_STRENGTH = 60;
/** In customers, with all customers' pay cycles. */
export const COUNTRY_START_COUNT = 20;
/** However large the country's own count becomes. */
const EVERYWHERE_COUNT = 25;
const INITIAL_APPROVAL_RATE = [0.2, 20];

/** By block: how much a weight may differ from its neighbors. */
const INITIAL_VARIANCES: Readonly<Record<keyof typeof WEIGHT_STARTS, number>> = {
  reason: 0.15,
  hour: 0.01,
  weekday: 0.01,
  date: 0.03, // Low, or the model would attribute a date's effect to its customers.
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
  beside: 0.5, // Rare, but may matter much.
  name: 0.015,
  row: 0.0015, // Most say nothing; the others are loosened.
};

/** A code mostly affects the best wait: one limit is lifted at midnight, another days later. */
const CODE_GAP_VARIANCE = 0.02;

function computeInitialWeights(): Pick<LearnedModel, "mean" | "variance"> {
  const mean = new Float64Array(WEIGHT_COUNT);
  const variance = new Float64Array(WEIGHT_COUNT);
  // Each block overwrites the rest from its start.
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
  return { mean, variance };
}

/** Computed once: each merchant's model starts with a copy. */
const INITIAL_WEIGHTS = computeInitialWeights();

/** Assumes only that money is likelier soon after pay, and that a hold blocks every charge until it ends. */
export function newLearnedModel(): LearnedModel {
  const kinds = new Float64Array(KIND_ROW_COUNT * KIND_COUNT);
  REASONS.forEach((reason, r) => {
    usualKindChances(reason).forEach((share, k) => {
      kinds[r * KIND_COUNT + k] = share * KINDS_STRENGTH;
    });
  });
  return {
    mean: INITIAL_WEIGHTS.mean.slice(),
    variance: INITIAL_WEIGHTS.variance.slice(),
    cycles: usualCycleCounts(CYCLES_STRENGTH),
    countryCycles: new Map(),
    kinds,
    bookings: newSettlementScores(),
    shifts: new Float64Array(FAMILIES.length * FEATURE_BUCKETS),
    seen: new Float64Array(FEATURE_BUCKETS),
    trim: newCalibration(),
    firsts: newFirstRetryCounts(),
    start: INITIAL_WEIGHTS.mean.slice(),
    strain: newStrain(),
    tries: Float64Array.from(INITIAL_APPROVAL_RATE),
    shortfalls: newShortfalls(),
    workspace: newWorkspace(),
  };
}

function usualCycleCounts(people: number): Float64Array {
  const total = PAY_CYCLES.reduce((sum, { usual }) => sum + usual, 0);
  return Float64Array.from(PAY_CYCLES, ({ usual }) => (people * usual) / total);
}

export function cycleChances(model: LearnedModel, country: string): Float64Array {
  const everywhere = model.cycles;
  const ownCounts = model.countryCycles.get(country);
  let total = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) total += everywhere[c]!;
  const chances = new Float64Array(CYCLE_COUNT);
  const pooled = EVERYWHERE_COUNT / total;
  let sum = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) {
    const count = everywhere[c]! * pooled + (ownCounts ? ownCounts[c]! : 0);
    chances[c] = Math.max(count, 1e-4);
    sum += chances[c]!;
  }
  for (let c = 0; c < CYCLE_COUNT; c++) chances[c]! /= sum;
  return chances;
}
