import { DAY_MS, WEEK_MS } from "../../domain/durations.ts";
import { type Arm, type CellTotals, COUNT_MEASURE, type Experiment } from "../../domain/experiment.ts";
import type { ArmProblem } from "./arm-checks.ts";
import type { Comparison } from "./interim-analysis.ts";
import { formatMarginPoints, formatSharePoints } from "./percentage-points.ts";
import { invoicesForWidth } from "./sample-size.ts";
import { CUSTOMERS_MIN } from "./tally.ts";

/**
 * - `better`, `worse`: Dunlin recovers more, or less, than the merchant's own system.
 * - `alike`: the difference is below the margin in both directions.
 * - `open`: cannot tell yet.
 * - `moving`: the difference changed over time, so no single number is true.
 * - `void`: the arms cannot be compared.
 */
export type VerdictOutcome = "better" | "worse" | "alike" | "open" | "moving" | "void";

/** Failed invoices in the comparison. */
export interface InvoiceCounts {
  /** Mature invoices. */
  counted: number;
  /** Immature invoices. */
  waiting: number;
}

export interface Verdict {
  outcome: VerdictOutcome;
  words: string;
  /** For `open`: expected weeks until a verdict at the current rate; null if unknown or never. */
  weeksMore: number | null;
}

const PROBLEM_TEXT: Record<ArmProblem, string> = {
  split: "the counted customers do not match the share of the experiment, so some are missing from one arm",
  calibration: "the arms differed during calibration, when the merchant's own system handled both",
  halves_dunlin: "the two halves of Dunlin's arm differ, although both were treated alike",
  halves_merchant: "the two halves of the merchant's arm differ, although both were treated alike",
};

/** Returns what one measure says by itself. Whether the arms can be compared is not its concern. */
export function outcomeOf(
  { difference, lower, upper }: Pick<Comparison, "difference" | "lower" | "upper">,
  margin: number,
): Exclude<VerdictOutcome, "void"> {
  if (difference === null) return "open";
  if (lower > upper) return "moving";
  if (lower > 0) return "better";
  if (upper < 0) return "worse";
  return lower > -margin && upper < margin ? "alike" : "open";
}

/** @param arms  totals of the primary measure */
export function decideVerdict(
  experiment: Experiment,
  comparison: Comparison,
  arms: Readonly<Record<Arm, CellTotals>>,
  problems: readonly ArmProblem[],
  invoices: InvoiceCounts,
  at: Date,
): Verdict {
  const { margin } = experiment;
  if (problems.length > 0)
    return finalVerdict(
      "void",
      `Do not use this result: ${problems.map((problem) => PROBLEM_TEXT[problem]).join("; ")}.`,
    );
  if (comparison.difference === null) return verdictTooEarly(experiment, arms, invoices, at);
  const range = rangeText(comparison, margin);
  const outcome = outcomeOf(comparison, margin);
  if (outcome === "moving")
    return finalVerdict(
      outcome,
      "The difference changed during the experiment, so no single number describes it. See the effect by day.",
    );
  if (outcome === "better")
    return finalVerdict(outcome, `Dunlin recovers more than the merchant's own system: ${range}.`);
  if (outcome === "worse")
    return finalVerdict(outcome, `Dunlin recovers less than the merchant's own system: ${range}.`);
  if (outcome === "alike")
    return finalVerdict(
      outcome,
      `No difference that matters (${formatMarginPoints(margin)} points or more): ${range}.`,
    );
  const weeksMore = estimateWeeksUntilVerdict(experiment, comparison, invoices, at);
  const outlook =
    weeksMore === null
      ? "No more invoices come in, and there are too few for a verdict."
      : `A verdict is expected in about ${weeksMore} ${weeksMore === 1 ? "week" : "weeks"}.`;
  return { outcome: "open", words: `Cannot tell yet: Dunlin recovers ${range}. ${outlook}`, weeksMore };
}

const finalVerdict = (outcome: VerdictOutcome, words: string): Verdict => ({ outcome, words, weeksMore: null });

function verdictTooEarly(
  { comparedFrom, maturityDays, primary, stoppedAt }: Experiment,
  { dunlin, merchant }: Readonly<Record<Arm, CellTotals>>,
  { waiting }: InvoiceCounts,
  at: Date,
): Verdict {
  if (stoppedAt !== null && stoppedAt <= comparedFrom)
    return finalVerdict("open", "The experiment was stopped during calibration, before anything could be compared.");
  // Other customers have invoices in other currencies only.
  const group = primary === COUNT_MEASURE ? "customers" : `customers with invoices in ${primary}`;
  const customers = `${dunlin.customers} ${group} are counted in Dunlin's arm and ${merchant.customers} in the merchant's`;
  const areTooFew = Math.min(dunlin.customers, merchant.customers) < CUSTOMERS_MIN;
  const firstResultsAt = comparedFrom.getTime() + maturityDays * DAY_MS;
  const isOver = stoppedAt !== null && waiting === 0;
  if (at.getTime() < firstResultsAt && !isOver)
    return finalVerdict(
      "open",
      `Too early: an invoice counts ${maturityDays} days after it failed, so the first results come on ${new Date(firstResultsAt).toISOString().slice(0, 10)}.`,
    );
  const reason = areTooFew ? `; a verdict needs ${CUSTOMERS_MIN} in each` : ", but a few large ones outweigh the rest";
  const state = isOver ? "No verdict is possible, because no more invoices come in" : "Too early";
  return finalVerdict("open", `${state}: ${customers}${reason}.`);
}

function rangeText({ measure, lower, upper }: Comparison, margin: number): string {
  const [basis, fewer] =
    measure === COUNT_MEASURE ? ["100 failed invoices", "fewer"] : [`100 ${measure} of failed invoices`, "less"];
  const [low, high] = [formatSharePoints(lower, margin), formatSharePoints(upper, margin)];
  if (lower >= 0) return `${low} to ${high} more per ${basis}`;
  if (upper <= 0) return `${high} to ${low} ${fewer} per ${basis}`;
  return `between ${low} ${fewer} and ${high} more per ${basis}`;
}

/**
 * Returns the weeks until a verdict, if the difference stays as it is and invoices keep coming at the same rate. A verdict needs
 * an interval that excludes zero or fits within the margins, whichever is sooner.
 */
function estimateWeeksUntilVerdict(
  { margin, comparedFrom, stoppedAt, maturityDays }: Experiment,
  comparison: Comparison,
  { counted, waiting }: InvoiceCounts,
  at: Date,
): number | null {
  const size = Math.abs(comparison.difference!);
  const width = Math.max(size, margin - size);
  const needed = invoicesForWidth(counted, comparison.variance!, width, margin);
  const entered = counted + waiting;
  if (stoppedAt !== null && needed > entered) return null;
  const invoicesPerMs = entered / ((stoppedAt ?? at).getTime() - comparedFrom.getTime());
  const verdictAt = comparedFrom.getTime() + needed / invoicesPerMs + maturityDays * DAY_MS;
  return Math.max(1, Math.ceil((verdictAt - at.getTime()) / WEEK_MS));
}
