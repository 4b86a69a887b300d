import { COUNT_MEASURE, type Experiment, type Measure } from "../../domain/experiment.ts";
import type { Comparison, InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import { formatSharePoints } from "../../experiments/statistics/percentage-points.ts";
import { CUSTOMERS_MIN } from "../../experiments/statistics/tally.ts";
import { outcomeOf } from "../../experiments/statistics/verdict.ts";
import type { LargestInvoices } from "../../tables/experiment-invoices.ts";
import { type Html, html } from "../html.ts";
import { type CoursePoint, coursePlot, courseScale } from "../show/course-plot.ts";
import { intervalSide } from "../show/interval-plot.ts";
import { formatCount, formatMoneyShort, formatShare } from "../show/number-format.ts";
import { card } from "../show/parts.ts";
import { formatDay, toDatetimeLocal } from "../show/time-format.ts";
import {
  effectInterval,
  formatPoints,
  isKnownComparison,
  measureVerdicts,
  orderComparisons,
  verdictState,
} from "./experiment-effect.ts";

/** One card for each measure: the one that decides, then the others. Each has its own unit, number, color and course. */
export function measureCards(experiment: Experiment, analyses: readonly InterimAnalysis[], zone: string): Html {
  const look = analyses[0]!;
  const ordered = orderComparisons(look.comparisons);
  const isPrimary = ({ measure }: Comparison) => measure === experiment.primary;
  const shown = [...ordered.filter(isPrimary), ...ordered.filter((each) => !isPrimary(each))];
  const courses = new Map(shown.map(({ measure }) => [measure, courseOf(analyses, measure)]));
  const scale = courseScale([...courses.values()]);
  const day = (at: Date) => formatDay(toDatetimeLocal(at, zone).slice(0, 10));
  const course = (comparison: Comparison): Html | null => {
    const points = courses.get(comparison.measure)!;
    const last = points.at(-1);
    if (points.length < 2 || last === undefined || !isKnownComparison(comparison)) return null;
    const label = `Difference by ${measureNoun(comparison.measure)} in points of 100, from ${formatPoints(points[0]!.middle)} on ${day(points[0]!.at)} to ${formatPoints(last.middle)} on ${day(last.at)}, now between ${formatPoints(last.low)} and ${formatPoints(last.high)}`;
    const tone = intervalSide(effectInterval(comparison)) || "neutral";
    return html`<div class="chart-gap">${coursePlot(label, points, tone, scale, { point: formatPoints, tick: formatTick, day: (at) => day(at).slice(0, -5) })}<p class="small soft">Points of 100, by day. The band is the range that all results so far leave.</p></div>`;
  };
  return html`<div class="grid two">${shown.map((comparison) => measureCard(experiment, look, comparison, course(comparison)))}</div>`;
}

/** On the scale: "+10", or "+2.5". */
const formatTick = (share: number) => `${share < 0 ? "−" : "+"}${Number((100 * Math.abs(share)).toFixed(2))}`;

const measureNoun = (measure: Measure) => (measure === COUNT_MEASURE ? "count" : `money in ${measure}`);

const courseOf = (analyses: readonly InterimAnalysis[], measure: Measure): CoursePoint[] =>
  analyses.toReversed().flatMap(({ at, comparisons }) => {
    const found = comparisons.find((each) => each.measure === measure);
    return isKnownComparison(found) && found.lower <= found.upper
      ? [{ at, middle: found.difference, low: found.lower, high: found.upper }]
      : [];
  });

function measureCard(
  { primary, margin }: Experiment,
  look: InterimAnalysis,
  comparison: Comparison,
  course: Html | null,
) {
  const { measure } = comparison;
  const decides = measure === primary;
  const isTooEarly = !isKnownComparison(look.comparisons.find((each) => each.measure === primary));
  return card(
    {
      title: html`By ${measureNoun(measure)}${decides && html` <span class="soft small">decides</span>`}`,
      side: verdictState(outcomeOf(comparison, margin)),
    },
    html`<div class="in">${effectFigure(comparison, isTooEarly)}${course}${decides && !isUnclear(look) && html`<p class="small soft">${look.verdict.words}</p>`}</div>`,
  );
}

/** Whether the page begins with the verdict's words: no time of a verdict is known. */
export const isUnclear = ({ verdict: { outcome, weeksMore } }: InterimAnalysis) =>
  outcome === "open" && weeksMore === null;

/**
 * The whole effect in its own unit, and per 100.
 *
 * @param isTooEarly  whether the page says already what a comparison needs
 */
function effectFigure(comparison: Comparison, isTooEarly: boolean): Html {
  const { measure } = comparison;
  if (isTooEarly && !isKnownComparison(comparison)) return html`<p>No comparison yet.</p>`;
  if (!isKnownComparison(comparison))
    return html`<p>No comparison yet. It needs ${CUSTOMERS_MIN} customers in each arm with counted invoices${measure !== COUNT_MEASURE && ` in ${measure}`}, and no few of them may outweigh the rest.</p>`;
  const { low, high, middle } = effectInterval(comparison);
  if (low > high)
    return html`<p>The difference changed during the experiment, so no single number describes it. The numbers by day show how.</p>`;
  const { due } = comparison.dunlin;
  const whole = (share: number) => formatEffect(share * due, measure);
  const unit = measure === COUNT_MEASURE ? "100 invoices" : `${measure}\u00a0100`;
  const less = measure === COUNT_MEASURE ? "fewer" : "less";
  return html`<p class="figure mid ${intervalSide({ low, high })}">${whole(middle)}${measure === COUNT_MEASURE && " invoices"} <span class="range">${whole(low)} to ${whole(high)}</span></p>
<p class="small soft">Of ${unit} that failed, Dunlin recovered ${formatSharePoints(middle)} ${middle < 0 ? less : "more"} <span class="nowrap">(${formatPoints(low)} to ${formatPoints(high)})</span>.</p>`;
}

/** Below this, whole numbers would hide on which side of zero a limit lies. */
const WHOLE_FROM = 10;

function formatEffect(value: number, measure: Measure): string {
  const size = Math.abs(value);
  const sign = value < 0 ? "−" : "+";
  if (measure !== COUNT_MEASURE) return `${sign}${formatMoneyShort(Math.round(size), measure)}`;
  return `${sign}${size < WHOLE_FROM ? size.toFixed(1) : formatCount(Math.round(size))}`;
}

/** How many times their part of the number the largest invoices hold of the money, at least. */
const CONCENTRATED_FROM = 1.25;

/** Null while count and money say the same. @param largest  by currency; null: nothing is counted */
export function differenceReason(
  { margin, primary }: Experiment,
  look: InterimAnalysis,
  largest: ReadonlyMap<Measure, LargestInvoices | null>,
): Html | null {
  const [count, ...money] = measureVerdicts(look, margin);
  const differing = money.filter(({ outcome }) => outcome !== count!.outcome);
  if (differing.length === 0) return null;
  const reasons = differing.flatMap(({ measure }) => {
    const found = largest.get(measure);
    if (!found) return [];
    const part = Number(found.largestAmount) / Number(found.amount);
    const holds = `the largest ${formatCount(found.largest)} of ${formatCount(found.invoices)} invoices in ${measure} hold ${formatShare(part, 1)} of the money`;
    const isConcentrated = part > CONCENTRATED_FROM * (found.largest / found.invoices);
    return [
      isConcentrated
        ? `${holds}, so they move the sum more than the count`
        : `${holds}, about as much as their number: the amounts do not explain it`,
    ];
  });
  const chosen = primary === COUNT_MEASURE ? "by count" : `by money in ${primary}`;
  const text = reasons.join("; ");
  return html`<p class="notice idle"><span><b>Why they differ:</b> ${text === "" ? "money weighs each invoice by its amount" : text}. You chose to decide ${chosen}.</span></p>`;
}
