import {
  AMPLE,
  type Belief,
  cyclesOf,
  explainFirst,
  explainTry,
  latestOf,
  otherChances,
  otherOf,
  type Person,
} from "./belief.ts";
import { type Clock, judgedHour, judgedOn } from "./booking.ts";
import { noteCharge, saysOfAccount } from "./dates.ts";
import { EXPLANATIONS, KINDS, kindOf, reasonRow } from "./explanations.ts";
import { AT, PAID_BETWEEN, REASONS, type Reason, sinceBins, sinceCell, TO_SAME } from "./layout.ts";
import type { Learned } from "./learned.ts";
import { phi } from "./normal.ts";
import { CYCLES, kindOfCycle, sincePay } from "./pay-cycles.ts";
import { caseWeights, momentWeights, timeWeights, tryWeights } from "./weights-of.ts";

/** Whatever a customer has shown so far, this much of it is forgotten at each outcome, back to what is usual: people change jobs. */
const FORGET = 0.004;
/** Whose money covered every bill may be short one day: so much of that belief is forgotten at each bill, and so much is always left. */
const AMPLE_FORGET = 0.02;
const AMPLE_LEAST = 0.002;
/** What is not known of the weight that an explanation adds, roughly. */
export const CELL_SPREAD = 0.02;
/** No outcome is held to be less likely than this. */
const CHANCE_MIN = 1e-5;

/** An outcome is looked at by no more weights than these. */
export const WEIGHTS_MAX = 112;

/** An outcome as the model looks at it; filled anew by each observation and by `chancesOf`, and read by `learn` right after an observation. */
export const look = {
  /** The weights whatever the explanation, and how many they are. */
  indices: new Int32Array(WEIGHTS_MAX),
  count: 0,
  /** For each explanation: the weight it adds, its score with the sign of the outcome, its chance afterwards. */
  cells: new Int32Array(EXPLANATIONS),
  scores: new Float64Array(EXPLANATIONS),
  shares: new Float64Array(EXPLANATIONS),
  explanations: 0,
  /** What the scores were multiplied by: see `scaleOf`. */
  scale: 1,
  approved: false,
};

/** What is written beyond the end of `indices` is lost, and what is read there is no number, which one lesson would spread over the model. */
function checkCount() {
  if (look.count > look.indices.length)
    throw new RangeError(`an outcome of ${look.count} weights, and at most ${look.indices.length} can be looked at`);
}

/** Describe a try in `look`. */
function lookAtTry(belief: Belief, at: number) {
  look.count = tryWeights(belief, at, look.indices);
  checkCount();
  explainTry(belief, at, look.cells);
}

/** What the weights that count whatever the explanation add up to, and what is not known of them. */
interface Usual {
  score: number;
  spread: number;
}

const NOTHING: Usual = { score: 0, spread: CELL_SPREAD };

/** With the weights in `look` from a place on. */
function added({ mean, variance }: Learned, { score, spread }: Usual, from: number, count: number): Usual {
  const { indices } = look;
  for (let n = from; n < count; n++) {
    score += mean[indices[n]!]!;
    spread += variance[indices[n]!]!;
  }
  return { score, spread };
}

/** What scores are multiplied by for what is not known of their weights, whose variances sum to `spread`. */
export const scaleOf = (spread: number) => 1 / Math.sqrt(1 + spread);

/** For each cycle the first of its cells, counted from the first one of a standing. */
const firstOfCycle = Uint8Array.from(kindOfCycle, (kind) => sinceCell(0, 0, kind, 0) - sinceCell(0, 0, 0, 0));
/** The chances of a try at the moment at hand by what an explanation adds: some hundred and fifty explanations share eighty cells. */
const PAY_CELLS = 2 * TO_SAME;
const ofCell = new Float64Array(PAY_CELLS);

/**
 * Tells the chance that a try at a moment is approved, not calibrated: as `observeTry` gives it back once it was made, which is what calibration is
 * learned from. A forecast leaves out what is unlikely, which serves to plan, but not to say a chance.
 */
