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

/** The latest forecast's numbers by slot and hypothesis: see `Forecast`. */
export interface ForecastTables {
  nextChances: Float64Array;
  laterChances: Float64Array;
  paidOn: Int32Array;
  /** The weight that a cycle adds at a slot with new pay. */
  cycleCells: Int32Array;
}

/** The latest plan evaluator's numbers by position and hypothesis: see `PlanEvaluator`. */
export interface PlanTables {
  remainingShares: Float64Array;
  valuesToGo: Float64Array;
  restValues: Float64Array;
}

/** One model's scratch memory, for one call at a time. Its contents mean nothing between calls. */
export interface Workspace {
  observation: Observation;
  forecastTables: ForecastTables;
  planTables: PlanTables;
  /** Each forecast overwrites the tables of the one before, which is no longer valid then. */
  forecastCount: number;
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
  forecastTables: newForecastTables(0),
  planTables: newPlanTables(0),
  forecastCount: 0,
  chanceByCell: new Float64Array(PAY_CELL_COUNT),
  cyclesBefore: new Float64Array(CYCLE_COUNT),
  cyclesAfter: new Float64Array(CYCLE_COUNT),
  firstDerivatives: new Float64Array(WEIGHT_COUNT),
  secondDerivatives: new Float64Array(WEIGHT_COUNT),
  stiffGroups: [],
});

/** Returns the workspace's tables, with room for `size` numbers. Allocating them for each decision took a tenth of its time. */
export function getForecastTables(workspace: Workspace, size: number): ForecastTables {
  if (workspace.forecastTables.paidOn.length < size) workspace.forecastTables = newForecastTables(2 * size);
  return workspace.forecastTables;
}

/** As `getForecastTables`. */
export function getPlanTables(workspace: Workspace, size: number): PlanTables {
  if (workspace.planTables.valuesToGo.length < size) workspace.planTables = newPlanTables(2 * size);
  return workspace.planTables;
}

function newForecastTables(size: number): ForecastTables {
  return {
    nextChances: new Float64Array(size),
    laterChances: new Float64Array(2 * size),
    paidOn: new Int32Array(size),
    cycleCells: new Int32Array(size),
  };
}

function newPlanTables(size: number): PlanTables {
  return {
    remainingShares: new Float64Array(size),
    valuesToGo: new Float64Array(size),
    restValues: new Float64Array(2 * size),
  };
}
