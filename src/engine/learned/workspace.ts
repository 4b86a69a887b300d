import { HYPOTHESIS_COUNT } from "./hypotheses.ts";
import { FRESH_TO_SAME_OFFSET, WEIGHT_COUNT } from "./model-layout.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";

/** No outcome has more active weights. */
export const MAX_ACTIVE_WEIGHTS = 112;
/** Hypotheses share pay cycle cells, so each cell's probability is computed once. */
export const PAY_CELL_COUNT = 2 * FRESH_TO_SAME_OFFSET;

/** Each observation fills it; training reads it right after. */
export interface Observation {
  /** Weights that are active under every hypothesis. */
  indices: Int32Array;
  /** Number of `indices` in use. */
  count: number;
  /** By hypothesis: the weight that it adds, its score with the outcome's sign, and its posterior probability. */
  cells: Int32Array;
  scores: Float64Array;
  shares: Float64Array;
  hypotheses: number;
  /** See `uncertaintyScale`. */
  scale: number;
  approved: boolean;
}

/** One model's scratch memory, for one call at a time. Its contents mean nothing between calls. */
export interface Workspace {
  observation: Observation;
  chanceByCell: Float64Array;
  /** Before and after an observation. */
  cyclesBefore: Float64Array;
  cyclesAfter: Float64Array;
  /** Of the log-likelihood, summed by weight. Zero between two updates. */
  firstDerivatives: Float64Array;
  secondDerivatives: Float64Array;
  /** Found by the current update. Empty between two updates. */
  stiffGroups: number[];
}

export const newWorkspace = (): Workspace => ({
  observation: {
    indices: new Int32Array(MAX_ACTIVE_WEIGHTS),
    count: 0,
    cells: new Int32Array(HYPOTHESIS_COUNT),
    scores: new Float64Array(HYPOTHESIS_COUNT),
    shares: new Float64Array(HYPOTHESIS_COUNT),
    hypotheses: 0,
    scale: 1,
    approved: false,
  },
  chanceByCell: new Float64Array(PAY_CELL_COUNT),
  cyclesBefore: new Float64Array(CYCLE_COUNT),
  cyclesAfter: new Float64Array(CYCLE_COUNT),
  firstDerivatives: new Float64Array(WEIGHT_COUNT),
  secondDerivatives: new Float64Array(WEIGHT_COUNT),
  stiffGroups: [],
});
