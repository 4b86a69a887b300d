import { COUNT_MEASURE, type Experiment, type Measure } from "../../domain/experiment.ts";
import type { Comparison, InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import { formatSharePoints } from "../../experiments/statistics/percentage-points.ts";
import type { VerdictOutcome } from "../../experiments/statistics/verdict.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { type Interval, type IntervalSide, intervalSide } from "../show/interval-plot.ts";
import { formatMoney } from "../show/number-format.ts";
import { stateLabel } from "../show/state-labels.ts";
import { timeElement } from "../show/time-format.ts";

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
  better: ["recovers more", "good"],
  worse: ["recovers less", "bad"],
  alike: ["no difference", ""],
  open: ["not clear yet", ""],
  moving: ["difference changes over time", "warn"],
  void: ["do not use", "bad"],
};
export const verdictState = (outcome: VerdictOutcome): Html => stateLabel(...VERDICT_LABELS[outcome]);
export const verdictKind = (outcome: VerdictOutcome) => VERDICT_LABELS[outcome][1];

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

const formatSignedMoney = (minor: number, currency: string) =>
  `${minor < 0 ? "−" : "+"}${formatMoney(Math.abs(minor), currency)}`;

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
