import { HYPOTHESIS_COUNT } from "./hypotheses.ts";
import { CELL_WEIGHTS_END } from "./model-layout.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";

export const MAX_ACTIVE_WEIGHTS = 112;

/** Training reads it right after an observation. */
export interface Observation {
  /** Active under every hypothesis. */
  indices: Int32Array;
  count: number;
  /** By hypothesis: added weight, score with the outcome's sign, posterior probability. */
  cells: Int32Array;
  scores: Float64Array;
  shares: Float64Array;
  hypotheses: number;
  scale: number;
  approved: boolean;
}

/** See `Forecast`. */
export interface ForecastTables {
  nextChances: Float64Array;
  laterChances: Float64Array;
  paidOn: Int32Array;
  cycleCells: Int32Array;
}

/** See `PlanEvaluator`. */
export interface PlanTables {
  remainingShares: Float64Array;
  valuesToGo: Float64Array;
  restValues: Float64Array;
}

/** For one call at a time. Contents mean nothing between calls. */
export interface Workspace {
  observation: Observation;
  forecastTables: ForecastTables;
  planTables: PlanTables;
  /** Each forecast overwrites the tables of the one before. */
  forecastCount: number;
  cyclesBefore: Float64Array;
  cyclesAfter: Float64Array;
  /** Of the log-likelihood, by cell. Zero between updates. */
  firstDerivatives: Float64Array;
  secondDerivatives: Float64Array;
  /** Empty between updates. */
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
  cyclesBefore: new Float64Array(CYCLE_COUNT),
  cyclesAfter: new Float64Array(CYCLE_COUNT),
  firstDerivatives: new Float64Array(CELL_WEIGHTS_END),
  secondDerivatives: new Float64Array(CELL_WEIGHTS_END),
  stiffGroups: [],
});

/** Has room for `size` numbers. Allocating the tables for each decision took a tenth of its time. */
export function getForecastTables(workspace: Workspace, size: number): ForecastTables {
  if (workspace.forecastTables.paidOn.length < size) workspace.forecastTables = newForecastTables(2 * size);
  return workspace.forecastTables;
}

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
