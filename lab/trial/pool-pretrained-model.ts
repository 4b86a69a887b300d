import { FAMILIES } from "../../src/engine/learned/hypotheses.ts";
import { type LearnedModel, newLearnedModel, shiftIndex } from "../../src/engine/learned/learned-model.ts";
import { WEIGHT_COUNT, WEIGHT_STARTS } from "../../src/engine/learned/model-layout.ts";
import { CYCLE_COUNT } from "../../src/engine/learned/pay-cycles.ts";
import { MODEL_LAYOUT, type PretrainedModel } from "../../src/engine/learned/pretrained-model.ts";

/** Whether it means the same at every merchant, so that the pretrained model may have learned it. */
export const isPortableFeature = (name: string) => !/^.(merchant|issuer):/.test(name);

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
