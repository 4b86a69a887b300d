import { writeCalendarWeights, writeRetryWeights } from "./active-weights.ts";
import {
  AMPLE_FUNDS,
  type CasePosterior,
  type CustomerPosterior,
  cycleShares,
  fillFirstChargeCells,
  fillRetryCells,
  latestAttempts,
} from "./case-posterior.ts";
import { isAboutAccount, recordCharge } from "./date-outcomes.ts";
import { HYPOTHESIS_COUNT, KIND_COUNT, kindOf, reasonRow } from "./hypotheses.ts";
import type { LearnedModel } from "./learned-model.ts";
import { REASONS, type Reason, WEIGHT_STARTS } from "./model-layout.ts";
import { normalCdf } from "./normal-distribution.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";
import { type BankClock, settlementDay } from "./settlement.ts";
import type { Observation } from "./workspace.ts";

/** Back toward the country's pay cycles, per outcome: people change jobs. */
const FORGET_RATE = 0.004;
/** Each invoice reduces `ample`: a customer who always had enough may run short. */
const AMPLE_FORGET_RATE = 0.02;
const MIN_AMPLE_SHARE = 0.002;
/** Rough. */
export const CELL_VARIANCE = 0.02;
const MIN_CHANCE = 1e-5;

/** A write beyond the end of `indices` is lost; a read there is NaN, which one update would spread over the model. */
function assertWeightCount({ count, indices }: Observation) {
  if (count > indices.length)
    throw new RangeError(`an outcome of ${count} weights; at most ${indices.length} are supported`);
}

function fillObservation(observation: Observation, posterior: CasePosterior, at: number) {
  observation.count = writeRetryWeights(posterior, at, observation.indices);
  assertWeightCount(observation);
  fillRetryCells(posterior, at, observation.cells);
}

function sumWeights({ mean, variance, workspace }: LearnedModel): { score: number; spread: number } {
  const { indices, count } = workspace.observation;
  let score = 0;
  let spread = CELL_VARIANCE;
  for (let n = 0; n < count; n++) {
    score += mean[indices[n]!]!;
    spread += variance[indices[n]!]!;
  }
  return { score, spread };
}

/**
 * Scales a score down for uncertain weights.
 *
 * @param spread  their variances' sum
 */
export const uncertaintyScale = (spread: number) => 1 / Math.sqrt(1 + spread);

/**
 * Approval probability before calibration, as `observeRetry` returns and calibration learns from. A forecast is no substitute: it
 * leaves out unlikely hypotheses.
 */
export function chanceOf(model: LearnedModel, posterior: CasePosterior, at: number): number {
  const { mean, workspace } = model;
  const { cells } = workspace.observation;
  fillObservation(workspace.observation, posterior, at);
  const { score, spread } = sumWeights(model);
  const scale = uncertaintyScale(spread);
  let chance = 0;
  let sum = 0;
  for (let e = 0; e < HYPOTHESIS_COUNT; e++) {
    chance += posterior.shares[e]! * normalCdf((score + mean[cells[e]!]!) * scale);
    sum += posterior.shares[e]!;
  }
  return chance / sum;
}

/**
 * @param shares  replaced by the posterior
 * @returns the prior probability of an approval
 */
