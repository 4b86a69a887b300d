import {
  type Arm,
  type ArmHalf,
  type CellTotals,
  COUNT_MEASURE,
  type Experiment,
  type Measure,
  type Phase,
} from "../../domain/experiment.ts";
import { sequenceHalfWidth } from "./confidence-sequence.ts";
import { isSplitImbalanced, splitPValue } from "./split-check.ts";
import { addTally, emptyTally, recoveryRateOf } from "./tally.ts";

/** A cell without customers may be missing. */
export type TallyLookup = (phase: Phase, arm: Arm, half: ArmHalf, measure: Measure) => CellTotals | undefined;

/** Probability of a false alarm over the whole experiment, 5% in total. Three comparisons share `calibration`. */
export const ALPHA_BY_CHECK = {
  difference: 0.035,
  split: { calibration: 0.001, comparison: 0.009 },
  calibration: 0.005,
} as const;
const CALIBRATION_CHECK_COUNT = 3;

export type ArmProblem = "split" | "calibration" | "halves_dunlin" | "halves_merchant";

export function combineHalves(tallies: TallyLookup, phase: Phase, arm: Arm, measure: Measure): CellTotals {
  const totals = emptyTally();
  for (const half of [1, 2] as const) addTally(totals, tallies(phase, arm, half, measure) ?? emptyTally());
  return totals;
}

export interface SplitMeasure {
  phase: Phase;
  /** Customers in Dunlin's arm. */
  treated: number;
  customers: number;
  p: number;
  isFailed: boolean;
}

/** Detects a sample ratio mismatch: one arm lost, duplicated or moved more customers than the other. */
export function measureSplit({ share }: Pick<Experiment, "share">, tallies: TallyLookup, phase: Phase): SplitMeasure {
  const [treated, untreated] = (["dunlin", "merchant"] as const).map(
    (arm) => combineHalves(tallies, phase, arm, COUNT_MEASURE).customers,
  );
  const customers = treated! + untreated!;
  return {
    phase,
    treated: treated!,
    customers,
    p: splitPValue(share, treated!, customers),
    isFailed: isSplitImbalanced(share, treated!, customers, ALPHA_BY_CHECK.split[phase]),
  };
}

/** Two groups with the same treatment. The difference is a share, with half the width of its interval. */
export interface SameTreatmentMeasure {
  problem: Exclude<ArmProblem, "split">;
  /** Null: too few customers. */
  difference: number | null;
  halfWidth: number;
  isFailed: boolean;
}

/** Compares the arms in the calibration, and the halves of each arm in the comparison. */
export function measureSameTreatment(
  { primary, margin }: Pick<Experiment, "primary" | "margin">,
  tallies: TallyLookup,
): SameTreatmentMeasure[] {
  const calibrated = (arm: Arm) => combineHalves(tallies, "calibration", arm, primary);
  const half = (arm: Arm, half: ArmHalf) => tallies("comparison", arm, half, primary) ?? emptyTally();
  const measure = (
    problem: SameTreatmentMeasure["problem"],
    first: CellTotals,
    second: CellTotals,
  ): SameTreatmentMeasure => {
    const [a, b] = [recoveryRateOf(first), recoveryRateOf(second)];
    if (a === null || b === null) return { problem, difference: null, halfWidth: 1, isFailed: false };
    const difference = a.share - b.share;
    const alpha = ALPHA_BY_CHECK.calibration / CALIBRATION_CHECK_COUNT;
    const halfWidth = sequenceHalfWidth(a.variance + b.variance, margin, alpha);
    return { problem, difference, halfWidth, isFailed: Math.abs(difference) > halfWidth };
  };
  return [
    measure("calibration", calibrated("dunlin"), calibrated("merchant")),
    measure("halves_dunlin", half("dunlin", 1), half("dunlin", 2)),
    measure("halves_merchant", half("merchant", 1), half("merchant", 2)),
  ];
}

/** Returns the problems so far: an imbalanced split, or a difference between groups with the same treatment. */
export function findArmProblems(
  experiment: Pick<Experiment, "share" | "primary" | "margin">,
  tallies: TallyLookup,
): ArmProblem[] {
  const phases = ["calibration", "comparison"] as const;
  const isSplitWrong = phases.some((phase) => measureSplit(experiment, tallies, phase).isFailed);
  const different = measureSameTreatment(experiment, tallies).filter(({ isFailed }) => isFailed);
  return [...(isSplitWrong ? (["split"] as const) : []), ...different.map(({ problem }) => problem)];
}
