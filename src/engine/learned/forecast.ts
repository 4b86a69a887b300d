import { DAY_MS } from "../../domain/durations.ts";
import { columnsAt, writeCalendarWeights, writeCaseWeights, writeHistoryWeights } from "./active-weights.ts";
import { type CasePosterior, otherCell } from "./case-posterior.ts";
import { NEVER_HYPOTHESIS } from "./hypotheses.ts";
import type { LearnedModel } from "./learned-model.ts";
import {
  attemptsWeight,
  classOf,
  FRESH_TO_SAME_OFFSET,
  gapWeight,
  otherInvoiceWeight,
  PAID_BETWEEN,
  ROW_WIDTH,
  sincePayBins,
  sincePayCell,
} from "./model-layout.ts";
import { normalCdf } from "./normal-distribution.ts";
import { CELL_VARIANCE, uncertaintyScale } from "./observe.ts";
import { CYCLE_COUNT, daysSincePay, KIND_BY_CYCLE, MAX_CYCLE_DAYS } from "./pay-cycles.ts";
import { IMMEDIATE, settlementDay, settlementDayEnd, settlementHour } from "./settlement.ts";
import { getForecastTables, MAX_ACTIVE_WEIGHTS, type Workspace } from "./workspace.ts";

/**
 * Under each likely hypothesis. Tables are indexed by `slot * shares.length + hypothesis`, and lie in the model's workspace, so
 * the model's next forecast ends this one.
 */
export interface Forecast {
  /** Earliest first. */
  slots: readonly number[];
  /** Sum to 1. */
  shares: Float64Array;
  /** As the very next retry. */
  chances: Float64Array;
  /** When the answer arrives, for a debit the end of its booking day. Null: at once. */
  answeredAt: Float64Array | null;
  nextChances: Float64Array;
  /** Twice per index: without new pay since the retry before, and with it. Valid after `computeLaterChances`. */
  laterChances: Float64Array;
  /** Last pay day; 0 if the hypothesis is not about pay. */
  paidOn: Int32Array;
  computeLaterChances(slots: readonly number[]): void;
  workspace: Workspace;
  /** Whether the tables are still this forecast's. */
  isLatest(): boolean;
}

/** Leaves out cycles below this share among all cycles, and other passing causes below it among all but "never". */
const MIN_SHARE = 0.006;
/** Between later retries. */
const USUAL_GAP_MS = 3.5 * DAY_MS;

interface ForecastInput {
  model: LearnedModel;
  posterior: CasePosterior;
  slots: readonly number[];
  /** Cycles first; `cycles`: how many. */
  likelyIndices: readonly number[];
  cycles: number;
  /** By slot, without the hypothesis's weight: as the very next and as a later retry, and their `uncertaintyScale`. */
  scores: Float64Array;
  laterScores: Float64Array;
  scales: Float64Array;
  /** Added at a slot with new pay; indexed as the tables. */
  cells: Int32Array;
}

/** @param slots  earliest first */
export function buildForecast(model: LearnedModel, posterior: CasePosterior, slots: readonly number[]): Forecast {
  const { mean } = model;
  const lastDay = settlementDay(posterior.clock, posterior.lastTriedAt);
  const end = settlementDay(posterior.clock, slots.at(-1) ?? posterior.lastTriedAt);
  const { likelyIndices, shares, cycles } = selectLikely(posterior, lastDay, end);
  const width = likelyIndices.length;
  const { workspace } = model;
  const { nextChances, laterChances, paidOn, cycleCells } = getForecastTables(workspace, slots.length * width);
  const forecastNumber = ++workspace.forecastCount;
  const kindCells = new Int32Array(cycles);
  const lastPaidOn = new Int32Array(cycles);
  const chances = new Float64Array(slots.length);
  const then = daysSincePay(lastDay);
  for (let k = 0; k < cycles; k++) {
    kindCells[k] = sincePayCell(posterior.standing, PAID_BETWEEN.fresh, KIND_BY_CYCLE[likelyIndices[k]!]!, 0);
    lastPaidOn[k] = lastDay - then.row[then.from + likelyIndices[k]!]!;
  }
  const { scores: slotScores, laterScores, scales: slotScales } = scoreSlots(model, posterior, slots);
  for (let s = 0; s < slots.length; s++) {
    const at = slots[s]!;
    const score = slotScores[s]!;
    const scale = slotScales[s]!;
    const day = settlementDay(posterior.clock, at);
    const { row, from } = daysSincePay(day);
    const bins = sincePayBins(settlementHour(posterior.clock, at));
    let chance = 0;
    let cellIndex = s * width;
    for (let k = 0; k < cycles; k++, cellIndex++) {
      const since = row[from + likelyIndices[k]!]!;
      const cell = kindCells[k]! + bins[since]!;
      const paid = day - since;
      paidOn[cellIndex] = paid;
      cycleCells[cellIndex] = cell;
      const p = normalCdf((score + mean[paid === lastPaidOn[k] ? cell + FRESH_TO_SAME_OFFSET : cell]!) * scale);
      nextChances[cellIndex] = p;
      chance += shares[k]! * p;
    }
    for (let k = cycles; k < width; k++, cellIndex++) {
      const p = normalCdf((score + mean[otherCell(posterior, likelyIndices[k]!, at)]!) * scale);
      paidOn[cellIndex] = 0;
      nextChances[cellIndex] = p;
      chance += shares[k]! * p;
    }
    chances[s] = chance;
  }
  const input = {
    model,
    posterior,
    slots,
    likelyIndices,
    cycles,
    scores: slotScores,
    laterScores,
    scales: slotScales,
    cells: cycleCells,
  };
  const isForeseen = new Uint8Array(slots.length);
  const computeLaterChances = (someSlots: readonly number[]) => {
    for (const slot of someSlots) if (isForeseen[slot]! === 0) fillLaterChances(input, slot, laterChances);
    for (const slot of someSlots) isForeseen[slot] = 1;
  };
  return {
    slots,
    shares,
    chances,
    answeredAt: answerTimes(posterior, slots),
    nextChances,
    laterChances,
    paidOn,
    computeLaterChances,
    workspace,
    isLatest: () => workspace.forecastCount === forecastNumber,
  };
}

