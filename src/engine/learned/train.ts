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

/** Lower bound, so that old data fades and the model follows changes. */
const MIN_VARIANCE = 0.0001;
/** By reason. */
const MAX_KIND_COUNT = 1500;
const MAX_CYCLE_COUNT = 6000;
/** Only about this share of a typical posterior comes from observations. */
const CUSTOMER_WEIGHT = 0.2;
/**
 * A feature's step is RATE / (DELAY + times seen ^ 0.8): small, since a case has about twenty features, which all move together.
 */
const SHIFT_RATE = 0.15;
const SHIFT_DELAY = 25;
/** One feature changes a family's odds by at most e to the power of this. */
const MAX_SHIFT = 1.5;
/** The approval rate is a mean over about this many of the latest retries. */
const MAX_AVERAGED_RETRIES = 1000;
/** Hypotheses with a smaller share do not affect the weights. */
const MIN_SHARE = 1e-4;

/**
 * One step of assumed-density filtering on the latest observation: a probit whose last input is a mixture. Each hypothesis is
 * responsible in proportion to its likelihood, and the weights move by the mean over hypotheses.
 */
function moveWeights(learned: LearnedModel) {
  const { observation, firstDerivatives, secondDerivatives } = learned.workspace;
  const { indices, count, cells, scores, shares, hypotheses, scale, approved } = observation;
  const sign = approved ? 1 : -1;
  let g = 0;
  let h = 0;
  for (let e = 0; e < hypotheses; e++) {
    const share = shares[e]!;
    if (share < MIN_SHARE) continue;
    const z = scores[e]!;
    const v = logCdfSlope(z);
    const dg = share * sign * v;
    const dh = share * v * (v + z);
    g += dg;
    h += dh;
    firstDerivatives[cells[e]!]! += dg;
    secondDerivatives[cells[e]!]! += dh;
  }
  for (let n = 0; n < count; n++) {
    recordStrain(learned, indices[n]!, g * scale);
    moveWeight(learned, indices[n]!, g * scale, h * scale * scale);
  }
  for (let e = 0; e < hypotheses; e++) {
    const cell = cells[e]!;
    if (secondDerivatives[cell] === 0) continue;
    moveWeight(learned, cell, firstDerivatives[cell]! * scale, secondDerivatives[cell]! * scale * scale);
    firstDerivatives[cell] = secondDerivatives[cell] = 0;
  }
  loosenStiffGroups(learned);
}

function moveWeight({ mean, variance }: LearnedModel, index: number, g: number, h: number) {
  const v = variance[index]!;
  mean[index]! += v * g;
  variance[index] = Math.max(MIN_VARIANCE, v * (1 - Math.min(0.9, v * h)));
}

/**
 * Learns the customer's pay cycles and the weights for first charges. The country's pay cycles learn from retries only: most
 * first charges are approved on any day, regardless of pay.
 */
export function learnFirstCharge(
  learned: LearnedModel,
  person: CustomerPosterior,
  names: Int32Array,
  clock: BankClock,
  at: number,
  reason: Reason | null,
) {
  if (observeFirstCharge(learned, person, names, clock, at, reason)) moveWeights(learned);
}

/**
 * Counts a new case with the usual shares; outcomes then move the counts. Counting the case's own posterior would add its
 * features' effect, and both would reinforce each other until one kind is left.
 */
export function learnCase(learned: LearnedModel, belief: CasePosterior) {
  const counts = kindCountsOf(learned, belief);
  for (const each of counts) addCase(each, counts[0]!);
}

/** Counts for the case's reason and for its code, if any: views, not copies. */
const kindCountsOf = ({ kinds }: LearnedModel, { firstReason, codeRow }: CasePosterior) =>
  (codeRow === null ? [reasonRow(firstReason)] : [reasonRow(firstReason), codeRow]).map((row) =>
    kinds.subarray(row, row + KIND_COUNT),
  );

