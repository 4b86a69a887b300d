import { COUNT, type Experiment, type Measure } from "../domain/experiment.ts";
import { halfWidth } from "./always-valid.ts";
import { ALPHA, type Tallies, type Trouble, troublesOf, wholeArm } from "./checks.ts";
import { type Rate, rateOf } from "./tally.ts";
import { type Invoices, type Verdict, verdictOf } from "./verdict.ts";

/** What the arms recovered by one measure, and how far they are apart: `dunlin` less `merchant`, in shares. */
export interface Comparison {
  measure: Measure;
  /** null: too few customers to say. */
  dunlin: Rate | null;
  merchant: Rate | null;
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
const METHOD = 2;

/** What was known of an experiment at a moment. */
export interface Look {
  at: Date;
  /** By which arithmetic its ranges came about; the first one left it out. What another one ruled out, or found to differ, is asked anew. */
  method: number;
  invoices: Invoices;
  /** The primary one first. */
  comparisons: Comparison[];
  /** Found at this look or at an earlier one of the same method, the split's at any: time does not heal them. */
  troubles: Trouble[];
  verdict: Verdict;
}

/**
 * Looks at the results. Pure; looking more often changes no guarantee.
 *
 * @param measures  those with any results, in any order
 * @param waiting  failed invoices of the comparison that are too young to count
 * @param former  the look before
 */
export function lookAt(
  experiment: Experiment,
  tallies: Tallies,
  measures: readonly Measure[],
  waiting: number,
  former: Pick<Look, "method" | "comparisons" | "troubles"> | null,
  at: Date,
): Look {
  const isSameMethod = former?.method === METHOD;
  const ruledOut = isSameMethod ? former.comparisons : [];
  // The split is counted: no range comes into it.
  const found = (former?.troubles ?? []).filter((trouble) => isSameMethod || trouble === "split");
  const ordered = [...new Set([experiment.primary, COUNT, ...measures])];
  const comparisons = ordered.map((measure) =>
    compare(
      experiment,
      tallies,
      measure,
      ruledOut.find((each) => each.measure === measure),
    ),
  );
  const troubles = [...new Set([...found, ...troublesOf(experiment, tallies)])];
  const counted = (["dunlin", "merchant"] as const).map((arm) => wholeArm(tallies, "comparison", arm, COUNT).due);
  const invoices = { waiting, counted: counted[0]! + counted[1]! };
  const arms = {
    dunlin: wholeArm(tallies, "comparison", "dunlin", experiment.primary),
    merchant: wholeArm(tallies, "comparison", "merchant", experiment.primary),
  };
  const verdict = verdictOf(experiment, comparisons[0]!, arms, troubles, invoices, at);
  return { at, method: METHOD, invoices, comparisons, troubles, verdict };
}

function compare(
  { margin }: Pick<Experiment, "margin">,
  tallies: Tallies,
  measure: Measure,
  former: Comparison | undefined,
): Comparison {
  const dunlin = rateOf(wholeArm(tallies, "comparison", "dunlin", measure));
  const merchant = rateOf(wholeArm(tallies, "comparison", "merchant", measure));
  const { lower, upper } = former ?? { lower: -1, upper: 1 };
  if (!dunlin || !merchant) return { measure, dunlin, merchant, difference: null, variance: null, lower, upper };
  const difference = dunlin.share - merchant.share;
  const variance = dunlin.variance + merchant.variance;
  const half = halfWidth(variance, margin, ALPHA.difference);
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
