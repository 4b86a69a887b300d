import { type Belief, kindsOf, type Person } from "./belief.ts";
import type { Clock } from "./booking.ts";
import { FAMILIES, familyOfKind, KINDS, reasonRow } from "./explanations.ts";
import { countFirst } from "./firsts.ts";
import { AT, type Reason, WEIGHTS } from "./layout.ts";
import { COUNTRY_START, type Learned, shiftsAt } from "./learned.ts";
import { loosenStiff, noteStrain } from "./loosen.ts";
import { pullOf } from "./normal.ts";
import { look, observeFirst, observeTry } from "./observe.ts";
import { CYCLES } from "./pay-cycles.ts";
import { learnTrim, trimOf } from "./trim.ts";

/** No weight becomes surer than this: old lessons fade as new ones come, so that a world that changes is followed. */
const VARIANCE_MIN = 0.0001;
/** A case counts as one of at most so many of its reason. */
const KINDS_MAX = 1500;
const CYCLES_MAX = 6000;
/** A person counts as so much: of what is believed of most of them, only so much was seen. */
const PERSON = 0.2;
/** A name's step is RATE / (DELAY + times seen ^ 0.8): small, since a case has some twenty names, and all move together. */
const SHIFT_RATE = 0.15;
const SHIFT_DELAY = 25;
/** No name alone makes a family likelier or less by more than e to the power of this. */
const SHIFT_MAX = 1.5;
/** The share of tries that are approved is a mean over about so many of the latest. */
const TRIES_MAX = 1000;
/** An explanation less likely than this has no part in what the weights learn. */
const SHARE_MIN = 1e-4;

/** First and second derivatives of the log-likelihood, summed for each weight an explanation adds. */
const pullsG = new Float64Array(WEIGHTS);
const pullsH = new Float64Array(WEIGHTS);

/** What was believed before an outcome, and after it: one lesson at a time. */
const kindsBefore = new Float64Array(KINDS);
const kindsAfter = new Float64Array(KINDS);
const cyclesBefore = new Float64Array(CYCLES);

/**
 * One step of assumed-density filtering of a probit whose last input is a mixture: each explanation is held responsible
 * for the outcome by how well it foresaw it, and the weights move by the mean over explanations. The outcome is the one
 * observed last.
 */
function moveWeights(learned: Learned) {
  const { indices, count, cells, scores, shares, explanations, scale, approved } = look;
  const sign = approved ? 1 : -1;
  let g = 0;
  let h = 0;
  for (let e = 0; e < explanations; e++) {
    const share = shares[e]!;
    if (share < SHARE_MIN) continue;
    const z = scores[e]!;
    const v = pullOf(z);
    const dg = share * sign * v;
    const dh = share * v * (v + z);
    g += dg;
    h += dh;
    pullsG[cells[e]!]! += dg;
    pullsH[cells[e]!]! += dh;
  }
  for (let n = 0; n < count; n++) {
    noteStrain(learned, indices[n]!, g * scale);
    move(learned, indices[n]!, g * scale, h * scale * scale);
  }
  for (let e = 0; e < explanations; e++) {
    const cell = cells[e]!;
    if (pullsH[cell] === 0) continue;
    move(learned, cell, pullsG[cell]! * scale, pullsH[cell]! * scale * scale);
    pullsG[cell] = pullsH[cell] = 0;
  }
  loosenStiff(learned);
}

function move({ mean, variance }: Learned, index: number, g: number, h: number) {
  const v = variance[index]!;
  mean[index]! += v * g;
  variance[index] = Math.max(VARIANCE_MIN, v * (1 - Math.min(0.9, v * h)));
}

/**
 * What is learned from a bill's first charge: of the person's pay, and of first charges. How people of the country are paid is learned from
 * tries alone: most first charges are approved on any day, whoever is paid when.
 */
export function learnFirst(
  learned: Learned,
  person: Person,
  names: Int32Array,
  clock: Clock,
  at: number,
  reason: Reason | null,
) {
  if (observeFirst(learned, person, names, clock, at, reason)) moveWeights(learned);
}

/**
 * One case more of its reason and code, of whatever kind such cases have been: what it suffers from is counted as outcomes tell. Were it
 * counted as it is believed to be, with all that its names say, then the counts would hold what the names hold already, and both
 * would drive each other until one kind is left.
 */
