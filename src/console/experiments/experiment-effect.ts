import { COUNT_MEASURE, type Experiment, type Measure } from "../../domain/experiment.ts";
import type { Comparison, InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import { formatSharePoints } from "../../experiments/statistics/percentage-points.ts";
import { outcomeOf, type VerdictOutcome } from "../../experiments/statistics/verdict.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { type Interval, type IntervalSide, intervalSide } from "../show/interval-plot.ts";
import { formatMoneyShort } from "../show/number-format.ts";
import { stateLabel } from "../show/state-labels.ts";
import { timeElement } from "../show/time-format.ts";
import type { MeasureVerdict } from "./verdict-sentence.ts";

export type KnownComparison = Comparison & {
  difference: number;
  dunlin: NonNullable<Comparison["dunlin"]>;
  merchant: NonNullable<Comparison["merchant"]>;
};
export const isKnownComparison = (comparison: Comparison | undefined): comparison is KnownComparison =>
  comparison !== undefined && comparison.difference !== null;

/** 0.0312 becomes "+3.1". */
export const formatPoints = (share: number) => `${share < 0 ? "−" : "+"}${formatSharePoints(share)}`;

export const measureLabel = (measure: Measure) => (measure === COUNT_MEASURE ? "invoices" : `money, ${measure}`);

export const effectInterval = ({ measure, difference, lower, upper }: KnownComparison): Interval => ({
  label: measureLabel(measure),
  middle: difference,
  low: lower,
  high: upper,
});

export function effectRange(comparison: Comparison, isVoid: boolean): Html {
  if (!isKnownComparison(comparison)) return html`<span class="soft">not yet</span>`;
  const interval = effectInterval(comparison);
  if (interval.low > interval.high) return html`${formatPoints(interval.middle)} <small>changes over time</small>`;
  const words = html`${formatPoints(interval.middle)} <small>${formatPoints(interval.low)} to ${formatPoints(interval.high)}</small>`;
  return html`<span class="effect ${isVoid ? "void" : intervalSide(interval)}">${words}</span>`;
}

const VERDICT_LABELS: Record<VerdictOutcome, readonly [words: string, kind: "good" | "bad" | "warn" | ""]> = {
  better: ["Recovers more", "good"],
  worse: ["Recovers less", "bad"],
  alike: ["No difference", ""],
  open: ["Cannot tell yet", ""],
  moving: ["Changes over time", "warn"],
  void: ["Do not use", "bad"],
};
export const verdictState = (outcome: VerdictOutcome): Html => stateLabel(...VERDICT_LABELS[outcome]);

export function experimentStatus(
  { startedAt, comparedFrom, stoppedAt }: Experiment,
  zone: string,
  now: Date,
): HtmlPart {
  if (stoppedAt) return html`stopped ${timeElement(stoppedAt, zone)}`;
  if (now < comparedFrom && comparedFrom > startedAt) return html`calibrating until ${timeElement(comparedFrom, zone)}`;
  return "running";
}

export interface Uplift {
  amount: string;
  currency: string;
  low: string;
  high: string;
  side: IntervalSide;
  /** In minor units, for charts. */
  values: { middle: number; low: number; high: number };
}

/** The count first, then money: the deciding currency, then those with the most customers. */
export function orderComparisons(comparisons: readonly Comparison[]): Comparison[] {
  const primary = comparisons[0]?.measure;
  const rank = ({ measure }: Comparison) => (measure === COUNT_MEASURE ? 0 : measure === primary ? 1 : 2);
  const customers = ({ dunlin, merchant }: Comparison) => (dunlin?.customers ?? 0) + (merchant?.customers ?? 0);
  return comparisons.toSorted(
    (a, b) => rank(a) - rank(b) || customers(b) - customers(a) || a.measure.localeCompare(b.measure),
  );
}

export const measureVerdicts = ({ comparisons }: InterimAnalysis, margin: number): MeasureVerdict[] =>
  orderComparisons(comparisons).map((comparison) => ({
    measure: comparison.measure,
    outcome: outcomeOf(comparison, margin),
  }));

const formatSignedMoney = (minor: number, currency: string) =>
  `${minor < 0 ? "−" : "+"}${formatMoneyShort(Math.round(Math.abs(minor)), currency)}`;

/** Empty without a result, and if the arms cannot be compared. */
export function upliftsOf({ comparisons, verdict }: InterimAnalysis): Uplift[] {
  if (verdict.outcome === "void") return [];
  return comparisons.filter(isKnownComparison).flatMap((comparison) => {
    const { measure, dunlin, difference, lower, upper } = comparison;
    if (measure === COUNT_MEASURE || lower > upper) return [];
    const values = { middle: difference * dunlin.due, low: lower * dunlin.due, high: upper * dunlin.due };
    const [amount, low, high] = [values.middle, values.low, values.high].map((minor) =>
      formatSignedMoney(minor, measure),
    );
    const side = intervalSide(effectInterval(comparison));
    return [{ amount: amount!, currency: measure, low: low!, high: high!, side, values }];
  });
}
