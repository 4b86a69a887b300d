import { DAY_MS, WEEK_MS } from "../../domain/durations.ts";
import { type Arm, type CellTotals, COUNT_MEASURE, type Experiment } from "../../domain/experiment.ts";
import { ALPHA_BY_CHECK, type ArmProblem } from "./arm-checks.ts";
import { varianceFor } from "./confidence-sequence.ts";
import type { Comparison } from "./interim-analysis.ts";
import { formatMarginPoints, formatSharePoints } from "./percentage-points.ts";
import { CUSTOMERS_MIN } from "./tally.ts";

/**
 * - `better`, `worse`: Dunlin recovers more, or less, than the merchant's own system.
 * - `alike`: the difference is smaller than the margin, whichever way it goes.
 * - `open`: cannot tell yet.
 * - `moving`: the difference is not the same as it was, so no single number is true.
 * - `void`: the arms can't be compared.
 */
export type VerdictOutcome = "better" | "worse" | "alike" | "open" | "moving" | "void";

/** Failed invoices of the comparison. */
export interface InvoiceCounts {
  /** Old enough to count. */
  counted: number;
  /** Too young. */
  waiting: number;
}

export interface Verdict {
  outcome: VerdictOutcome;
  /** What a person should know, in a few sentences. */
  words: string;
  /** Of an open one: how many weeks more, if it goes on as it did; null when that can't be said, or it will never be enough. */
  weeksMore: number | null;
}

const PROBLEM_TEXT: Record<ArmProblem, string> = {
  split: "the customers who are counted are not split as they were drawn, so some are missing from one arm",
  calibration: "the arms differed when both were left to the merchant's own system",
  halves_dunlin: "the two halves of Dunlin's arm, treated alike, differ",
  halves_merchant: "the two halves of the merchant's arm, treated alike, differ",
};

/** The verdict on the primary comparison. `arms`: what it compares. */
export function decideVerdict(
  experiment: Experiment,
  comparison: Comparison,
  arms: Readonly<Record<Arm, CellTotals>>,
  troubles: readonly ArmProblem[],
  invoices: InvoiceCounts,
  at: Date,
): Verdict {
  const { lower, upper } = comparison;
  const { margin } = experiment;
  if (troubles.length > 0)
    return finalVerdict(
      "void",
      `Do not use this result: ${troubles.map((trouble) => PROBLEM_TEXT[trouble]).join("; ")}.`,
    );
  if (comparison.difference === null) return verdictTooEarly(experiment, arms, invoices, at);
  const range = rangeText(comparison, margin);
  if (lower > upper)
    return finalVerdict(
      "moving",
      "The difference has changed while the experiment ran, so no single number is true. Look at it by day.",
    );
  if (lower > 0) return finalVerdict("better", `Dunlin recovers more than the merchant's own system: ${range}.`);
  if (upper < 0) return finalVerdict("worse", `Dunlin recovers less than the merchant's own system: ${range}.`);
  if (lower > -margin && upper < margin)
    return finalVerdict(
      "alike",
      `No difference that matters (${formatMarginPoints(margin)} points or more): ${range}.`,
    );
  const weeksMore = estimateWeeksUntilVerdict(experiment, comparison, invoices, at);
  const wait =
    weeksMore === null
      ? "No more invoices come in, and those that did will not be enough."
      : `About ${weeksMore} more ${weeksMore === 1 ? "week" : "weeks"} will tell.`;
  return { outcome: "open", words: `Cannot tell yet: ${range}. ${wait}`, weeksMore };
}

/** One that time does not change, or nobody knows when. */
const finalVerdict = (outcome: VerdictOutcome, words: string): Verdict => ({ outcome, words, weeksMore: null });

function verdictTooEarly(
  { comparedFrom, maturityDays, primary, stoppedAt }: Experiment,
  { dunlin, merchant }: Readonly<Record<Arm, CellTotals>>,
  { waiting }: InvoiceCounts,
  at: Date,
): Verdict {
  if (stoppedAt !== null && stoppedAt <= comparedFrom)
    return finalVerdict("open", "It was stopped during its calibration, before anything could be compared.");
  // Others have invoices in other currencies alone.
  const who = primary === COUNT_MEASURE ? "customers" : `customers with invoices in ${primary}`;
  const customers = `${dunlin.customers} ${who} count in Dunlin's arm and ${merchant.customers} in the merchant's`;
  const few = Math.min(dunlin.customers, merchant.customers) < CUSTOMERS_MIN;
  const first = comparedFrom.getTime() + maturityDays * DAY_MS;
  const isOver = stoppedAt !== null && waiting === 0;
  if (at.getTime() < first && !isOver)
    return finalVerdict(
      "open",
      `Too early: an invoice counts ${maturityDays} days after it failed, so the first results come on ${new Date(first).toISOString().slice(0, 10)}.`,
    );
  const why = few ? `; a verdict takes ${CUSTOMERS_MIN} in each` : ", of whom a few large ones outweigh the rest";
  const when = isOver ? "Nothing can be told, and no more invoices come in" : "Too early";
  return finalVerdict("open", `${when}: ${customers}${why}.`);
}

/** `of 100 failed invoices 1.2 to 5.0 more`. */
function rangeText({ measure, lower, upper }: Comparison, margin: number): string {
  const of = measure === COUNT_MEASURE ? "of 100 failed invoices" : `of 100 ${measure} that failed`;
  const [low, high] = [formatSharePoints(lower, margin), formatSharePoints(upper, margin)];
  if (lower >= 0) return `${of} ${low} to ${high} more`;
  if (upper <= 0) return `${of} ${high} to ${low} fewer`;
  return `${of} Dunlin recovers between ${low} fewer and ${high} more`;
}

/**
 * Weeks until there is a verdict, if the difference is what it seems to be by now: the interval must come off zero, or fit between
 * the margins, whichever is sooner. Invoices keep coming as they did, and each takes its time to count.
 */
function estimateWeeksUntilVerdict(
  { margin, comparedFrom, stoppedAt, maturityDays }: Experiment,
  comparison: Comparison,
  { counted, waiting }: InvoiceCounts,
  at: Date,
): number | null {
  const size = Math.abs(comparison.difference!);
  const width = Math.max(size, margin - size);
  const needed = counted * (comparison.variance! / varianceFor(width, margin, ALPHA_BY_CHECK.difference));
  const entered = counted + waiting;
  if (stoppedAt !== null && needed > entered) return null;
  const perMs = entered / ((stoppedAt ?? at).getTime() - comparedFrom.getTime());
  const toldAt = comparedFrom.getTime() + needed / perMs + maturityDays * DAY_MS;
  return Math.max(1, Math.ceil((toldAt - at.getTime()) / WEEK_MS));
}