function answerTimes({ clock }: CasePosterior, slots: readonly number[]) {
  if (clock.booking === IMMEDIATE) return null;
  return Float64Array.from(slots, (at) => settlementDayEnd(clock, at));
}

// No closure, like all long functions here: V8 discards its optimized code with the next forecast.
function fillLaterChances(
  { model, posterior, slots, likelyIndices, cycles, laterScores, scales, cells }: ForecastInput,
  slot: number,
  laterChances: Float64Array,
) {
  const { mean } = model;
  const width = likelyIndices.length;
  const score = laterScores[slot]!;
  const scale = scales[slot]!;
  let cellIndex = slot * width;
  for (let k = 0; k < cycles; k++, cellIndex++) {
    const cell = cells[cellIndex]!;
    laterChances[2 * cellIndex] = normalCdf((score + mean[cell + FRESH_TO_SAME_OFFSET]!) * scale);
    laterChances[2 * cellIndex + 1] = normalCdf((score + mean[cell]!) * scale);
  }
  const at = slots[slot]!;
  for (let k = cycles; k < width; k++, cellIndex++) {
    const p = normalCdf((score + mean[otherCell(posterior, likelyIndices[k]!, at)]!) * scale);
    laterChances[2 * cellIndex] = laterChances[2 * cellIndex + 1] = p;
  }
}

function scoreSlots({ mean, variance }: LearnedModel, posterior: CasePosterior, slots: readonly number[]) {
  const slotScores = new Float64Array(slots.length);
  const laterSlotScores = new Float64Array(slots.length);
  const slotScales = new Float64Array(slots.length);
  const weightIndices = new Int32Array(MAX_ACTIVE_WEIGHTS);
  let shared = 0;
  let unknown = CELL_VARIANCE;
  const knownCount = writeCaseWeights(posterior, weightIndices);
  for (let n = 0; n < knownCount; n++) {
    shared += mean[weightIndices[n]!]!;
    unknown += variance[weightIndices[n]!]!;
  }
  const rowScores = sumRows(mean, posterior.rows);
  const rowSpreads = sumRows(variance, posterior.rows);
  const classIndex = classOf(posterior.reason);
  const laterTries =
    mean[attemptsWeight(classIndex, posterior.retryCount + 1)]! -
    mean[attemptsWeight(classIndex, posterior.retryCount)]!;
  const usualGap = mean[gapWeight(classIndex, USUAL_GAP_MS)]!;
  for (let s = 0; s < slots.length; s++) {
    const at = slots[s]!;
    const count = writeHistoryWeights(
      posterior,
      at,
      weightIndices,
      writeCalendarWeights(classIndex, posterior.clock, at, weightIndices, 0),
    );
    let score = shared;
    let spread = unknown;
    for (let n = 0; n < count; n++) {
      score += mean[weightIndices[n]!]!;
      spread += variance[weightIndices[n]!]!;
    }
    const columns = columnsAt(posterior, at);
    for (let n = 0; n < columns.length; n++) {
      score += rowScores[columns[n]!]!;
      spread += rowSpreads[columns[n]!]!;
    }
    slotScores[s] = score;
    slotScales[s] = uncertaintyScale(spread);
    // As for the very next retry: in training, a longer wait was also a later time, so rows cannot separate the two.
    laterSlotScores[s] = score + laterTries + usualGap - mean[gapWeight(classIndex, at - posterior.lastTriedAt)]!;
    // By then, the next retry says more than the other invoice's charge.
    if (posterior.otherCharge)
      laterSlotScores[s]! -= mean[otherInvoiceWeight(posterior.otherCharge.approved, at - posterior.otherCharge.at)]!;
  }
  return { scores: slotScores, laterScores: laterSlotScores, scales: slotScales };
}

