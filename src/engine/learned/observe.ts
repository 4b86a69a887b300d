import { writeCalendarWeights, writeCaseWeights, writeRetryWeights, writeTimeWeights } from "./active-weights.ts";
import {
  AMPLE_FUNDS,
  type CasePosterior,
  type CustomerPosterior,
  computeOtherEffectChances,
  cycleShares,
  fillFirstChargeCells,
  fillRetryCells,
  latestAttempts,
  otherEffectOf,
} from "./case-posterior.ts";
import { isAboutAccount, recordCharge } from "./date-outcomes.ts";
import { HYPOTHESIS_COUNT, KIND_COUNT, kindOf, reasonRow } from "./hypotheses.ts";
import type { LearnedModel } from "./learned-model.ts";
import {
  FRESH_TO_SAME_OFFSET,
  PAID_BETWEEN,
  REASONS,
  type Reason,
  sincePayBins,
  sincePayCell,
  WEIGHT_STARTS,
} from "./model-layout.ts";
import { normalCdf } from "./normal-distribution.ts";
import { CYCLE_COUNT, daysSincePay, KIND_BY_CYCLE } from "./pay-cycles.ts";
import { type BankClock, settlementDay, settlementHour } from "./settlement.ts";
import { type Observation, PAY_CELL_COUNT } from "./workspace.ts";

/** Whatever a customer has shown so far, this much of it is forgotten at each outcome, back to what is usual: people change jobs. */
const FORGET_RATE = 0.004;
/** Whose money covered every bill may be short one day: so much of that belief is forgotten at each bill, and so much is always left. */
const AMPLE_FORGET_RATE = 0.02;
const MIN_AMPLE_SHARE = 0.002;
/** What is not known of the weight that an explanation adds, roughly. */
export const CELL_VARIANCE = 0.02;
/** No outcome is held to be less likely than this. */
const MIN_CHANCE = 1e-5;

/** A write beyond the end of `indices` is lost, and a read there is NaN, which one update would spread over the model. */
function assertWeightCount({ count, indices }: Observation) {
  if (count > indices.length)
    throw new RangeError(`an outcome of ${count} weights; at most ${indices.length} are supported`);
}

/** Describes a retry in `observation`. */
function fillObservation(observation: Observation, belief: CasePosterior, at: number) {
  observation.count = writeRetryWeights(belief, at, observation.indices);
  assertWeightCount(observation);
  fillRetryCells(belief, at, observation.cells);
}

/** What the weights that count whatever the explanation add up to, and what is not known of them. */
interface SharedScore {
  score: number;
  spread: number;
}

const NO_SCORE: SharedScore = { score: 0, spread: CELL_VARIANCE };

/** Adds the first `count` weights of the observation. */
function addWeights(
  { mean, variance, workspace }: LearnedModel,
  { score, spread }: SharedScore,
  count: number,
): SharedScore {
  const { indices } = workspace.observation;
  for (let n = 0; n < count; n++) {
    score += mean[indices[n]!]!;
    spread += variance[indices[n]!]!;
  }
  return { score, spread };
}

/** What scores are multiplied by for what is not known of their weights, whose variances sum to `spread`. */
export const uncertaintyScale = (spread: number) => 1 / Math.sqrt(1 + spread);

/** For each cycle the first of its cells, counted from the first one of a standing. */
const firstCellByCycle = Uint8Array.from(
  KIND_BY_CYCLE,
  (kind) => sincePayCell(0, 0, kind, 0) - sincePayCell(0, 0, 0, 0),
);

/**
 * Tells the chance that a try at a moment is approved, not calibrated: as `observeRetry` gives it back once it was made, which is what calibration is
 * learned from. A forecast leaves out what is unlikely, which serves to plan, but not to say a chance.
 */
export function createChanceFunction(learned: LearnedModel, belief: CasePosterior): (at: number) => number {
  const { shares, clock, lastTriedAt } = belief;
  const lastDay = settlementDay(clock, lastTriedAt);
  const then = daysSincePay(lastDay);
  const lastPaidOn = new Int32Array(CYCLE_COUNT);
  for (let c = 0; c < CYCLE_COUNT; c++) lastPaidOn[c] = lastDay - then.row[then.from + c]!;
  const ofCase = addWeights(learned, NO_SCORE, writeCaseWeights(belief, learned.workspace.observation.indices));
  let sum = 0;
  for (let e = 0; e < HYPOTHESIS_COUNT; e++) sum += shares[e]!;
  return (at) => weightedChance(learned, belief, ofCase, lastPaidOn, at) / sum;
}

