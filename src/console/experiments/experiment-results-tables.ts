import type { Arm } from "../../domain/experiment.ts";
import { type ArmTotals, isArmShown } from "../../experiments/arm-totals.ts";
import type { InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import type { FailedWeek } from "../../tables/experiment-invoices.ts";
import { type Html, html } from "../html.ts";
import { bandChart } from "../show/band-chart.ts";
import { intervalPlot } from "../show/interval-plot.ts";
import { formatCount, formatShare } from "../show/number-format.ts";
import { stackBars } from "../show/stack-bars.ts";
import { stateLabel } from "../show/state-labels.ts";
import { table } from "../show/table.ts";
import { formatDay, timeElement, toDatetimeLocal } from "../show/time-format.ts";
import {
  effectInterval,
  effectRange,
  formatPoints,
  isKnownComparison,
  measureLabel,
  verdictState,
} from "./experiment-effect.ts";

const ARM_LABELS: Record<Arm, string> = { dunlin: "Dunlin", merchant: "your own system" };
const armLabel = ({ phase, arm }: ArmTotals) => `${ARM_LABELS[arm]}${phase === "calibration" ? " (calibration)" : ""}`;

export function armTable(armTotals: readonly ArmTotals[]): Html {
  const shown = armTotals.filter(isArmShown);
  const bars = shown.map((each) => ({
    label: armLabel(each),
    parts: [each.recovered, each.counted - each.recovered, each.young],
  }));
  const summary = shown.map(
    (each) => `${armLabel(each)}: ${each.recovered} of ${each.counted} recovered, ${each.young} too young`,
  );
  return html`${stackBars("the arms", summary.join("; "), ["recovered", "not recovered", "too young to count"], bars)}
${table(
  "Arms",
  [
    { head: "Arm", cell: armLabel },
    { head: "Failed", cell: ({ counted, young }) => formatCount(counted + young), numeric: true },
    { head: "Too young", cell: ({ young }) => formatCount(young), numeric: true },
    { head: "Counted", cell: ({ counted }) => formatCount(counted), numeric: true },
    { head: "Customers", cell: ({ customers }) => formatCount(customers), numeric: true },
    { head: "Recovered", cell: ({ recovered }) => formatCount(recovered), numeric: true },
    { head: "Rate", cell: ({ recovered, counted }) => formatShare(recovered, counted), numeric: true },
  ],
  shown,
)}`;
}

export function effectTable(look: InterimAnalysis): Html {
  const comparisons = look.comparisons.filter(isKnownComparison);
  if (comparisons.length === 0) return html`<h2>The effect</h2><p>${look.verdict.words}</p>`;
  const isVoid = look.verdict.outcome === "void";
  const summary = comparisons.map(
    (each) =>
      `${measureLabel(each.measure)} ${formatPoints(each.difference)}, between ${formatPoints(each.lower)} and ${formatPoints(each.upper)}`,
  );
  return html`<h2>The effect, in percentage points</h2>
${!isVoid && intervalPlot("the effect", `Dunlin minus your own system: ${summary.join("; ")}`, comparisons.map(effectInterval), formatPoints)}
${table(
  "The effect",
  [
    { head: "Recovered", cell: ({ measure }) => measureLabel(measure) },
    { head: "Dunlin", cell: ({ dunlin }) => formatShare(dunlin.share, 1), numeric: true },
    { head: "", cell: ({ dunlin }) => html`<small>${formatCount(dunlin.customers)} customers</small>` },
    { head: "Your own system", cell: ({ merchant }) => formatShare(merchant.share, 1), numeric: true },
    { head: "", cell: ({ merchant }) => html`<small>${formatCount(merchant.customers)} customers</small>` },
    { head: "Effect and its range", cell: (comparison) => effectRange(comparison, isVoid) },
  ],
  comparisons,
)}
<p class="text soft">You can look every day and stop at any time: with a probability of at least 96.5%, the ranges contain the true effect at all times together. A range that includes zero is not a result. The verdict uses the first line, which was chosen beforehand.</p>`;
}

export function effectChart(analyses: readonly InterimAnalysis[], zone: string): Html | null {
  const day = (at: Date) => formatDay(toDatetimeLocal(at, zone).slice(0, 10));
  const points = analyses
    .toReversed()
    .flatMap(({ at, comparisons: [primary] }) =>
      isKnownComparison(primary) && primary.lower <= primary.upper
        ? [{ at, middle: primary.difference, low: primary.lower, high: primary.upper }]
        : [],
    );
  const last = points.at(-1);
  const isVoid = analyses[0]!.verdict.outcome === "void";
  if (!last || points.length === 1) return null;
  const summary = `The effect by day: from ${formatPoints(points[0]!.middle)} on ${day(points[0]!.at)} to ${formatPoints(last.middle)} on ${day(last.at)}, now between ${formatPoints(last.low)} and ${formatPoints(last.high)}`;
  return html`<h2>The effect by day</h2>${!isVoid && bandChart("the effect by day", summary, points, formatPoints, (at) => day(at).slice(0, -5))}
<details class="more"><summary>The numbers</summary>${table(
    "Results by day",
    [
      { head: "Computed", cell: ({ at }: InterimAnalysis) => timeElement(at, zone) },
      { head: "Counted", cell: ({ invoices }) => formatCount(invoices.counted), numeric: true },
      { head: "Too young", cell: ({ invoices }) => formatCount(invoices.waiting), numeric: true },
      {
        head: "Effect in points",
        cell: ({ comparisons }) => effectRange(comparisons[0]!, isVoid),
      },
      { head: "Verdict", cell: ({ verdict }) => verdictState(verdict.outcome) },
    ],
    analyses.slice(0, 30),
  )}</details>`;
}

export function weekTable(weeks: readonly FailedWeek[]): Html {
  const rows = [...Map.groupBy(weeks, ({ week }) => week)].map(([week, arms]) => ({
    week,
    young: arms.reduce((sum, { failed, counted }) => sum + failed - counted, 0),
    of: (arm: Arm) => arms.find((each) => each.arm === arm) ?? { failed: 0, counted: 0, recovered: 0 },
  }));
  const rate = (arm: Arm) => ({
    head: `Recovered, ${ARM_LABELS[arm]}`,
    cell: ({ of }: (typeof rows)[number]) =>
      of(arm).counted === 0
        ? html`<span class="soft">–</span>`
        : html`${formatShare(of(arm).recovered, of(arm).counted)} <small>${formatCount(of(arm).recovered)} of ${formatCount(of(arm).counted)}</small>`,
    numeric: true,
  });
  return html`<h2>By the week in which invoices failed</h2>
${table(
  "Weeks",
  [
    { head: "Week of", cell: ({ week }) => formatDay(week) },
    { head: "Failed", cell: ({ of }) => formatCount(of("dunlin").failed + of("merchant").failed), numeric: true },
    rate("dunlin"),
    rate("merchant"),
    {
      head: "",
      cell: ({ young }) =>
        young > 0
          ? stateLabel(`incomplete: ${formatCount(young)} too young`, "warn")
          : html`<span class="soft">all counted</span>`,
    },
  ],
  rows,
)}`;
}
