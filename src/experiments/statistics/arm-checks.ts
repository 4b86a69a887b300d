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

/** The tallies of an experiment, by cell; a cell without customers may be missing. */
export type TallyLookup = (phase: Phase, arm: Arm, half: ArmHalf, measure: Measure) => CellTotals | undefined;

/** The chances of a false alarm, each over all days together; the three calibrations share one. In all 5 %. */
export const ALPHA_BY_CHECK = {
  difference: 0.035,
  split: { calibration: 0.001, comparison: 0.009 },
  calibration: 0.005,
} as const;
const CALIBRATION_CHECK_COUNT = 3;

/** What makes the arms incomparable. */
export type ArmProblem = "split" | "calibration" | "halves_dunlin" | "halves_merchant";

/** An arm, both halves together. */
export function combineHalves(tallies: TallyLookup, phase: Phase, arm: Arm, measure: Measure): CellTotals {
  const whole = emptyTally();
  for (const half of [1, 2] as const) addTally(whole, tallies(phase, arm, half, measure) ?? emptyTally());
  return whole;
}

/**
 * What is wrong with the arms by now: customers who are counted are not split as they were drawn, or groups that were treated
 * alike came out different.
 */
export function findArmProblems(
  experiment: Pick<Experiment, "share" | "primary" | "margin">,
  tallies: TallyLookup,
): ArmProblem[] {
  const { primary, margin } = experiment;
  const troubles: ArmProblem[] = [];
  if ((["calibration", "comparison"] as const).some((phase) => hasSampleRatioMismatch(experiment, tallies, phase)))
    troubles.push("split");
  const whole = (arm: Arm) => combineHalves(tallies, "calibration", arm, primary);
  if (isDifferent(whole("dunlin"), whole("merchant"), margin)) troubles.push("calibration");
  for (const arm of ["dunlin", "merchant"] as const) {
    const [first, second] = ([1, 2] as const).map((half) => tallies("comparison", arm, half, primary));
    if (first && second && isDifferent(first, second, margin)) troubles.push(`halves_${arm}`);
  }
  return troubles;
}

/** Sample ratio mismatch: customers lost, doubled or moved in one arm more than in the other. */
function hasSampleRatioMismatch({ share }: Pick<Experiment, "share">, tallies: TallyLookup, phase: Phase): boolean {
  const [treated, others] = (["dunlin", "merchant"] as const).map(
    (arm) => combineHalves(tallies, phase, arm, COUNT_MEASURE).customers,
  );
  return isSplitImbalanced(share, treated!, treated! + others!, ALPHA_BY_CHECK.split[phase]);
}

function isDifferent(one: CellTotals, other: CellTotals, margin: number): boolean {
  const [a, b] = [recoveryRateOf(one), recoveryRateOf(other)];
  return (
    a !== null &&
    b !== null &&
    Math.abs(a.share - b.share) >
      sequenceHalfWidth(a.variance + b.variance, margin, ALPHA_BY_CHECK.calibration / CALIBRATION_CHECK_COUNT)
  );
}
