import { calibrationIndex, learnCalibration } from "./calibrate.ts";
import { type CasePosterior, type CustomerPosterior, kindShares } from "./case-posterior.ts";
import { countFirstRetry } from "./first-retry-counts.ts";
import { FAMILIES, familyOfKind, KIND_COUNT, reasonRow } from "./hypotheses.ts";
import { COUNTRY_START_COUNT, type LearnedModel, shiftIndex } from "./learned-model.ts";
import { loosenStiffGroups, recordStrain } from "./loosen-weights.ts";
import { type Reason, WEIGHT_STARTS } from "./model-layout.ts";
import { logCdfSlope } from "./normal-distribution.ts";
import { observeFirstCharge, observeRetry } from "./observe.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";
import type { BankClock } from "./settlement.ts";

/** So that old data fades. */
const MIN_VARIANCE = 0.0001;
/** By reason. */
const MAX_KIND_COUNT = 1500;
const MAX_CYCLE_COUNT = 6000;
/** Only about this share of a posterior comes from observations. */
const CUSTOMER_WEIGHT = 0.2;
/** A feature's step is RATE / (DELAY + times seen ^ 0.8): small, since a case's features all move together. */
const SHIFT_RATE = 0.15;
const SHIFT_DELAY = 25;
/** One feature changes a family's odds by at most e to the power of this. */
const MAX_SHIFT = 1.5;
const MAX_AVERAGED_RETRIES = 1000;
/** Smaller hypotheses do not affect the weights. */
const MIN_SHARE = 1e-4;

/**
 * Moves the weights by one step of assumed-density filtering on the latest observation. The outcome is a probit of the scores.
 * Each hypothesis adds the weight of its own cell (`cells`) to the shared weights (`indices`), which gives its score (`scores`).
 * Its posterior probability (`shares`) says how much of the step it causes: its cell moves by this part, and the shared weights
 * move by the mean over all hypotheses.
 */
function moveWeights(model: LearnedModel) {
  const { observation, firstDerivatives, secondDerivatives } = model.workspace;
  const { indices, count, cells, scores, shares, hypotheses, scale, approved } = observation;
  const sign = approved ? 1 : -1;
  let gradient = 0;
  let curvature = 0;
  for (let hypothesis = 0; hypothesis < hypotheses; hypothesis++) {
    const share = shares[hypothesis]!;
    if (share < MIN_SHARE) continue;
    const cell = cells[hypothesis]!;
    const score = scores[hypothesis]!;
    const slope = logCdfSlope(score);
    const gradientPart = share * sign * slope;
    const curvaturePart = share * slope * (slope + score);
    gradient += gradientPart;
    curvature += curvaturePart;
    firstDerivatives[cell]! += gradientPart;
    secondDerivatives[cell]! += curvaturePart;
  }
  for (let n = 0; n < count; n++) {
    recordStrain(model, indices[n]!, gradient * scale);
    moveWeight(model, indices[n]!, gradient * scale, curvature * scale * scale);
  }
  for (let hypothesis = 0; hypothesis < hypotheses; hypothesis++) {
    const cell = cells[hypothesis]!;
    if (secondDerivatives[cell] === 0) continue;
    moveWeight(model, cell, firstDerivatives[cell]! * scale, secondDerivatives[cell]! * scale * scale);
    firstDerivatives[cell] = secondDerivatives[cell] = 0;
  }
  loosenStiffGroups(model);
}

function moveWeight({ mean, variance }: LearnedModel, index: number, gradient: number, curvature: number) {
  const before = variance[index]!;
  mean[index]! += before * gradient;
  variance[index] = Math.max(MIN_VARIANCE, before * (1 - Math.min(0.9, before * curvature)));
}

/** The country's pay cycles learn from retries only: most first charges are approved on any day. */
export function learnFirstCharge(
  model: LearnedModel,
  customer: CustomerPosterior,
  features: Int32Array,
  clock: BankClock,
  at: number,
  reason: Reason | null,
) {
  if (observeFirstCharge(model, customer, features, clock, at, reason)) moveWeights(model);
}

/**
 * Counts a new case with the shares counted so far; outcomes then move the counts. Counting the case's posterior would count the
 * effect of its features twice, until one kind displaces all others.
 */
export function learnCase(model: LearnedModel, posterior: CasePosterior) {
  const counts = kindCountsOf(model, posterior);
  for (const classCounts of counts) addCase(classCounts, counts[0]!);
}