function updateShares(model: LearnedModel, shares: Float64Array, explanations: number, approved: boolean): number {
  const { observation } = model.workspace;
  const { cells, scores } = observation;
  const { score: sharedScore, spread } = sumWeights(model);
  const scale = uncertaintyScale(spread);
  const sign = approved ? 1 : -1;
  let total = 0;
  let sum = 0;
  for (let e = 0; e < explanations; e++) {
    const score = sign * (sharedScore + model.mean[cells[e]!]!) * scale;
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
 * @param reason  null: approved
 * @returns false if it shows nothing about the account, as with a lost card or a bank that was down
 */
export function observeFirstCharge(
  model: LearnedModel,
  customer: CustomerPosterior,
  features: Int32Array,
  clock: BankClock,
  at: number,
  reason: Reason | null,
): boolean {
  recordCharge(customer.charges, settlementDay(clock, at), at, reason);
  if (reason !== null && reason !== "FUNDS" && reason !== "GENERIC" && reason !== "UNKNOWN") return false;
  const { observation, cyclesAfter } = model.workspace;
  observation.indices[0] = WEIGHT_STARTS.reason;
  observation.indices.set(features, 1);
  observation.count = writeCalendarWeights(0, clock, at, observation.indices, 1 + features.length);
  assertWeightCount(observation);
  fillFirstChargeCells(clock, at, observation.cells);
  const shares = observation.shares;
  for (let c = 0; c < CYCLE_COUNT; c++) shares[c] = (1 - customer.ample) * customer.cycles[c]!;
  shares[AMPLE_FUNDS] = customer.ample;
  updateShares(model, shares, CYCLE_COUNT + 1, reason === null);
  // Only some of these are about money, so they count half.
  const isPlain = reason === "GENERIC" || reason === "UNKNOWN";
  const ample = isPlain ? (shares[AMPLE_FUNDS]! + customer.ample) / 2 : shares[AMPLE_FUNDS]!;
  customer.ample = MIN_AMPLE_SHARE + (1 - AMPLE_FORGET_RATE) * ample;
  cyclesAfter.set(shares.subarray(0, CYCLE_COUNT));
  if (isPlain) for (let c = 0; c < CYCLE_COUNT; c++) cyclesAfter[c] = Math.sqrt(cyclesAfter[c]! * customer.cycles[c]!);
  updateCycles(customer, cyclesAfter);
  return true;
}

/**
 * Updates the case and the customer's pay cycles.
 *
 * @param reason  null: approved
 * @returns the prior probability of an approval
 */
export function observeRetry(
  model: LearnedModel,
  customer: CustomerPosterior,
  posterior: CasePosterior,
  at: number,
  reason: Reason | null,
): number {
  recordCharge(customer.charges, settlementDay(posterior.clock, at), at, reason);
  const { observation, cyclesBefore, cyclesAfter } = model.workspace;
  cycleShares(posterior, cyclesBefore);
  fillObservation(observation, posterior, at);
  const { shares } = observation;
  shares.set(posterior.shares);
  const chance = updateShares(model, shares, HYPOTHESIS_COUNT, reason === null);
  posterior.shares.set(shares);
  if (reason !== null && reason !== posterior.reason) shiftToReason(model, posterior, reason);
  cycleShares(posterior, cyclesAfter);
  for (let c = 0; c < CYCLE_COUNT; c++)
    cyclesAfter[c] = (customer.cycles[c]! * cyclesAfter[c]!) / Math.max(1e-9, cyclesBefore[c]!);
  updateCycles(customer, cyclesAfter);
  posterior.retryCount++;
  posterior.otherCharge = null;
  posterior.lastTriedAt = at;
  posterior.recent = latestAttempts([...posterior.recent, at]);
  return chance;
}

/** Otherwise a customer charged every hour would have the next retry postponed forever. */
export const MAX_OTHER_INVOICE_CHARGES = 8;

/**
 * It shows whether there is money now, and when the customer is paid.
 *
 * @param reason  null: approved
 * @param before  pay cycle probabilities before that charge
 * @param after  and after it
 */
export function observeOtherInvoice(
  posterior: CasePosterior,
  at: number,
  reason: Reason | null,
  before: Float64Array,
  after: Float64Array,
) {
  posterior.recent = latestAttempts([...posterior.recent, at]);
  if (!isAboutAccount(reason)) return;
  const count = (posterior.otherCharge?.count ?? 0) + 1;
  if (count > MAX_OTHER_INVOICE_CHARGES) return;
  posterior.otherCharge = { at, approved: reason === null, count };
  shiftCycles(posterior.shares, before, after);
  shiftCycles(posterior.cyclesBefore, before, after);
}

/** Keeps the sum. */
function shiftCycles(cycles: Float64Array, before: Float64Array, after: Float64Array) {
  let total = 0;
  let shifted = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) {
    total += cycles[c]!;
    cycles[c]! *= after[c]! / Math.max(1e-9, before[c]!);
    shifted += cycles[c]!;
  }
  if (shifted > 0) for (let c = 0; c < CYCLE_COUNT; c++) cycles[c]! *= total / shifted;
}

/** Raises the hypotheses that are common with the new reason. */
function shiftToReason(model: LearnedModel, posterior: CasePosterior, reason: Reason) {
  const counts = model.kinds;
  const row = reasonRow(reason);
  const factor = new Float64Array(KIND_COUNT);
  for (let kind = 0; kind < KIND_COUNT; kind++) {
    let all = 0;
    for (let r = 1; r < REASONS.length; r++) all += counts[r * KIND_COUNT + kind]!;
    factor[kind] = Math.max(0.02, counts[row + kind]! / all);
  }
  let total = 0;
  for (let e = 0; e < HYPOTHESIS_COUNT; e++) {
    posterior.shares[e]! *= factor[kindOf(e)]!;
    total += posterior.shares[e]!;
  }
  for (let e = 0; e < HYPOTHESIS_COUNT; e++) posterior.shares[e]! /= total;
  posterior.reason = reason;
}

/** Mixes in a small share of the country's cycles. */
function updateCycles(customer: CustomerPosterior, newCycles: Float64Array) {
  let total = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) total += newCycles[c]!;
  const { usualCycles, cycles } = customer;
  for (let c = 0; c < CYCLE_COUNT; c++)
    cycles[c] = (1 - FORGET_RATE) * (newCycles[c]! / total) + FORGET_RATE * usualCycles[c]!;
}
