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

/** From failed invoices to recovered ones, arm by arm. */
export function armTable(sums: readonly ArmTotals[]): Html {
  const shown = sums.filter(isArmShown);
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
    { head: "Left to", cell: armLabel },
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

/** By how much the arms differ, in each measure, and how sure that is. */
export function effectTable(look: InterimAnalysis): Html {
  const told = look.comparisons.filter(isKnownComparison);
  if (told.length === 0) return html`<h2>The effect</h2><p>${look.verdict.words}</p>`;
  const isVoid = look.verdict.outcome === "void";
  const summary = told.map(
    (each) =>
      `${measureLabel(each.measure)} ${formatPoints(each.difference)}, between ${formatPoints(each.lower)} and ${formatPoints(each.upper)}`,
  );
  return html`<h2>The effect, in points of a hundred that failed</h2>
${!isVoid && intervalPlot("the effect", `Dunlin less your own system: ${summary.join("; ")}`, told.map(effectInterval), formatPoints)}
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
  told,
)}
<p class="text soft">Look every day, and stop when you like: the ranges are made for that, and hold the truth with a chance of at least 96.5% at all times together. A range that includes zero is not a result, whichever way it leans. The verdict rests on the first line, which was chosen beforehand.</p>`;
}

/** The primary effect, look by look. */
export function effectChart(looks: readonly InterimAnalysis[], zone: string): Html | null {
  const day = (at: Date) => formatDay(toDatetimeLocal(at, zone).slice(0, 10));
  const course = looks
    .toReversed()
    .flatMap(({ at, comparisons: [primary] }) =>
      isKnownComparison(primary) && primary.lower <= primary.upper
        ? [{ at, middle: primary.difference, low: primary.lower, high: primary.upper }]
        : [],
    );
  const last = course.at(-1);
  const isVoid = looks[0]!.verdict.outcome === "void";
  if (!last || course.length === 1) return null;
  const summary = `The effect by day: from ${formatPoints(course[0]!.middle)} on ${day(course[0]!.at)} to ${formatPoints(last.middle)} on ${day(last.at)}, now between ${formatPoints(last.low)} and ${formatPoints(last.high)}`;
  return html`<h2>The effect by day</h2>${!isVoid && bandChart("the effect by day", summary, course, formatPoints, (at) => day(at).slice(0, -5))}
<details class="more"><summary>The numbers</summary>${table(
    "Looks",
    [
      { head: "Looked at", cell: ({ at }: InterimAnalysis) => timeElement(at, zone) },
      { head: "Counted", cell: ({ invoices }) => formatCount(invoices.counted), numeric: true },
      { head: "Too young", cell: ({ invoices }) => formatCount(invoices.waiting), numeric: true },
      {
        head: "Effect in points",
        cell: ({ comparisons }) => effectRange(comparisons[0]!, isVoid),
      },
      { head: "Verdict", cell: ({ verdict }) => verdictState(verdict.outcome) },
    ],
    looks.slice(0, 30),
  )}</details>`;
}

/** By the week in which invoices failed; what is not over yet is marked, since late payments are still to come. */
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
          ? stateLabel(`not over: ${formatCount(young)} too young`, "warn")
          : html`<span class="soft">all counted</span>`,
    },
  ],
  rows,
)}`;
}
