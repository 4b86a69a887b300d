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
import { isSplitImbalanced } from "./split-check.ts";
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

/** Returns the problems so far: an imbalanced split, or a difference between groups with the same treatment. */
export function findArmProblems(
  experiment: Pick<Experiment, "share" | "primary" | "margin">,
  tallies: TallyLookup,
): ArmProblem[] {
  const { primary, margin } = experiment;
  const problems: ArmProblem[] = [];
  if ((["calibration", "comparison"] as const).some((phase) => hasSampleRatioMismatch(experiment, tallies, phase)))
    problems.push("split");
  const totalsOf = (arm: Arm) => combineHalves(tallies, "calibration", arm, primary);
  if (isDifferent(totalsOf("dunlin"), totalsOf("merchant"), margin)) problems.push("calibration");
  for (const arm of ["dunlin", "merchant"] as const) {
    const [first, second] = ([1, 2] as const).map((half) => tallies("comparison", arm, half, primary));
    if (first && second && isDifferent(first, second, margin)) problems.push(`halves_${arm}`);
  }
  return problems;
}

/** Detects a sample ratio mismatch: one arm lost, duplicated or moved more customers than the other. */
function hasSampleRatioMismatch({ share }: Pick<Experiment, "share">, tallies: TallyLookup, phase: Phase): boolean {
  const [treated, untreated] = (["dunlin", "merchant"] as const).map(
    (arm) => combineHalves(tallies, phase, arm, COUNT_MEASURE).customers,
  );
  return isSplitImbalanced(share, treated!, treated! + untreated!, ALPHA_BY_CHECK.split[phase]);
}

function isDifferent(first: CellTotals, second: CellTotals, margin: number): boolean {
  const [a, b] = [recoveryRateOf(first), recoveryRateOf(second)];
  return (
    a !== null &&
    b !== null &&
    Math.abs(a.share - b.share) >
      sequenceHalfWidth(a.variance + b.variance, margin, ALPHA_BY_CHECK.calibration / CALIBRATION_CHECK_COUNT)
  );
}