/** The chance at a moment, times the sum of all shares. */
function weightedChance(
  learned: LearnedModel,
  belief: CasePosterior,
  ofCase: SharedScore,
  lastPaidOn: Int32Array,
  at: number,
): number {
  const { mean, workspace } = learned;
  const { chanceByCell, observation } = workspace;
  const { shares } = belief;
  const usual = addWeights(learned, ofCase, writeTimeWeights(belief, at, observation.indices, 0));
  const { score } = usual;
  const scale = uncertaintyScale(usual.spread);
  const first = sincePayCell(belief.standing, PAID_BETWEEN.fresh, 0, 0);
  for (let cell = 0; cell < PAY_CELL_COUNT; cell++)
    chanceByCell[cell] = normalCdf((score + mean[first + cell]!) * scale);
  const day = settlementDay(belief.clock, at);
  const bins = sincePayBins(settlementHour(belief.clock, at));
  const { row, from } = daysSincePay(day);
  let chance = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) {
    const since = row[from + c]!;
    const isSame = day - since === lastPaidOn[c];
    chance += shares[c]! * chanceByCell[firstCellByCycle[c]! + bins[since]! + (isSame ? FRESH_TO_SAME_OFFSET : 0)]!;
  }
  const others = computeOtherEffectChances(learned, belief, at, score, scale);
  for (let e = CYCLE_COUNT; e < HYPOTHESIS_COUNT; e++) chance += shares[e]! * others[otherEffectOf(belief, e, at)]!;
  return chance;
}

/** The chance at one moment: see `createChanceFunction`. */
export const chanceOf = (learned: LearnedModel, belief: CasePosterior, at: number) =>
  createChanceFunction(learned, belief)(at);

/**
 * Weigh the explanations by how well each foresaw the outcome that `look` describes.
 *
 * @param shares  the chance of each explanation before the outcome; those after it are written back
 * @returns the chance that had been given to an approval
 */
function updateShares(learned: LearnedModel, shares: Float64Array, explanations: number, approved: boolean): number {
  const { observation } = learned.workspace;
  const { cells, scores } = observation;
  const usual = addWeights(learned, NO_SCORE, observation.count);
  const scale = uncertaintyScale(usual.spread);
  const sign = approved ? 1 : -1;
  let total = 0;
  let sum = 0;
  for (let e = 0; e < explanations; e++) {
    const score = sign * (usual.score + learned.mean[cells[e]!]!) * scale;
    scores[e] = score;
    sum += shares[e]!;
    shares[e]! *= Math.max(normalCdf(score), MIN_CHANCE);
    total += shares[e]!;
  }
  for (let e = 0; e < explanations; e++) shares[e]! /= total;
  observation.hypotheses = explanations;
  observation.scale = scale;
  observation.approved = approved;
  return approved ? total / sum : 1 - total / sum;
}

/**
 * What a bill's first charge shows of a person's pay. `reason`: why it was declined; null: it was approved.
 *
 * @returns false when it shows nothing: a card that was lost or a bank that was down says nothing about the account
 */
export function observeFirstCharge(
  learned: LearnedModel,
  person: CustomerPosterior,
  names: Int32Array,
  clock: BankClock,
  at: number,
  reason: Reason | null,
): boolean {
  recordCharge(person.charges, settlementDay(clock, at), at, reason);
  if (reason !== null && reason !== "FUNDS" && reason !== "GENERIC" && reason !== "UNKNOWN") return false;
  const { observation, cyclesAfter } = learned.workspace;
  observation.indices[0] = WEIGHT_STARTS.reason;
  observation.indices.set(names, 1);
  observation.count = writeCalendarWeights(0, clock, at, observation.indices, 1 + names.length);
  assertWeightCount(observation);
  fillFirstChargeCells(clock, at, observation.cells);
  const shares = observation.shares;
  for (let c = 0; c < CYCLE_COUNT; c++) shares[c] = (1 - person.ample) * person.cycles[c]!;
  shares[AMPLE_FUNDS] = person.ample;
  updateShares(learned, shares, CYCLE_COUNT + 1, reason === null);
  // Only some of the plain refusals are about money, so they count half.
  const isPlain = reason === "GENERIC" || reason === "UNKNOWN";
  const ample = isPlain ? (shares[AMPLE_FUNDS]! + person.ample) / 2 : shares[AMPLE_FUNDS]!;
  person.ample = MIN_AMPLE_SHARE + (1 - AMPLE_FORGET_RATE) * ample;
  cyclesAfter.set(shares.subarray(0, CYCLE_COUNT));
  if (isPlain) for (let c = 0; c < CYCLE_COUNT; c++) cyclesAfter[c] = Math.sqrt(cyclesAfter[c]! * person.cycles[c]!);
  updateCycles(person, cyclesAfter);
  return true;
}

