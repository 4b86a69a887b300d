import { type Belief, cyclesOf, explainFirst, explainTry, kindsOf, type Person } from "./belief.ts";
import { EXPLANATIONS, familyOfKind, KINDS, reasonRow } from "./explanations.ts";
import { AT, classOf, REASONS, type Reason, WEIGHTS } from "./layout.ts";
import { type Learned, SHIFTS } from "./learned.ts";
import { density, phi } from "./normal.ts";
import { CYCLES } from "./pay-cycles.ts";
import { learnTrim } from "./trim.ts";
import { momentWeights, tryWeights } from "./weights-of.ts";

/** No weight becomes surer than this: old lessons fade as new ones come, so that a world that changes is followed. */
const VARIANCE_MIN = 0.0004;
/** A case counts as one of at most so many of its reason. */
const KINDS_MAX = 1500;
const CYCLES_MAX = 6000;
/** Whatever a customer has shown so far, this much of it is forgotten at each outcome: people change jobs. */
const FORGET = 0.004;

const indices = new Int32Array(64);
const cells = new Int32Array(EXPLANATIONS);
const chances = new Float64Array(EXPLANATIONS);
/** First and second derivatives of the log-likelihood, summed for each weight an explanation adds. */
const pullsG = new Float64Array(WEIGHTS);
const pullsH = new Float64Array(WEIGHTS);

/**
 * One step of assumed-density filtering of a probit whose last input is a mixture: each explanation is held responsible
 * for the outcome by how well it foresaw it, and the weights move by the mean over explanations.
 *
 * @param shares  the chance of each explanation before the outcome; those after it are written back
 * @returns the chance that had been given to an approval
 */
function learnStep(
  learned: Learned,
  count: number,
  shares: Float64Array,
  explanations: number,
  approved: boolean,
): number {
  const { mean, variance } = learned;
  let base = 0;
  let spread = 1;
  for (let n = 0; n < count; n++) {
    base += mean[indices[n]!]!;
    spread += variance[indices[n]!]!;
  }
  const sign = approved ? 1 : -1;
  const scale = 1 / Math.sqrt(spread + 0.02);
  let total = 0;
  let sum = 0;
  for (let e = 0; e < explanations; e++) {
    const z = sign * (base + mean[cells[e]!]!) * scale;
    const chance = Math.max(phi(z), 1e-5);
    chances[e] = z;
    sum += shares[e]!;
    shares[e]! *= chance;
    total += shares[e]!;
  }
  let g = 0;
  let h = 0;
  for (let e = 0; e < explanations; e++) {
    shares[e]! /= total;
    const share = shares[e]!;
    if (share < 1e-4) continue;
    const z = chances[e]!;
    const v = density(z) / Math.max(phi(z), 1e-5);
    const dg = share * sign * v;
    const dh = share * v * (v + z);
    g += dg;
    h += dh;
    pullsG[cells[e]!]! += dg;
    pullsH[cells[e]!]! += dh;
  }
  for (let n = 0; n < count; n++) move(learned, indices[n]!, g * scale, h * scale * scale);
  for (let e = 0; e < explanations; e++) {
    const cell = cells[e]!;
    if (pullsH[cell] === 0) continue;
    move(learned, cell, pullsG[cell]! * scale, pullsH[cell]! * scale * scale);
    pullsG[cell] = pullsH[cell] = 0;
  }
  const before = total / sum;
  return approved ? before : 1 - before;
}

function move({ mean, variance }: Learned, index: number, g: number, h: number) {
  const v = variance[index]!;
  mean[index]! += v * g;
  variance[index] = Math.max(VARIANCE_MIN, v * (1 - Math.min(0.9, v * h)));
}

/** What is learned from a bill's first charge: of the person's pay, and of first charges. */
export function learnFirst(
  learned: Learned,
  person: Person,
  names: Int32Array,
  offsetMs: number,
  at: number,
  reason: Reason | null,
) {
  // A card that was lost or a bank that was down says nothing about the account.
  if (reason !== null && reason !== "FUNDS" && reason !== "GENERIC" && reason !== "UNKNOWN") return;
  indices[0] = AT.reason;
  indices.set(names, 1);
  const count = momentWeights(0, at + offsetMs, indices, 1 + names.length);
  explainFirst(offsetMs, at, cells);
  const shares = person.cycles.slice();
  learnStep(learned, count, shares, CYCLES, reason === null);
  // Only some of the plain refusals are about money, so they count half.
  if (reason === "GENERIC" || reason === "UNKNOWN")
    for (let c = 0; c < CYCLES; c++) shares[c] = Math.sqrt(shares[c]! * person.cycles[c]!);
  updatePerson(learned, person, shares);
}

