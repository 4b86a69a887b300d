import { COUNT, type Experiment, type Measure } from "../../domain/experiment.ts";
import type { Comparison, Look } from "../../experiments/look.ts";
import { pointsOf } from "../../experiments/points.ts";
import type { Outcome } from "../../experiments/verdict.ts";
import { type Html, html, type Part } from "../html.ts";
import { type Interval, type Side, sideOf } from "../show/interval-plot.ts";
import { moment } from "../show/moments.ts";
import { money } from "../show/money.ts";
import { state } from "../show/words.ts";

/** A comparison of which something is known. */
export type Told = Comparison & {
  difference: number;
  dunlin: NonNullable<Comparison["dunlin"]>;
  merchant: NonNullable<Comparison["merchant"]>;
};
export const isTold = (comparison: Comparison | undefined): comparison is Told =>
  comparison !== undefined && comparison.difference !== null;

/** 0.0312 is "+3.1": points of a hundred. */
export const points = (share: number) => `${share < 0 ? "−" : "+"}${pointsOf(share)}`;

/** Of what the shares are. */
export const measureWords = (measure: Measure) => (measure === COUNT ? "invoices" : `money, ${measure}`);

export const intervalOf = ({ measure, difference, lower, upper }: Told): Interval => ({
  label: measureWords(measure),
  middle: difference,
  low: lower,
  high: upper,
});

/** The range of a comparison in points; coloured only when it lies on one side of nothing. */
export function effect(comparison: Comparison, isVoid: boolean): Html {
  if (!isTold(comparison)) return html`<span class="soft">not yet</span>`;
  const interval = intervalOf(comparison);
  if (interval.low > interval.high) return html`${points(interval.middle)} <small>moving</small>`;
  const words = html`${points(interval.middle)} <small>${points(interval.low)} to ${points(interval.high)}</small>`;
  return html`<span class="effect ${isVoid ? "void" : sideOf(interval)}">${words}</span>`;
}

const OUTCOMES: Record<Outcome, readonly [words: string, kind: "good" | "bad" | "warn" | ""]> = {
  better: ["recovers more", "good"],
  worse: ["recovers less", "bad"],
  alike: ["no difference", ""],
  open: ["cannot tell yet", ""],
  moving: ["the difference moves", "warn"],
  void: ["do not use", "bad"],
};
export const verdictState = (outcome: Outcome): Html => state(...OUTCOMES[outcome]);
export const verdictKind = (outcome: Outcome) => OUTCOMES[outcome][1];

/** Whether an experiment takes new invoices, and what it does with them. */
export function standing({ startedAt, comparedFrom, stoppedAt }: Experiment, zone: string, now: Date): Part {
  if (stoppedAt) return html`stopped ${moment(stoppedAt, zone)}`;
  if (now < comparedFrom && comparedFrom > startedAt) return html`calibrating until ${moment(comparedFrom, zone)}`;
  return "running";
}

/** An amount with its range, each with its sign. `side` is empty if the range includes zero. */
export interface Uplift {
  amount: string;
  currency: string;
  low: string;
  high: string;
  side: Side;
}

/** An amount with its sign. */
const signed = (minor: number, currency: string) => `${minor < 0 ? "−" : "+"}${money(Math.abs(minor), currency)}`;

/**
 * What Dunlin's arm recovered beyond what it would have without, with its range: nothing as long as nothing can be told, and nothing from
 * arms that can't be compared.
 */
export function uplift({ comparisons, verdict }: Look): Uplift[] {
  if (verdict.outcome === "void") return [];
  return comparisons.filter(isTold).flatMap((comparison) => {
    const { measure, dunlin, difference, lower, upper } = comparison;
    if (measure === COUNT || lower > upper) return [];
    const [amount, low, high] = [difference, lower, upper].map((share) => signed(share * dunlin.due, measure));
    return [{ amount: amount!, currency: measure, low: low!, high: high!, side: sideOf(intervalOf(comparison)) }];
  });
}