export function learnCase(learned: Learned, belief: Belief) {
  const counts = countsOf(learned, belief);
  for (const each of counts) addCase(each, counts[0]!);
}

/** The counts of kinds of a case's reason, and those of its code where it had one: the numbers themselves, no copies. */
const countsOf = ({ kinds }: Learned, { firstReason, codeRow }: Belief) =>
  (codeRow === null ? [reasonRow(firstReason)] : [reasonRow(firstReason), codeRow]).map((row) =>
    kinds.subarray(row, row + KINDS),
  );

/** @param usual  the shares that the first case has */
function addCase(counts: Float64Array, usual: Float64Array) {
  if (sumOf(counts) === 0) counts.set(usual.map((count) => count / sumOf(usual)));
  else grow(counts, 1, KINDS_MAX);
}

/** So many more in the same shares, until there are `most`. */
function grow(counts: Float64Array, by: number, most: number) {
  const total = sumOf(counts);
  const growth = Math.min(most, total + by) / total;
  for (let n = 0; n < counts.length; n++) counts[n]! *= growth;
}

const sumOf = (counts: Float64Array) => counts.reduce((sum, count) => sum + count, 0);

/**
 * What is learned from a try: of the weights, the case, the person's pay, and what such cases suffer from.
 *
 * @param reason  why it failed; null: it was approved
 * @returns the chance that had been given to an approval
 */
export function learnTry(learned: Learned, person: Person, belief: Belief, at: number, reason: Reason | null): number {
  if (belief.tries === 0) countFirst(learned, belief, at);
  kindsOf(belief, kindsBefore);
  cyclesBefore.set(person.cycles);
  const of = trimOf(belief);
  const chance = observeTry(learned, person, belief, at, reason);
  moveWeights(learned);
  learnTrim(learned, of, chance, reason === null);
  learnKinds(learned, belief, kindsBefore);
  countCycles(learned, person, cyclesBefore);
  countTry(learned, reason === null);
  return chance;
}

function countTry({ tries }: Learned, approved: boolean) {
  const count = Math.min(TRIES_MAX, tries[1]! + 1);
  tries[0]! += (Number(approved) - tries[0]!) / count;
  tries[1] = count;
}

function learnKinds(learned: Learned, belief: Belief, before: Float64Array) {
  kindsOf(belief, kindsAfter);
  const families = FAMILIES.map(() => 0);
  const counts = countsOf(learned, belief);
  for (let kind = 0; kind < KINDS; kind++) {
    const change = kindsAfter[kind]! - before[kind]!;
    for (const each of counts) each[kind] = Math.max(0.01, each[kind]! + change);
    families[familyOfKind(kind)]! += change;
  }
  for (const name of belief.names) {
    const seen = learned.seen[name - AT.name]!++;
    const step = SHIFT_RATE / (SHIFT_DELAY + seen ** 0.8);
    const at = shiftsAt(name);
    for (let family = 0; family < families.length; family++) {
      const shift = learned.shifts[at + family]! + step * families[family]!;
      learned.shifts[at + family] = Math.max(-SHIFT_MAX, Math.min(SHIFT_MAX, shift));
    }
  }
}

/** The counts of the country and of everywhere follow what is now believed of the person. */
function countCycles(learned: Learned, person: Person, before: Float64Array) {
  const own = countryCycles(learned, person);
  for (let c = 0; c < CYCLES; c++) {
    const change = person.cycles[c]! - before[c]!;
    own[c] = Math.max(0, own[c]! + change);
    learned.cycles[c] = Math.max(0.01, learned.cycles[c]! + change);
  }
}

function countryCycles(learned: Learned, { country, usual }: Person): Float64Array {
  const own = learned.countryCycles.get(country) ?? usual.map((chance) => chance * COUNTRY_START);
  learned.countryCycles.set(country, own);
  return own;
}

/**
 * Somebody's first failure: their country counts for a little more, its people paid as they were. What outcomes tell of it is counted as they come. Were
 * the person counted as is believed of them, most of which is what was believed before, what was learned could hardly move it.
 */
export function countPerson(learned: Learned, person: Person) {
  for (const counts of [countryCycles(learned, person), learned.cycles]) grow(counts, PERSON, CYCLES_MAX);
}