/** The case's kinds are counted from the start, so that outcomes can move them. */
export function learnCase(learned: Learned, belief: Belief) {
  const kinds = kindsOf(belief);
  for (const row of rowsOf(belief)) {
    let total = 0;
    for (let kind = 0; kind < KINDS; kind++) total += learned.kinds[row + kind]! + kinds[kind]!;
    const shrink = total > KINDS_MAX ? KINDS_MAX / total : 1;
    for (let kind = 0; kind < KINDS; kind++)
      learned.kinds[row + kind] = (learned.kinds[row + kind]! + kinds[kind]!) * shrink;
  }
}

/**
 * What is learned from a try: of the weights, the case, the person's pay, and what such cases suffer from.
 *
 * @param reason  why it failed; null: it was approved
 * @returns the chance that had been given to an approval
 */
export function learnOutcome(
  learned: Learned,
  person: Person,
  belief: Belief,
  at: number,
  reason: Reason | null,
): number {
  const kindsBefore = kindsOf(belief);
  const cyclesBefore = cyclesOf(belief);
  const count = tryWeights(belief, at, indices);
  explainTry(belief, at, cells);
  const chance = learnStep(learned, count, belief.weights, EXPLANATIONS, reason === null);
  learnTrim(learned, classOf(belief.reason), chance, reason === null);
  if (reason !== null && reason !== belief.reason) heed(learned, belief, reason);
  learnKinds(learned, belief, kindsBefore);
  const cyclesAfter = cyclesOf(belief);
  for (let c = 0; c < CYCLES; c++)
    cyclesAfter[c] = (person.cycles[c]! * cyclesAfter[c]!) / Math.max(1e-9, cyclesBefore[c]!);
  updatePerson(learned, person, cyclesAfter);
  belief.tries++;
  belief.lastTriedAt = at;
  belief.recent = [...belief.recent.filter((time) => time > at - 7 * 86_400_000), at];
  return chance;
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
    belief.weights[e]! *= factor[e < CYCLES ? 0 : e - CYCLES + 1]!;
    total += belief.weights[e]!;
  }
  for (let e = 0; e < EXPLANATIONS; e++) belief.weights[e]! /= total;
  belief.reason = reason;
}

const rowsOf = ({ firstReason, codeRow }: Belief) =>
  codeRow === null ? [reasonRow(firstReason)] : [reasonRow(firstReason), codeRow];

function learnKinds(learned: Learned, belief: Belief, before: Float64Array) {
  const after = kindsOf(belief);
  const families = [0, 0, 0, 0];
  for (let kind = 0; kind < KINDS; kind++) {
    const change = after[kind]! - before[kind]!;
    for (const row of rowsOf(belief)) learned.kinds[row + kind] = Math.max(0.01, learned.kinds[row + kind]! + change);
    families[familyOfKind(kind)]! += change;
  }
  for (const name of belief.names) {
    const place = name - AT.name;
    if (place < 0 || place >= SHIFTS) continue;
    const seen = learned.seen[place]!++;
    const step = 0.6 / (25 + seen ** 0.8);
    for (let family = 0; family < 4; family++) {
      const at = place * 4 + family;
      learned.shifts[at] = Math.max(-1.5, Math.min(1.5, learned.shifts[at]! + step * families[family]!));
    }
  }
}

/** The person's cycles become `next`, and the counts of the country and of everywhere follow. */
function updatePerson(learned: Learned, person: Person, next: Float64Array) {
  let total = 0;
  for (let c = 0; c < CYCLES; c++) total += next[c]!;
  let own = learned.countryCycles.get(person.country);
  if (!own) {
    own = new Float64Array(CYCLES);
    learned.countryCycles.set(person.country, own);
  }
  for (let c = 0; c < CYCLES; c++) {
    const after = (1 - FORGET) * (next[c]! / total) + FORGET / CYCLES;
    const change = after - person.cycles[c]!;
    own[c] = Math.max(0, own[c]! + change);
    learned.cycles[c] = Math.max(0.01, learned.cycles[c]! + change);
    person.cycles[c] = after;
  }
}

/** Somebody's first failure: from now on they count among the people of their country. */
export function countPerson(learned: Learned, person: Person) {
  const own = learned.countryCycles.get(person.country) ?? new Float64Array(CYCLES);
  learned.countryCycles.set(person.country, own);
  for (const counts of [own, learned.cycles]) {
    let total = 0;
    for (let c = 0; c < CYCLES; c++) total += counts[c]! + person.cycles[c]!;
    const shrink = total > CYCLES_MAX ? CYCLES_MAX / total : 1;
    for (let c = 0; c < CYCLES; c++) counts[c] = (counts[c]! + person.cycles[c]!) * shrink;
  }
}