export function chancesOf(learned: Learned, belief: Belief): (at: number) => number {
  const { shares, clock, lastTriedAt } = belief;
  const lastDay = judgedOn(clock, lastTriedAt);
  const then = sincePay(lastDay);
  const lastPaidOn = new Int32Array(CYCLES);
  for (let c = 0; c < CYCLES; c++) lastPaidOn[c] = lastDay - then.row[then.from + c]!;
  const ofCase = added(learned, NOTHING, 0, caseWeights(belief, look.indices));
  let sum = 0;
  for (let e = 0; e < EXPLANATIONS; e++) sum += shares[e]!;
  return (at) => weighedChance(learned, belief, ofCase, lastPaidOn, at) / sum;
}

/** The chance at a moment, times the sum of all shares. */
function weighedChance(learned: Learned, belief: Belief, ofCase: Usual, lastPaidOn: Int32Array, at: number): number {
  const { mean } = learned;
  const { shares } = belief;
  const usual = added(learned, ofCase, 0, timeWeights(belief, at, look.indices, 0));
  const { score } = usual;
  const scale = scaleOf(usual.spread);
  const first = sinceCell(belief.standing, PAID_BETWEEN.fresh, 0, 0);
  for (let cell = 0; cell < PAY_CELLS; cell++) ofCell[cell] = phi((score + mean[first + cell]!) * scale);
  const day = judgedOn(belief.clock, at);
  const bins = sinceBins(judgedHour(belief.clock, at));
  const { row, from } = sincePay(day);
  let chance = 0;
  for (let c = 0; c < CYCLES; c++) {
    const since = row[from + c]!;
    const isSame = day - since === lastPaidOn[c];
    chance += shares[c]! * ofCell[firstOfCycle[c]! + bins[since]! + (isSame ? TO_SAME : 0)]!;
  }
  const others = otherChances(learned, belief, at, score, scale);
  for (let e = CYCLES; e < EXPLANATIONS; e++) chance += shares[e]! * others[otherOf(belief, e, at)]!;
  return chance;
}

/** The chance at one moment: see `chancesOf`. */
export const chanceOf = (learned: Learned, belief: Belief, at: number) => chancesOf(learned, belief)(at);

/**
 * Weigh the explanations by how well each foresaw the outcome that `look` describes.
 *
 * @param shares  the chance of each explanation before the outcome; those after it are written back
 * @returns the chance that had been given to an approval
 */
function weigh(learned: Learned, shares: Float64Array, explanations: number, approved: boolean): number {
  const { cells, scores } = look;
  const usual = added(learned, NOTHING, 0, look.count);
  const scale = scaleOf(usual.spread);
  const sign = approved ? 1 : -1;
  let total = 0;
  let sum = 0;
  for (let e = 0; e < explanations; e++) {
    const score = sign * (usual.score + learned.mean[cells[e]!]!) * scale;
    scores[e] = score;
    sum += shares[e]!;
    shares[e]! *= Math.max(phi(score), CHANCE_MIN);
    total += shares[e]!;
  }
  for (let e = 0; e < explanations; e++) shares[e]! /= total;
  look.explanations = explanations;
  look.scale = scale;
  look.approved = approved;
  return approved ? total / sum : 1 - total / sum;
}

/** The chances of pay cycles before an outcome and after it: worked out anew each time. */
const before = new Float64Array(CYCLES);
const after = new Float64Array(CYCLES);

/**
 * What a bill's first charge shows of a person's pay. `reason`: why it was declined; null: it was approved.
 *
 * @returns false when it shows nothing: a card that was lost or a bank that was down says nothing about the account
 */
export function observeFirst(
  learned: Learned,
  person: Person,
  names: Int32Array,
  clock: Clock,
  at: number,
  reason: Reason | null,
): boolean {
  noteCharge(person.charges, judgedOn(clock, at), at, reason);
  if (reason !== null && reason !== "FUNDS" && reason !== "GENERIC" && reason !== "UNKNOWN") return false;
  look.indices[0] = AT.reason;
  look.indices.set(names, 1);
  look.count = momentWeights(0, clock, at, look.indices, 1 + names.length);
  checkCount();
  explainFirst(clock, at, look.cells);
  const shares = look.shares;
  for (let c = 0; c < CYCLES; c++) shares[c] = (1 - person.ample) * person.cycles[c]!;
  shares[AMPLE] = person.ample;
  weigh(learned, shares, CYCLES + 1, reason === null);
  // Only some of the plain refusals are about money, so they count half.
  const isPlain = reason === "GENERIC" || reason === "UNKNOWN";
  const ample = isPlain ? (shares[AMPLE]! + person.ample) / 2 : shares[AMPLE]!;
  person.ample = AMPLE_LEAST + (1 - AMPLE_FORGET) * ample;
  after.set(shares.subarray(0, CYCLES));
  if (isPlain) for (let c = 0; c < CYCLES; c++) after[c] = Math.sqrt(after[c]! * person.cycles[c]!);
  believe(person, after);
  return true;
}

