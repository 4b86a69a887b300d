import { COUNT_MEASURE, type Experiment, type Measure } from "../../domain/experiment.ts";
import { ALPHA_BY_CHECK, type ArmProblem, combineHalves, findArmProblems, type TallyLookup } from "./arm-checks.ts";
import { sequenceHalfWidth } from "./confidence-sequence.ts";
import { type RecoveryRate, recoveryRateOf } from "./tally.ts";
import { decideVerdict, type InvoiceCounts, type Verdict } from "./verdict.ts";

/** What the arms recovered by one measure, and how far they are apart: `dunlin` less `merchant`, in shares. */
export interface Comparison {
  measure: Measure;
  /** null: too few customers to say. */
  dunlin: RecoveryRate | null;
  merchant: RecoveryRate | null;
  difference: number | null;
  /** Variance of the difference. */
  variance: number | null;
  /**
   * The difference is between these, whenever one looks, with a chance of at least 96.5 %: what all looks so far leave over.
   * -1 and 1 as long as nothing can be said; `lower` above `upper` means that the difference has changed meanwhile.
   */
  lower: number;
  upper: number;
}

/**
 * The arithmetic of ranges, by number. The first one took an arm of which nothing, or everything, was recovered for certain to stay so: its ranges were
 * too narrow, or none at all.
 */
const METHOD_VERSION = 2;

/** What was known of an experiment at a moment. */
export interface InterimAnalysis {
  at: Date;
  /** By which arithmetic its ranges came about; the first one left it out. What another one ruled out, or found to differ, is asked anew. */
  method: number;
  invoices: InvoiceCounts;
  /** The primary one first. */
  comparisons: Comparison[];
  /** Found at this look or at an earlier one of the same method, the split's at any: time does not heal them. */
  troubles: ArmProblem[];
  verdict: Verdict;
}

/**
 * Looks at the results. Pure; looking more often changes no guarantee.
 *
 * @param measures  those with any results, in any order
 * @param waiting  failed invoices of the comparison that are too young to count
 * @param former  the look before
 */
export function analyzeExperiment(
  experiment: Experiment,
  tallies: TallyLookup,
  measures: readonly Measure[],
  waiting: number,
  former: Pick<InterimAnalysis, "method" | "comparisons" | "troubles"> | null,
  at: Date,
): InterimAnalysis {
  const isSameMethod = former?.method === METHOD_VERSION;
  const ruledOut = isSameMethod ? former.comparisons : [];
  // The split is counted: no range comes into it.
  const found = (former?.troubles ?? []).filter((trouble) => isSameMethod || trouble === "split");
  const ordered = [...new Set([experiment.primary, COUNT_MEASURE, ...measures])];
  const comparisons = ordered.map((measure) =>
    compareArms(
      experiment,
      tallies,
      measure,
      ruledOut.find((each) => each.measure === measure),
    ),
  );
  const troubles = [...new Set([...found, ...findArmProblems(experiment, tallies)])];
  const counted = (["dunlin", "merchant"] as const).map(
    (arm) => combineHalves(tallies, "comparison", arm, COUNT_MEASURE).due,
  );
  const invoices = { waiting, counted: counted[0]! + counted[1]! };
  const arms = {
    dunlin: combineHalves(tallies, "comparison", "dunlin", experiment.primary),
    merchant: combineHalves(tallies, "comparison", "merchant", experiment.primary),
  };
  const verdict = decideVerdict(experiment, comparisons[0]!, arms, troubles, invoices, at);
  return { at, method: METHOD_VERSION, invoices, comparisons, troubles, verdict };
}

function compareArms(
  { margin }: Pick<Experiment, "margin">,
  tallies: TallyLookup,
  measure: Measure,
  former: Comparison | undefined,
): Comparison {
  const dunlin = recoveryRateOf(combineHalves(tallies, "comparison", "dunlin", measure));
  const merchant = recoveryRateOf(combineHalves(tallies, "comparison", "merchant", measure));
  const { lower, upper } = former ?? { lower: -1, upper: 1 };
  if (!dunlin || !merchant) return { measure, dunlin, merchant, difference: null, variance: null, lower, upper };
  const difference = dunlin.share - merchant.share;
  const variance = dunlin.variance + merchant.variance;
  const half = sequenceHalfWidth(variance, margin, ALPHA_BY_CHECK.difference);
  return {
    measure,
    dunlin,
    merchant,
    difference,
    variance,
    lower: Math.max(lower, difference - half),
    upper: Math.min(upper, difference + half),
  };
}
