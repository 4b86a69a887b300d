import type { Arm } from "../../domain/experiment.ts";
import type { Look } from "../../experiments/look.ts";
import { type ArmSums, isShown } from "../../recovery/arm-sums.ts";
import type { FailedWeek } from "../../store/experiment-invoices.ts";
import { type Html, html } from "../html.ts";
import { bandChart } from "../show/band-chart.ts";
import { intervalPlot } from "../show/interval-plot.ts";
import { dayText, localField, moment } from "../show/moments.ts";
import { count, share } from "../show/money.ts";
import { stackBars } from "../show/stack-bars.ts";
import { table } from "../show/table.ts";
import { state } from "../show/words.ts";
import { effect, intervalOf, isTold, measureWords, points, verdictState } from "./effect.ts";

const ARM_WORDS: Record<Arm, string> = { dunlin: "Dunlin", merchant: "your own system" };
const armWords = ({ phase, arm }: ArmSums) => `${ARM_WORDS[arm]}${phase === "calibration" ? " (calibration)" : ""}`;

/** From failed invoices to recovered ones, arm by arm. */
export function armTable(sums: readonly ArmSums[]): Html {
  const shown = sums.filter(isShown);
  const bars = shown.map((each) => ({
    label: armWords(each),
    parts: [each.recovered, each.counted - each.recovered, each.young],
  }));
  const summary = shown.map(
    (each) => `${armWords(each)}: ${each.recovered} of ${each.counted} recovered, ${each.young} too young`,
  );
  return html`${stackBars("the arms", summary.join("; "), ["recovered", "not recovered", "too young to count"], bars)}
${table(
  "Arms",
  [
    { head: "Left to", cell: armWords },
    { head: "Failed", cell: ({ counted, young }) => count(counted + young), numeric: true },
    { head: "Too young", cell: ({ young }) => count(young), numeric: true },
    { head: "Counted", cell: ({ counted }) => count(counted), numeric: true },
    { head: "Customers", cell: ({ customers }) => count(customers), numeric: true },
    { head: "Recovered", cell: ({ recovered }) => count(recovered), numeric: true },
    { head: "Rate", cell: ({ recovered, counted }) => share(recovered, counted), numeric: true },
  ],
  shown,
)}`;
}

/** By how much the arms differ, in each measure, and how sure that is. */
export function effects(look: Look): Html {
  const told = look.comparisons.filter(isTold);
  if (told.length === 0) return html`<h2>The effect</h2><p>${look.verdict.words}</p>`;
  const isVoid = look.verdict.outcome === "void";
  const summary = told.map(
    (each) =>
      `${measureWords(each.measure)} ${points(each.difference)}, between ${points(each.lower)} and ${points(each.upper)}`,
  );
  return html`<h2>The effect, in points of a hundred that failed</h2>
${!isVoid && intervalPlot("the effect", `Dunlin less your own system: ${summary.join("; ")}`, told.map(intervalOf), points)}
${table(
  "The effect",
  [
    { head: "Recovered", cell: ({ measure }) => measureWords(measure) },
    { head: "Dunlin", cell: ({ dunlin }) => share(dunlin.share, 1), numeric: true },
    { head: "", cell: ({ dunlin }) => html`<small>${count(dunlin.customers)} customers</small>` },
    { head: "Your own system", cell: ({ merchant }) => share(merchant.share, 1), numeric: true },
    { head: "", cell: ({ merchant }) => html`<small>${count(merchant.customers)} customers</small>` },
    { head: "Effect and its range", cell: (comparison) => effect(comparison, isVoid) },
  ],
  told,
)}
<p class="text soft">Look every day, and stop when you like: the ranges are made for that, and hold the truth with a chance of at least 96.5% at all times together. A range that includes zero is not a result, whichever way it leans. The verdict rests on the first line, which was chosen beforehand.</p>`;
}

/** The primary effect, look by look. */
export function courseOf(looks: readonly Look[], zone: string): Html | null {
  const day = (at: Date) => dayText(localField(at, zone).slice(0, 10));
  const course = looks
    .toReversed()
    .flatMap(({ at, comparisons: [primary] }) =>
      isTold(primary) && primary.lower <= primary.upper
        ? [{ at, middle: primary.difference, low: primary.lower, high: primary.upper }]
        : [],
    );
  const last = course.at(-1);
  const isVoid = looks[0]!.verdict.outcome === "void";
  if (!last || course.length === 1) return null;
  const summary = `The effect by day: from ${points(course[0]!.middle)} on ${day(course[0]!.at)} to ${points(last.middle)} on ${day(last.at)}, now between ${points(last.low)} and ${points(last.high)}`;
  return html`<h2>The effect by day</h2>${!isVoid && bandChart("the effect by day", summary, course, points, (at) => day(at).slice(0, -5))}
<details class="more"><summary>The numbers</summary>${table(
    "Looks",
    [
      { head: "Looked at", cell: ({ at }: Look) => moment(at, zone) },
      { head: "Counted", cell: ({ invoices }) => count(invoices.counted), numeric: true },
      { head: "Too young", cell: ({ invoices }) => count(invoices.waiting), numeric: true },
      {
        head: "Effect in points",
        cell: ({ comparisons }) => effect(comparisons[0]!, isVoid),
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
    head: `Recovered, ${ARM_WORDS[arm]}`,
    cell: ({ of }: (typeof rows)[number]) =>
      of(arm).counted === 0
        ? html`<span class="soft">–</span>`
        : html`${share(of(arm).recovered, of(arm).counted)} <small>${count(of(arm).recovered)} of ${count(of(arm).counted)}</small>`,
    numeric: true,
  });
  return html`<h2>By the week in which invoices failed</h2>
${table(
  "Weeks",
  [
    { head: "Week of", cell: ({ week }) => dayText(week) },
    { head: "Failed", cell: ({ of }) => count(of("dunlin").failed + of("merchant").failed), numeric: true },
    rate("dunlin"),
    rate("merchant"),
    {
      head: "",
      cell: ({ young }) =>
        young > 0 ? state(`not over: ${count(young)} too young`, "warn") : html`<span class="soft">all counted</span>`,
    },
  ],
  rows,
)}`;
}
