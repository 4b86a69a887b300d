import type { InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import { type Html, html } from "../html.ts";
import { formatCount, formatShare } from "../show/number-format.ts";
import { table } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";
import {
  effectRange,
  isKnownComparison,
  type KnownComparison,
  measureLabel,
  verdictState,
} from "./experiment-effect.ts";

const SHOWN_DAYS = 30;

/** The numbers behind the cards and their courses. Struck out if the arms cannot be compared. */
export function effectNumbers(analyses: readonly InterimAnalysis[], isVoid: boolean, zone: string): Html {
  const { comparisons } = analyses[0]!;
  return html`<details class="more"><summary>Show the numbers</summary>
${effectTable(comparisons.filter(isKnownComparison), isVoid)}
${table(
  "Results by day",
  [
    { head: "Computed", cell: ({ at }: InterimAnalysis) => timeElement(at, zone) },
    { head: "Counted", cell: ({ invoices }) => formatCount(invoices.counted), numeric: true },
    { head: "Too young", cell: ({ invoices }) => formatCount(invoices.waiting), numeric: true },
    ...comparisons.map(({ measure }) => ({
      head: `Points, ${measureLabel(measure)}`,
      cell: (analysis: InterimAnalysis) => {
        const found = analysis.comparisons.find((each) => each.measure === measure);
        return found && effectRange(found, isVoid);
      },
    })),
    { head: "Verdict", cell: ({ verdict }) => verdictState(verdict.outcome) },
  ],
  analyses.slice(0, SHOWN_DAYS),
)}
<p class="text soft">You can look every day and stop at any time: with a probability of at least 96.5%, the ranges of a measure contain its true effect at all times together. A range that includes zero is not a result. The verdict uses the measure that decides, which was chosen beforehand.</p></details>`;
}

const effectTable = (comparisons: readonly KnownComparison[], isVoid: boolean): Html | null =>
  comparisons.length === 0
    ? null
    : table(
        "The effect",
        [
          { head: "Recovered", cell: ({ measure }) => measureLabel(measure) },
          { head: "Dunlin", cell: ({ dunlin }) => formatShare(dunlin.share, 1), numeric: true },
          { head: "", cell: ({ dunlin }) => html`<small>${formatCount(dunlin.customers)} customers</small>` },
          { head: "Your own retries", cell: ({ merchant }) => formatShare(merchant.share, 1), numeric: true },
          { head: "", cell: ({ merchant }) => html`<small>${formatCount(merchant.customers)} customers</small>` },
          { head: "Effect and its range, points", cell: (comparison) => effectRange(comparison, isVoid) },
        ],
        comparisons,
      );
