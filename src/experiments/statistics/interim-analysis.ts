import { COUNT_MEASURE, type Experiment, type Measure } from "../../domain/experiment.ts";
import { ALPHA_BY_CHECK, type ArmProblem, combineHalves, findArmProblems, type TallyLookup } from "./arm-checks.ts";
import { sequenceHalfWidth } from "./confidence-sequence.ts";
import { type RecoveryRate, recoveryRateOf } from "./tally.ts";
import { decideVerdict, type InvoiceCounts, type Verdict } from "./verdict.ts";

/** Recovery rates by one measure. `difference` is `dunlin` minus `merchant`, as a share. */
export interface Comparison {
  measure: Measure;
  /** null: too few customers. */
  dunlin: RecoveryRate | null;
  merchant: RecoveryRate | null;
  difference: number | null;
  variance: number | null;
  /**
   * Bounds that always hold with at least 96.5% probability: the intersection of all intervals so far. -1 and 1 before the first
   * interval. `lower` is above `upper` if the difference has changed.
   */
  lower: number;
  upper: number;
}

/**
 * Interval formula's version. Version 1 had intervals that were too narrow, or none, if an arm recovered nothing or
 * everything.
 */
const METHOD_VERSION = 2;

export interface InterimAnalysis {
  at: Date;
  /** Missing in version 1. Bounds and problems from another version are computed again. */
  method: number;
  invoices: InvoiceCounts;
  /** The primary measure first. */
  comparisons: Comparison[];
  /** Never disappear, unless the version changes; `split` stays even then. */
  troubles: ArmProblem[];
  verdict: Verdict;
}

/**
 * Pure. More frequent analyses weaken no guarantee.
 *
 * @param measures  the measures with results, in any order
 * @param waiting  immature invoices in the comparison
 */
export function analyzeExperiment(
  experiment: Experiment,
  tallies: TallyLookup,
  measures: readonly Measure[],
  waiting: number,
  previous: Pick<InterimAnalysis, "method" | "comparisons" | "troubles"> | null,
  at: Date,
): InterimAnalysis {
  const isSameMethod = previous?.method === METHOD_VERSION;
  const earlier = isSameMethod ? previous.comparisons : [];
  // The split check does not use the interval formula.
  const earlierProblems = (previous?.troubles ?? []).filter((problem) => isSameMethod || problem === "split");
  const orderedMeasures = [...new Set([experiment.primary, COUNT_MEASURE, ...measures])];
  const comparisons = orderedMeasures.map((measure) =>
    compareArms(
      experiment,
      tallies,
      measure,
      earlier.find((each) => each.measure === measure),
    ),
  );
  const problems = [...new Set([...earlierProblems, ...findArmProblems(experiment, tallies)])];
  const counted = (["dunlin", "merchant"] as const).map(
    (arm) => combineHalves(tallies, "comparison", arm, COUNT_MEASURE).due,
  );
  const invoices = { waiting, counted: counted[0]! + counted[1]! };
  const arms = {
    dunlin: combineHalves(tallies, "comparison", "dunlin", experiment.primary),
    merchant: combineHalves(tallies, "comparison", "merchant", experiment.primary),
  };
  const verdict = decideVerdict(experiment, comparisons[0]!, arms, problems, invoices, at);
  return { at, method: METHOD_VERSION, invoices, comparisons, troubles: problems, verdict };
}

function compareArms(
  { margin }: Pick<Experiment, "margin">,
  tallies: TallyLookup,
  measure: Measure,
  previous: Comparison | undefined,
): Comparison {
  const dunlin = recoveryRateOf(combineHalves(tallies, "comparison", "dunlin", measure));
  const merchant = recoveryRateOf(combineHalves(tallies, "comparison", "merchant", measure));
  const { lower, upper } = previous ?? { lower: -1, upper: 1 };
  if (!dunlin || !merchant) return { measure, dunlin, merchant, difference: null, variance: null, lower, upper };
  const difference = dunlin.share - merchant.share;
  const variance = dunlin.variance + merchant.variance;
  const halfWidth = sequenceHalfWidth(variance, margin, ALPHA_BY_CHECK.difference);
  return {
    measure,
    dunlin,
    merchant,
    difference,
    variance,
    lower: Math.max(lower, difference - halfWidth),
    upper: Math.min(upper, difference + halfWidth),
  };
}
