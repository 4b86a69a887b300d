import { FAMILIES, KIND_COUNT, KIND_ROW_COUNT } from "./hypotheses.ts";
import { COUNTRY_START_COUNT, type LearnedModel, newLearnedModel, shiftIndex } from "./learned-model.ts";
import { REASONS, WEIGHT_COUNT, WEIGHT_STARTS } from "./model-layout.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";
import { WEIGHT_GROUPS } from "./weight-groups.ts";

/** Before it has seen any merchant, as stored in a file. Numbers are rounded. */
export interface PretrainedModel {
  /** A file for another layout is refused. */
  layout: string;
  /** [weight, mean, variance], if different from a new model. */
  weights: [number, number, number][];
  cycles: number[];
  countryCycles: Record<string, number[]>;
  kinds: number[];
  /** [feature weight, shift of each family]. */
  shifts: [number, number, number, number, number][];
}

export const MODEL_LAYOUT = `19:${WEIGHT_COUNT}:${CYCLE_COUNT}:${KIND_COUNT}:${REASONS.length}:${WEIGHT_GROUPS.length}`;

/** An installation's own data soon outweighs it. */
const KINDS_STRENGTH = 150;
const CYCLES_STRENGTH = 150;
const COUNTRY_STRENGTH = 60;

/** @throws if it has another layout */
export function fromPretrained(prior: PretrainedModel): LearnedModel {
  if (prior.layout !== MODEL_LAYOUT)
    throw new RangeError(`the prior is of layout ${prior.layout}, this model of ${MODEL_LAYOUT}`);
  const model = newLearnedModel();
  for (const [index, mean, variance] of prior.weights) {
    model.mean[index] = mean;
    model.start[index] = mean;
    model.variance[index] = variance;
  }
  model.cycles.set(scaleCounts(prior.cycles, CYCLES_STRENGTH));
  for (const [country, counts] of Object.entries(prior.countryCycles)) {
    const countryCounts = scaleCounts(counts, COUNTRY_STRENGTH);
    const lacking = Math.max(0, COUNTRY_START_COUNT - countryCounts.reduce((sum, count) => sum + count, 0));
    const everywhere = scaleCounts(prior.cycles, lacking);
    model.countryCycles.set(
      country,
      Float64Array.from(countryCounts, (count, c) => count + everywhere[c]!),
    );
  }
  for (let row = 0; row < KIND_ROW_COUNT; row++) {
    const counts = prior.kinds.slice(row * KIND_COUNT, (row + 1) * KIND_COUNT);
    model.kinds.set(scaleCounts(counts, KINDS_STRENGTH), row * KIND_COUNT);
  }
  for (const [name, ...shifts] of prior.shifts) model.shifts.set(shifts, shiftIndex(name));
  return model;
}

function scaleCounts(counts: readonly number[], strength: number): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => (count * Math.min(strength, total)) / Math.max(total, 1e-9));
}

/**
 * Merchants differ more than simulated worlds: a multiple of the worlds' spread, and at least this share of a new model's
 * variance.
 */
const SPREAD_FACTOR = 3;
const SPREAD_MIN = 0.3;

/**
 * Each weight gets the worlds' mean, and their spread as its variance: weights that agree everywhere start firm.
 *
 * @param models  each trained from a new model: a changed weight counts as seen
 * @param portable  feature weights that mean the same everywhere
 */
export function poolPretrainedModel(models: readonly LearnedModel[], portable: ReadonlySet<number>): PretrainedModel {
  const untrained = newLearnedModel();
  const prior: PretrainedModel = {
    layout: MODEL_LAYOUT,
    weights: [],
    cycles: [],
    countryCycles: {},
    kinds: [],
    shifts: [],
  };
  for (let index = 0; index < WEIGHT_COUNT; index++) {
    if (index >= WEIGHT_STARTS.name && !portable.has(index)) continue;
    const [mean, variance] = poolWeight(models, index, untrained);
    if (mean !== untrained.mean[index]) prior.weights.push([index, roundWeight(mean), roundWeight(variance)]);
  }
  const average = (select: (model: LearnedModel) => ArrayLike<number>) =>
    Array.from(select(untrained), (_, n) =>
      roundWeight(models.reduce((sum, model) => sum + select(model)[n]!, 0) / models.length),
    );
  prior.cycles = average(({ cycles }) => cycles);
  prior.kinds = average(({ kinds }) => kinds);
  for (const country of new Set(models.flatMap(({ countryCycles }) => [...countryCycles.keys()])))
    prior.countryCycles[country] = average(
      ({ countryCycles }) => countryCycles.get(country) ?? new Float64Array(CYCLE_COUNT),
    );
  for (const name of [...portable].sort((a, b) => a - b)) {
    const shifts = FAMILIES.map((_, family) =>
      roundWeight(models.reduce((sum, model) => sum + model.shifts[shiftIndex(name) + family]!, 0) / models.length),
    ) as [number, number, number, number];
    if (shifts.some((shift) => shift !== 0)) prior.shifts.push([name, ...shifts]);
  }
  return prior;
}

/** Means count by precision; a weight that no model has seen keeps its initial value. */
function poolWeight(models: readonly LearnedModel[], index: number, untrained: LearnedModel): [number, number] {
  const before = untrained.variance[index]!;
  let precision = 0;
  let sum = 0;
  for (const { mean, variance } of models) {
    if (mean[index] === untrained.mean[index]) continue;
    // Between worlds, a weight varies about half as much as its initial variance allows.
    const weight = 1 / (variance[index]! + before / 4);
    precision += weight;
    sum += weight * (mean[index]! - untrained.mean[index]!);
  }
  if (precision === 0) return [untrained.mean[index]!, before];
  const shift = sum / (precision + 1 / before);
  let spread = 0;
  let seen = 0;
  for (const { mean } of models) {
    if (mean[index] === untrained.mean[index]) continue;
    spread += (mean[index]! - untrained.mean[index]! - shift) ** 2;
    seen++;
  }
  const variance = Math.max(SPREAD_MIN * before, SPREAD_FACTOR * (spread / seen + 0.5 / precision));
  return [untrained.mean[index]! + shift, Math.min(before, variance)];
}

const roundWeight = (value: number) => Number(value.toPrecision(4));
