import { countBrokenRules } from "./broken-rules.ts";
import { declineGroupOf } from "./policy.ts";
import type { Trial, TrialRetry } from "./run-trial.ts";
import { amountUsd, retryValueOfInvoice } from "./trial-money.ts";

/** The results of a policy in one run of a world. Money is a share of all money whose first charge failed. */
export interface Figures {
  recovered: number;
  /** Recovered money minus 0.4% per day and the cost of retries. */
  value: number;
  /** Retries per case. */
  attempts: number;
  /** null if nothing was recovered. */
  attemptsPerRecovery: number | null;
  /** Share of the cases, regardless of amount. */
  recoveredCases: number;
  brokenRules: number;
  /** Expected calibration error over ten equal bins of probabilities; null for a policy that predicts none. */
  ece: number | null;
  /** The same by decline group of the previous charge, for groups with enough retries. */
  eceByGroup: Record<string, number>;
  /** The error that so few retries would show on average if each probability were true. */
  eceIfTrue: Record<string, number>;
}

export function computeFigures(trial: Trial): Figures {
  let due = 0;
  let recovered = 0;
  let value = 0;
  let paid = 0;
  for (const { bill } of trial.cases) due += amountUsd(bill);
  for (const each of trial.tries) {
    value += valueOfRetry(each);
    if (!each.charge.approved) continue;
    paid++;
    recovered += amountUsd(each.open.bill);
  }
  const cases = Math.max(1, trial.cases.length);
  return {
    recovered: recovered / due,
    value: value / due,
    attempts: trial.tries.length / cases,
    attemptsPerRecovery: paid > 0 ? trial.tries.length / paid : null,
    recoveredCases: paid / cases,
    brokenRules: countBrokenRules(trial.tries),
    ...computeCalibration(trial),
  };
}

/** Returns the value of a retry minus its cost, in dollars. */
export function valueOfRetry({ open, charge }: TrialRetry): number {
  const money = amountUsd(open.bill);
  const { cost, worthAt } = retryValueOfInvoice(open.bill);
  return money * (charge.approved ? worthAt(charge.at.getTime()) - cost : -cost);
}

/**
 * Returns the value of each block of `size` cases, in the order of failure, as a share of the block's money. A remainder is left
 * out.
 */
export function valueByBlock(trial: Trial, size: number): number[] {
  const blocks = Array.from({ length: Math.floor(trial.cases.length / size) }, () => ({ due: 0, value: 0 }));
  const blockOf = new Map(trial.cases.map((open, index) => [open, blocks[Math.floor(index / size)]]));
  for (const [open, block] of blockOf) if (block) block.due += amountUsd(open.bill);
  for (const each of trial.tries) {
    const block = blockOf.get(each.open);
    if (block) block.value += valueOfRetry(each);
  }
  return blocks.map(({ due, value }) => value / due);
}

/** A retry's predicted probability and its outcome. `came`: 1 if it was approved, else 0. */
export interface Prediction {
  chance: number;
  came: number;
}

/** A group with fewer retries says nothing about its calibration. */
const MIN_GROUP_SIZE = 300;

const predictionOf = ({ choice, charge }: TrialRetry): Prediction => ({
  chance: choice.chance!,
  came: Number(charge.approved),
});

/**
 * A tenth of all probabilities: the mean prediction, the approved share, and the deviation of that share if each prediction were
 * true.
 */
export interface CalibrationBin {
  said: number;
  came: number;
  deviation: number;
  tries: number;
}

/** Returns predictions beside outcomes; empty for a policy that predicts none. */
export function calibrationBins({ tries }: Trial): CalibrationBin[] {
  const bins = sumBins(tries.filter(({ choice }) => choice.chance !== null).map(predictionOf));
  const met = bins.filter(({ count }) => count > 0);
  return met.map(({ said, came, variance, count }) => ({
    said: said / count,
    came: came / count,
    deviation: Math.sqrt(variance) / count,
    tries: count,
  }));
}

/** Returns predictions and outcomes by decline group of the previous charge; empty for a policy that predicts none. */
export function predictionsByGroup({ tries }: Trial): Map<string, Prediction[]> {
  const told = tries.filter(({ choice }) => choice.chance !== null);
  const byGroup = Map.groupBy(told, ({ open, charge }) =>
    declineGroupOf(open.charges[open.charges.indexOf(charge) - 1]!),
  );
  return new Map([...byGroup].map(([name, some]) => [name, some.map(predictionOf)]));
}

function computeCalibration(trial: Trial): Pick<Figures, "ece" | "eceByGroup" | "eceIfTrue"> {
  const byGroup = predictionsByGroup(trial);
  const all = [...byGroup.values()].flat();
  const groups = [...byGroup].filter(([, said]) => said.length >= MIN_GROUP_SIZE);
  return {
    ece: all.length > 0 ? calibrationError(all) : null,
    eceByGroup: Object.fromEntries(groups.map(([name, said]) => [name, calibrationError(said)])),
    eceIfTrue: Object.fromEntries(groups.map(([name, said]) => [name, expectedErrorIfTrue(said)])),
  };
}

/** Mean distance between predicted and actual share over ten bins, weighted by their counts. */
export const calibrationError = (all: readonly Prediction[]): number =>
  sumBins(all).reduce((sum, { said, came }) => sum + Math.abs(said - came), 0) / all.length;

/**
 * The expected calibration error if all predictions are true. The mean distance of a normal number from its mean is √(2/π) of its
 * deviation.
 */
export const expectedErrorIfTrue = (all: readonly Prediction[]): number =>
  sumBins(all).reduce((sum, { variance }) => sum + Math.sqrt((2 * variance) / Math.PI), 0) / all.length;

/** Sums over each tenth of all probabilities. */
function sumBins(all: readonly Prediction[]) {
  const bins = Array.from({ length: 10 }, () => ({ said: 0, came: 0, variance: 0, count: 0 }));
  for (const { chance, came } of all) {
    const bin = bins[Math.min(9, Math.floor(chance * 10))]!;
    bin.said += chance;
    bin.came += came;
    bin.variance += chance * (1 - chance);
    bin.count++;
  }
  return bins;
}