/** Views, not copies. */
const kindCountsOf = ({ kinds }: LearnedModel, { firstReason, codeRow }: CasePosterior) =>
  (codeRow === null ? [reasonRow(firstReason)] : [reasonRow(firstReason), codeRow]).map((row) =>
    kinds.subarray(row, row + KIND_COUNT),
  );

/** @param initialCounts  give the shares of the first case */
function addCase(counts: Float64Array, initialCounts: Float64Array) {
  if (sumCounts(counts) === 0) counts.set(initialCounts.map((count) => count / sumCounts(initialCounts)));
  else addCounts(counts, 1, MAX_KIND_COUNT);
}

/** The sum grows by `added`, up to `most`. */
function addCounts(counts: Float64Array, added: number, most: number) {
  const total = sumCounts(counts);
  const growth = Math.min(most, total + added) / total;
  for (let n = 0; n < counts.length; n++) counts[n]! *= growth;
}

const sumCounts = (counts: Float64Array) => counts.reduce((sum, count) => sum + count, 0);

/**
 * Learns the weights, the case, the customer's pay cycles, and each cause's frequency.
 *
 * @param reason  null: approved
 * @returns the prior probability of an approval
 */
export function learnRetry(
  model: LearnedModel,
  customer: CustomerPosterior,
  posterior: CasePosterior,
  at: number,
  reason: Reason | null,
): number {
  if (posterior.retryCount === 0) countFirstRetry(model, posterior, at);
  const kindsBefore = new Float64Array(KIND_COUNT);
  kindShares(posterior, kindsBefore);
  const cyclesBefore = customer.cycles.slice();
  const groupIndex = calibrationIndex(posterior);
  const chance = observeRetry(model, customer, posterior, at, reason);
  moveWeights(model);
  learnCalibration(model, groupIndex, chance, reason === null);
  learnKinds(model, posterior, kindsBefore);
  countCycles(model, customer, cyclesBefore);
  countRetry(model, reason === null);
  return chance;
}

function countRetry({ tries }: LearnedModel, approved: boolean) {
  const count = Math.min(MAX_AVERAGED_RETRIES, tries[1]! + 1);
  tries[0]! += (Number(approved) - tries[0]!) / count;
  tries[1] = count;
}

function learnKinds(model: LearnedModel, posterior: CasePosterior, before: Float64Array) {
  const kindsAfter = new Float64Array(KIND_COUNT);
  kindShares(posterior, kindsAfter);
  const families = FAMILIES.map(() => 0);
  const counts = kindCountsOf(model, posterior);
  for (let kind = 0; kind < KIND_COUNT; kind++) {
    const change = kindsAfter[kind]! - before[kind]!;
    for (const classCounts of counts) classCounts[kind] = Math.max(0.01, classCounts[kind]! + change);
    families[familyOfKind(kind)]! += change;
  }
  for (const name of posterior.features) {
    const seen = model.seen[name - WEIGHT_STARTS.name]!++;
    const step = SHIFT_RATE / (SHIFT_DELAY + seen ** 0.8);
    const at = shiftIndex(name);
    for (let family = 0; family < families.length; family++) {
      const shift = model.shifts[at + family]! + step * families[family]!;
      model.shifts[at + family] = Math.max(-MAX_SHIFT, Math.min(MAX_SHIFT, shift));
    }
  }
}

/** Follows the customer's posterior. */
function countCycles(model: LearnedModel, customer: CustomerPosterior, before: Float64Array) {
  const cycleCounts = countryCycles(model, customer);
  for (let c = 0; c < CYCLE_COUNT; c++) {
    const change = customer.cycles[c]! - before[c]!;
    cycleCounts[c] = Math.max(0, cycleCounts[c]! + change);
    model.cycles[c] = Math.max(0.01, model.cycles[c]! + change);
  }
}

function countryCycles(model: LearnedModel, { country, usualCycles }: CustomerPosterior): Float64Array {
  const cycleCounts = model.countryCycles.get(country) ?? usualCycles.map((chance) => chance * COUNTRY_START_COUNT);
  model.countryCycles.set(country, cycleCounts);
  return cycleCounts;
}

/**
 * At the first failure, with the country's pay cycles. The customer's own posterior is mostly the prior and would keep the counts
 * from changing.
 */
export function countCustomer(model: LearnedModel, customer: CustomerPosterior) {
  for (const counts of [countryCycles(model, customer), model.cycles])
    addCounts(counts, CUSTOMER_WEIGHT, MAX_CYCLE_COUNT);
}