/**
 * What a try shows of its case and of the person's pay: both are changed.
 *
 * @param reason  why it failed; null: it was approved
 * @returns the chance that had been given to an approval
 */
export function observeTry(
  learned: Learned,
  person: Person,
  belief: Belief,
  at: number,
  reason: Reason | null,
): number {
  noteCharge(person.charges, judgedOn(belief.clock, at), at, reason);
  cyclesOf(belief, before);
  lookAtTry(belief, at);
  const shares = look.shares;
  shares.set(belief.shares);
  const chance = weigh(learned, shares, EXPLANATIONS, reason === null);
  belief.shares.set(shares);
  if (reason !== null && reason !== belief.reason) heed(learned, belief, reason);
  cyclesOf(belief, after);
  for (let c = 0; c < CYCLES; c++) after[c] = (person.cycles[c]! * after[c]!) / Math.max(1e-9, before[c]!);
  believe(person, after);
  belief.tries++;
  belief.beside = null;
  belief.lastTriedAt = at;
  belief.recent = latestOf([...belief.recent, at]);
  return chance;
}

/** More charges of other bills between two tries tell nothing new: else who is charged each hour would have the next try put off without end. */
export const BESIDE_MAX = 8;

/**
 * What a charge of another bill of the customer shows of an open case: whether there is money now, and how the person is paid.
 *
 * @param reason  why it failed; null: it was approved
 * @param before  how likely each pay cycle was held to be the person's before that charge, and `after` it
 */
export function observeBeside(
  belief: Belief,
  at: number,
  reason: Reason | null,
  before: Float64Array,
  after: Float64Array,
) {
  belief.recent = latestOf([...belief.recent, at]);
  if (!saysOfAccount(reason)) return;
  const count = (belief.beside?.count ?? 0) + 1;
  if (count > BESIDE_MAX) return;
  belief.beside = { at, approved: reason === null, count };
  shiftCycles(belief.shares, before, after);
  shiftCycles(belief.cyclesBefore, before, after);
}

/** As much likelier or less as the person's pay cycles became; together they are as likely as they were. */
function shiftCycles(cycles: Float64Array, before: Float64Array, after: Float64Array) {
  let whole = 0;
  let shifted = 0;
  for (let c = 0; c < CYCLES; c++) {
    whole += cycles[c]!;
    cycles[c]! *= after[c]! / Math.max(1e-9, before[c]!);
    shifted += cycles[c]!;
  }
  if (shifted > 0) for (let c = 0; c < CYCLES; c++) cycles[c]! *= whole / shifted;
}

/** Another reason than before: explanations that such a reason often has become likelier. */
function heed(learned: Learned, belief: Belief, reason: Reason) {
  const counts = learned.kinds;
  const row = reasonRow(reason);
  const factor = new Float64Array(KINDS);
  for (let kind = 0; kind < KINDS; kind++) {
    let all = 0;
    for (let r = 1; r < REASONS.length; r++) all += counts[r * KINDS + kind]!;
    factor[kind] = Math.max(0.02, counts[row + kind]! / all);
  }
  let total = 0;
  for (let e = 0; e < EXPLANATIONS; e++) {
    belief.shares[e]! *= factor[kindOf(e)]!;
    total += belief.shares[e]!;
  }
  for (let e = 0; e < EXPLANATIONS; e++) belief.shares[e]! /= total;
  belief.reason = reason;
}

/** The person's cycles become `next`, but for the little that is always forgotten. */
function believe(person: Person, next: Float64Array) {
  let total = 0;
  for (let c = 0; c < CYCLES; c++) total += next[c]!;
  const { usual, cycles } = person;
  for (let c = 0; c < CYCLES; c++) cycles[c] = (1 - FORGET) * (next[c]! / total) + FORGET * usual[c]!;
}
