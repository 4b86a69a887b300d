import {
  type Arm,
  COUNT,
  type Experiment,
  type Half,
  type Measure,
  type Phase,
  type Tally,
} from "../domain/experiment.ts";
import { halfWidth } from "./always-valid.ts";
import { isSplitOff } from "./split.ts";
import { addTally, emptyTally, rateOf } from "./tally.ts";

/** The tallies of an experiment, by cell; a cell without customers may be missing. */
export type Tallies = (phase: Phase, arm: Arm, half: Half, measure: Measure) => Tally | undefined;

/** The chances of a false alarm, each over all days together; the three calibrations share one. In all 5 %. */
export const ALPHA = {
  difference: 0.035,
  split: { calibration: 0.001, comparison: 0.009 },
  calibration: 0.005,
} as const;
const CALIBRATIONS = 3;

/** What makes the arms incomparable. */
export type Trouble = "split" | "calibration" | "halves_dunlin" | "halves_merchant";

/** An arm, both halves together. */
export function wholeArm(tallies: Tallies, phase: Phase, arm: Arm, measure: Measure): Tally {
  const whole = emptyTally();
  for (const half of [1, 2] as const) addTally(whole, tallies(phase, arm, half, measure) ?? emptyTally());
  return whole;
}

/**
 * What is wrong with the arms by now: customers who are counted are not split as they were drawn, or groups that were treated
 * alike came out different.
 */
export function troublesOf(experiment: Pick<Experiment, "share" | "primary" | "margin">, tallies: Tallies): Trouble[] {
  const { primary, margin } = experiment;
  const troubles: Trouble[] = [];
  if ((["calibration", "comparison"] as const).some((phase) => isMismatched(experiment, tallies, phase)))
    troubles.push("split");
  const whole = (arm: Arm) => wholeArm(tallies, "calibration", arm, primary);
  if (differ(whole("dunlin"), whole("merchant"), margin)) troubles.push("calibration");
  for (const arm of ["dunlin", "merchant"] as const) {
    const [first, second] = ([1, 2] as const).map((half) => tallies("comparison", arm, half, primary));
    if (first && second && differ(first, second, margin)) troubles.push(`halves_${arm}`);
  }
  return troubles;
}

/** Sample ratio mismatch: customers lost, doubled or moved in one arm more than in the other. */
function isMismatched({ share }: Pick<Experiment, "share">, tallies: Tallies, phase: Phase): boolean {
  const [treated, others] = (["dunlin", "merchant"] as const).map(
    (arm) => wholeArm(tallies, phase, arm, COUNT).customers,
  );
  return isSplitOff(share, treated!, treated! + others!, ALPHA.split[phase]);
}

function differ(one: Tally, other: Tally, margin: number): boolean {
  const [a, b] = [rateOf(one), rateOf(other)];
  return (
    a !== null &&
    b !== null &&
    Math.abs(a.share - b.share) > halfWidth(a.variance + b.variance, margin, ALPHA.calibration / CALIBRATIONS)
  );
}
