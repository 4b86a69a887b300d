import { advanceStep, canPay, localStepOf } from "../worlds/consumers/person-funds.ts";
import type { RandomStream } from "../worlds/random-stream.ts";
import { applyCharge, type CandidateLife, copyLife, explainCharge, type ObservedCharge } from "./candidate-life.ts";

/** Weighted by how well lives explain the observations. Copies replace lives with low weights. */
export interface ParticleFilter {
  lives: CandidateLife[];
  weights: Float64Array;
  step: number;
}

/** @param random  independent of the customer's true luck */
export function observeCharge(filter: ParticleFilter, charge: ObservedCharge, random: RandomStream) {
  const { lives, weights } = filter;
  const explained = weights.map((weight, n) => weight * explainCharge(lives[n]!, charge, random.draw));
  const newWeights = sum(explained) > 0 ? explained : weights;
  const total = sum(newWeights);
  for (let n = 0; n < weights.length; n++) weights[n] = newWeights[n]! / total;
  const isNarrow = weights.reduce((all, weight) => all + weight * weight, 0) * lives.length > 2;
  if (isNarrow) {
    filter.lives = sampleLives(filter, lives.length, random);
    weights.fill(1 / lives.length);
  }
  for (const life of filter.lives) applyCharge(life, charge, random.draw);
}

export function advanceLives(filter: ParticleFilter, until: number, random: RandomStream) {
  for (const { person, quiet, state } of filter.lives)
    for (let step = filter.step + 1; step <= until; step++)
      advanceStep(quiet, state, localStepOf(person, step), random);
  filter.step = Math.max(filter.step, until);
}

/** Lives are sampled by weight. Returns per step and life whether `amount` (major units) would be paid. */
export function simulateAhead(
  filter: ParticleFilter,
  count: number,
  steps: number,
  amount: number,
  random: RandomStream,
): Uint8Array[] {
  const lives = sampleLives(filter, count, random);
  return Array.from({ length: steps }, (_, ahead) =>
    Uint8Array.from(lives, ({ person, state, leftAt }) => {
      if (ahead > 0) advanceStep(person, state, localStepOf(person, filter.step + ahead), random);
      return Number(leftAt === null && canPay(person, state, amount));
    }),
  );
}

function sampleLives({ lives, weights }: ParticleFilter, count: number, random: RandomStream): CandidateLife[] {
  const total = sum(weights);
  const offset = random.draw();
  let last = 0;
  let reachedWeight = weights[0]!;
  return Array.from({ length: count }, (_, n) => {
    while (reachedWeight < ((n + offset) / count) * total && last < lives.length - 1) reachedWeight += weights[++last]!;
    return copyLife(lives[last]!);
  });
}

const sum = (values: Float64Array) => values.reduce((all, each) => all + each, 0);
