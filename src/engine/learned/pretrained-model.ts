import { KIND_COUNT, KIND_ROW_COUNT } from "./hypotheses.ts";
import { COUNTRY_START_COUNT, type LearnedModel, newLearnedModel, shiftIndex } from "./learned-model.ts";
import { REASONS, WEIGHT_COUNT } from "./model-layout.ts";
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