function sumRows(numbers: Float64Array, rows: Int32Array): Float64Array {
  const sums = new Float64Array(ROW_WIDTH);
  for (let n = 0; n < rows.length; n++) {
    const row = rows[n]!;
    for (let column = 0; column < ROW_WIDTH; column++) sums[column]! += numbers[row + column]!;
  }
  return sums;
}

/**
 * Cycles first; those with the same pay days within the slots count as one. Unlikely hypotheses leave their shares to their
 * family: if the outlook is poor, these are most of the remaining chance.
 */
function selectLikely({ shares }: CasePosterior, from: number, to: number) {
  const twins = findEqualCycles(from, to);
  let paid = 0;
  const mergedShares = new Float64Array(CYCLE_COUNT);
  const mergedInto = new Int32Array(CYCLE_COUNT);
  for (let c = 0; c < CYCLE_COUNT; c++) {
    const twin = twins[c]!;
    if (twin === c || shares[c]! > shares[mergedInto[twin]!]!) mergedInto[twin] = c;
    mergedShares[twin]! += shares[c]!;
    paid += shares[c]!;
  }
  const likelyIndices: number[] = [];
  const keptShares: number[] = [];
  for (let c = 0; c < CYCLE_COUNT; c++) {
    if (twins[c] !== c || mergedShares[c]! < MIN_SHARE * paid) continue;
    likelyIndices.push(mergedInto[c]!);
    keptShares.push(mergedShares[c]!);
  }
  const cycles = likelyIndices.length;
  scaleToSum(keptShares, 0, paid);
  let passes = 0;
  let likeliest = CYCLE_COUNT;
  for (let e = CYCLE_COUNT; e < NEVER_HYPOTHESIS; e++) {
    passes += shares[e]!;
    if (shares[e]! > shares[likeliest]!) likeliest = e;
  }
  for (let e = CYCLE_COUNT; e < NEVER_HYPOTHESIS; e++) {
    if (shares[e]! < MIN_SHARE * (paid + passes) && e !== likeliest) continue;
    likelyIndices.push(e);
    keptShares.push(shares[e]!);
  }
  scaleToSum(keptShares, cycles, passes);
  likelyIndices.push(NEVER_HYPOTHESIS);
  keptShares.push(shares[NEVER_HYPOTHESIS]!);
  return { likelyIndices, shares: Float64Array.from(keptShares), cycles };
}

/** All zeros stay zero. */
function scaleToSum(numbers: number[], from: number, sum: number) {
  let before = 0;
  for (let n = from; n < numbers.length; n++) before += numbers[n]!;
  if (before === 0) return;
  for (let n = from; n < numbers.length; n++) numbers[n]! *= sum / before;
}

const equalCyclesByDays = new Map<string, Uint8Array>();
/** Cases of one day share their ranges. */
const MAX_EQUAL_CYCLES = 1000;

/** Maps each cycle to the first with the same pay days, compared on five days. */
function findEqualCycles(from: number, to: number): Uint8Array {
  const key = `${from}:${to}`;
  let twins = equalCyclesByDays.get(key);
  if (!twins) {
    if (equalCyclesByDays.size >= MAX_EQUAL_CYCLES) equalCyclesByDays.clear();
    const days = [from, from + ((to - from) >> 2), (from + to) >> 1, to - ((to - from) >> 2), to].map(daysSincePay);
    const alike = new Map<number, number>();
    twins = Uint8Array.from({ length: CYCLE_COUNT }, (_, c) => {
      let signature = KIND_BY_CYCLE[c]!;
      for (const { row, from: at } of days) signature = signature * (MAX_CYCLE_DAYS + 1) + row[at + c]!;
      if (!alike.has(signature)) alike.set(signature, c);
      return alike.get(signature)!;
    });
    equalCyclesByDays.set(key, twins);
  }
  return twins;
}