/** @param usual  the first case's shares */
function addCase(counts: Float64Array, usual: Float64Array) {
  if (sumCounts(counts) === 0) counts.set(usual.map((count) => count / sumCounts(usual)));
  else addCounts(counts, 1, MAX_KIND_COUNT);
}

/** The sum grows by `by`, up to `most`. */
function addCounts(counts: Float64Array, by: number, most: number) {
  const total = sumCounts(counts);
  const growth = Math.min(most, total + by) / total;
  for (let n = 0; n < counts.length; n++) counts[n]! *= growth;
}

const sumCounts = (counts: Float64Array) => counts.reduce((sum, count) => sum + count, 0);

/**
 * Learns the weights, the case, the customer's pay cycles, and each cause's frequency.
 *
 * @param reason  of the decline; null: approved
 * @returns the prior probability of an approval
 */
export function learnRetry(
  learned: LearnedModel,
  person: CustomerPosterior,
  belief: CasePosterior,
  at: number,
  reason: Reason | null,
): number {
  if (belief.tries === 0) countFirstRetry(learned, belief, at);
  const kindsBefore = new Float64Array(KIND_COUNT);
  kindShares(belief, kindsBefore);
  const cyclesBefore = person.cycles.slice();
  const of = calibrationIndex(belief);
  const chance = observeRetry(learned, person, belief, at, reason);
  moveWeights(learned);
  learnCalibration(learned, of, chance, reason === null);
  learnKinds(learned, belief, kindsBefore);
  countCycles(learned, person, cyclesBefore);
  countRetry(learned, reason === null);
  return chance;
}

function countRetry({ tries }: LearnedModel, approved: boolean) {
  const count = Math.min(MAX_AVERAGED_RETRIES, tries[1]! + 1);
  tries[0]! += (Number(approved) - tries[0]!) / count;
  tries[1] = count;
}

function learnKinds(learned: LearnedModel, belief: CasePosterior, before: Float64Array) {
  const kindsAfter = new Float64Array(KIND_COUNT);
  kindShares(belief, kindsAfter);
  const families = FAMILIES.map(() => 0);
  const counts = kindCountsOf(learned, belief);
  for (let kind = 0; kind < KIND_COUNT; kind++) {
    const change = kindsAfter[kind]! - before[kind]!;
    for (const each of counts) each[kind] = Math.max(0.01, each[kind]! + change);
    families[familyOfKind(kind)]! += change;
  }
  for (const name of belief.names) {
    const seen = learned.seen[name - WEIGHT_STARTS.name]!++;
    const step = SHIFT_RATE / (SHIFT_DELAY + seen ** 0.8);
    const at = shiftIndex(name);
    for (let family = 0; family < families.length; family++) {
      const shift = learned.shifts[at + family]! + step * families[family]!;
      learned.shifts[at + family] = Math.max(-MAX_SHIFT, Math.min(MAX_SHIFT, shift));
    }
  }
}

/** Moves the country's and all customers' counts with the customer's posterior. */
function countCycles(learned: LearnedModel, person: CustomerPosterior, before: Float64Array) {
  const own = countryCycles(learned, person);
  for (let c = 0; c < CYCLE_COUNT; c++) {
    const change = person.cycles[c]! - before[c]!;
    own[c] = Math.max(0, own[c]! + change);
    learned.cycles[c] = Math.max(0.01, learned.cycles[c]! + change);
  }
}

function countryCycles(learned: LearnedModel, { country, usual }: CustomerPosterior): Float64Array {
  const own = learned.countryCycles.get(country) ?? usual.map((chance) => chance * COUNTRY_START_COUNT);
  learned.countryCycles.set(country, own);
  return own;
}

/**
 * Counts a customer at the first failure, with the country's pay cycles; outcomes then move the counts. The customer's own
 * posterior is mostly the prior and would keep the counts from changing.
 */
export function countCustomer(learned: LearnedModel, person: CustomerPosterior) {
  for (const counts of [countryCycles(learned, person), learned.cycles])
    addCounts(counts, CUSTOMER_WEIGHT, MAX_CYCLE_COUNT);
}
