import { advanceStep, canPay, localStepOf } from "../worlds/consumers/person-funds.ts";
import type { RandomStream } from "../worlds/random-stream.ts";
import { applyCharge, type CandidateLife, copyLife, explainCharge, type ObservedCharge } from "./candidate-life.ts";

/** Weighted by how well lives explain the observations. Copies of others replace lives with low weights. */
export interface ParticleFilter {
  lives: CandidateLife[];
  weights: Float64Array;
  step: number;
}

/** @param luck  within the lives, independent of the customer's true luck */
export function observeCharge(belief: ParticleFilter, seen: ObservedCharge, luck: RandomStream) {
  const { lives, weights } = belief;
  const explained = weights.map((weight, n) => weight * explainCharge(lives[n]!, seen, luck.draw));
  const believed = sum(explained) > 0 ? explained : weights;
  const total = sum(believed);
  for (let n = 0; n < weights.length; n++) weights[n] = believed[n]! / total;
  const isNarrow = weights.reduce((all, weight) => all + weight * weight, 0) * lives.length > 2;
  if (isNarrow) {
    belief.lives = sampleLives(belief, lives.length, luck);
    weights.fill(1 / lives.length);
  }
  for (const life of belief.lives) applyCharge(life, seen, luck.draw);
}

export function advanceLives(belief: ParticleFilter, until: number, luck: RandomStream) {
  for (const { person, quiet, state } of belief.lives)
    for (let step = belief.step + 1; step <= until; step++) advanceStep(quiet, state, localStepOf(person, step), luck);
  belief.step = Math.max(belief.step, until);
}

/**
 * Simulates lives ahead, sampled by weight. Returns per step and life whether a charge of `amount` (major units) would be paid.
 */
export function simulateAhead(
  belief: ParticleFilter,
  count: number,
  steps: number,
  amount: number,
  luck: RandomStream,
): Uint8Array[] {
  const lives = sampleLives(belief, count, luck);
  return Array.from({ length: steps }, (_, ahead) =>
    Uint8Array.from(lives, ({ person, state, leftAt }) => {
      if (ahead > 0) advanceStep(person, state, localStepOf(person, belief.step + ahead), luck);
      return Number(leftAt === null && canPay(person, state, amount));
    }),
  );
}

function sampleLives({ lives, weights }: ParticleFilter, count: number, luck: RandomStream): CandidateLife[] {
  const total = sum(weights);
  const offset = luck.draw();
  let last = 0;
  let reached = weights[0]!;
  return Array.from({ length: count }, (_, n) => {
    while (reached < ((n + offset) / count) * total && last < lives.length - 1) reached += weights[++last]!;
    return copyLife(lives[last]!);
  });
}

const sum = (of: Float64Array) => of.reduce((all, each) => all + each, 0);
