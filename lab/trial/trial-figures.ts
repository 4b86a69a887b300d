import { countBrokenRules } from "./broken-rules.ts";
import { declineGroupOf } from "./policy.ts";
import type { Trial, TrialRetry } from "./run-trial.ts";
import { amountUsd, retryValueOfInvoice } from "./trial-money.ts";

/** Money: share of all whose first charge failed. */
export interface Figures {
  recovered: number;
  value: number;
  /** Per case. */
  attempts: number;
  attemptsPerRecovery: number | null;
  /** Regardless of amount. */
  recoveredCases: number;
  brokenRules: number;
  /** Expected calibration error over ten equal bins; null without predictions. */
  ece: number | null;
  /** By the previous charge's group, with enough retries. */
  eceByGroup: Record<string, number>;
  eceIfTrue: Record<string, number>;
}

export function computeFigures(trial: Trial): Figures {
  let dueUsd = 0;
  let recovered = 0;
  let value = 0;
  let paid = 0;
  for (const { bill } of trial.cases) dueUsd += amountUsd(bill);
  for (const each of trial.retries) {
    value += valueOfRetry(each);
    if (!each.charge.approved) continue;
    paid++;
    recovered += amountUsd(each.open.bill);
  }
  const cases = Math.max(1, trial.cases.length);
  return {
    recovered: recovered / dueUsd,
    value: value / dueUsd,
    attempts: trial.retries.length / cases,
    attemptsPerRecovery: paid > 0 ? trial.retries.length / paid : null,
    recoveredCases: paid / cases,
    brokenRules: countBrokenRules(trial.retries),
    ...computeCalibration(trial),
  };
}

export function valueOfRetry({ open, charge }: TrialRetry): number {
  const money = amountUsd(open.bill);
  const { cost, valueAt } = retryValueOfInvoice(open.bill);
  return money * (charge.approved ? valueAt(charge.at.getTime()) - cost : -cost);
}

/** Blocks of `size` cases in order of failure, as a share of their money; no remainder. */
export function valueByBlock(trial: Trial, size: number): number[] {
  const blocks = Array.from({ length: Math.floor(trial.cases.length / size) }, () => ({ due: 0, value: 0 }));
  const blockOf = new Map(trial.cases.map((open, index) => [open, blocks[Math.floor(index / size)]]));
  for (const [open, block] of blockOf) if (block) block.due += amountUsd(open.bill);
  for (const each of trial.retries) {
    const block = blockOf.get(each.open);
    if (block) block.value += valueOfRetry(each);
  }
  return blocks.map(({ due, value }) => value / due);
}

export interface Prediction {
  chance: number;
  observed: number;
}

const MIN_GROUP_SIZE = 300;

const predictionOf = ({ choice, charge }: TrialRetry): Prediction => ({
  chance: choice.chance!,
  observed: Number(charge.approved),
});

/** The approved share's deviation assumes true predictions. */
export interface CalibrationBin {
  predicted: number;
  observed: number;
  deviation: number;
  retryCount: number;
}

export function calibrationBins({ retries }: Trial): CalibrationBin[] {
  const bins = sumBins(retries.filter(({ choice }) => choice.chance !== null).map(predictionOf));
  const filledBins = bins.filter(({ count }) => count > 0);
  return filledBins.map(({ predicted, observed, variance, count }) => ({
    predicted: predicted / count,
    observed: observed / count,
    deviation: Math.sqrt(variance) / count,
    retryCount: count,
  }));
}

export function predictionsByGroup({ retries }: Trial): Map<string, Prediction[]> {
  const predictedRetries = retries.filter(({ choice }) => choice.chance !== null);
  const byGroup = Map.groupBy(predictedRetries, ({ open, charge }) =>
    declineGroupOf(open.charges[open.charges.indexOf(charge) - 1]!),
  );
  return new Map([...byGroup].map(([name, retries]) => [name, retries.map(predictionOf)]));
}

function computeCalibration(trial: Trial): Pick<Figures, "ece" | "eceByGroup" | "eceIfTrue"> {
  const byGroup = predictionsByGroup(trial);
  const all = [...byGroup.values()].flat();
  const groups = [...byGroup].filter(([, predictions]) => predictions.length >= MIN_GROUP_SIZE);
  return {
    ece: all.length > 0 ? calibrationError(all) : null,
    eceByGroup: Object.fromEntries(groups.map(([name, predictions]) => [name, calibrationError(predictions)])),
    eceIfTrue: Object.fromEntries(groups.map(([name, predictions]) => [name, expectedErrorIfTrue(predictions)])),
  };
}

export const calibrationError = (all: readonly Prediction[]): number =>
  sumBins(all).reduce((sum, { predicted, observed }) => sum + Math.abs(predicted - observed), 0) / all.length;

/** A normal number's mean distance from its mean is √(2/π) of its deviation. */
export const expectedErrorIfTrue = (all: readonly Prediction[]): number =>
  sumBins(all).reduce((sum, { variance }) => sum + Math.sqrt((2 * variance) / Math.PI), 0) / all.length;

function sumBins(all: readonly Prediction[]) {
  const bins = Array.from({ length: 10 }, () => ({ predicted: 0, observed: 0, variance: 0, count: 0 }));
  for (const { chance, observed } of all) {
    const bin = bins[Math.min(9, Math.floor(chance * 10))]!;
    bin.predicted += chance;
    bin.observed += observed;
    bin.variance += chance * (1 - chance);
    bin.count++;
  }
  return bins;
}