/**
 * What a try shows of its case and of the person's pay: both are changed.
 *
 * @param reason  why it failed; null: it was approved
 * @returns the chance that had been given to an approval
 */
export function observeRetry(
  learned: LearnedModel,
  person: CustomerPosterior,
  belief: CasePosterior,
  at: number,
  reason: Reason | null,
): number {
  recordCharge(person.charges, settlementDay(belief.clock, at), at, reason);
  const { observation, cyclesBefore, cyclesAfter } = learned.workspace;
  cycleShares(belief, cyclesBefore);
  fillObservation(observation, belief, at);
  const { shares } = observation;
  shares.set(belief.shares);
  const chance = updateShares(learned, shares, HYPOTHESIS_COUNT, reason === null);
  belief.shares.set(shares);
  if (reason !== null && reason !== belief.reason) shiftToReason(learned, belief, reason);
  cycleShares(belief, cyclesAfter);
  for (let c = 0; c < CYCLE_COUNT; c++)
    cyclesAfter[c] = (person.cycles[c]! * cyclesAfter[c]!) / Math.max(1e-9, cyclesBefore[c]!);
  updateCycles(person, cyclesAfter);
  belief.tries++;
  belief.beside = null;
  belief.lastTriedAt = at;
  belief.recent = latestAttempts([...belief.recent, at]);
  return chance;
}

/** More charges of other bills between two tries tell nothing new: else who is charged each hour would have the next try put off without end. */
export const MAX_OTHER_INVOICE_CHARGES = 8;

/**
 * What a charge of another bill of the customer shows of an open case: whether there is money now, and how the person is paid.
 *
 * @param reason  why it failed; null: it was approved
 * @param before  how likely each pay cycle was held to be the person's before that charge, and `after` it
 */
export function observeOtherInvoice(
  belief: CasePosterior,
  at: number,
  reason: Reason | null,
  before: Float64Array,
  after: Float64Array,
) {
  belief.recent = latestAttempts([...belief.recent, at]);
  if (!isAboutAccount(reason)) return;
  const count = (belief.beside?.count ?? 0) + 1;
  if (count > MAX_OTHER_INVOICE_CHARGES) return;
  belief.beside = { at, approved: reason === null, count };
  shiftCycles(belief.shares, before, after);
  shiftCycles(belief.cyclesBefore, before, after);
}

/** As much likelier or less as the person's pay cycles became; together they are as likely as they were. */
function shiftCycles(cycles: Float64Array, before: Float64Array, after: Float64Array) {
  let whole = 0;
  let shifted = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) {
    whole += cycles[c]!;
    cycles[c]! *= after[c]! / Math.max(1e-9, before[c]!);
    shifted += cycles[c]!;
  }
  if (shifted > 0) for (let c = 0; c < CYCLE_COUNT; c++) cycles[c]! *= whole / shifted;
}

/** Another reason than before: explanations that such a reason often has become likelier. */
function shiftToReason(learned: LearnedModel, belief: CasePosterior, reason: Reason) {
  const counts = learned.kinds;
  const row = reasonRow(reason);
  const factor = new Float64Array(KIND_COUNT);
  for (let kind = 0; kind < KIND_COUNT; kind++) {
    let all = 0;
    for (let r = 1; r < REASONS.length; r++) all += counts[r * KIND_COUNT + kind]!;
    factor[kind] = Math.max(0.02, counts[row + kind]! / all);
  }
  let total = 0;
  for (let e = 0; e < HYPOTHESIS_COUNT; e++) {
    belief.shares[e]! *= factor[kindOf(e)]!;
    total += belief.shares[e]!;
  }
  for (let e = 0; e < HYPOTHESIS_COUNT; e++) belief.shares[e]! /= total;
  belief.reason = reason;
}

/** The person's cycles become `next`, but for the little that is always forgotten. */
function updateCycles(person: CustomerPosterior, next: Float64Array) {
  let total = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) total += next[c]!;
  const { usual, cycles } = person;
  for (let c = 0; c < CYCLE_COUNT; c++) cycles[c] = (1 - FORGET_RATE) * (next[c]! / total) + FORGET_RATE * usual[c]!;
}
