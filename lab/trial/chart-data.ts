import type { Trial } from "./run-trial.ts";
import { type CalibrationBin, calibrationBins, valueOfRetry } from "./trial-figures.ts";

export interface ChartData {
  failedAt: Float64Array;
  /** Cumulative US dollars, minus waiting and retries. */
  values: Float64Array;
  bins: CalibrationBin[];
}

export function buildChartData(trial: Trial): ChartData {
  const failedAt = Float64Array.from(trial.cases, ({ bill }) => bill.createdAt.getTime());
  const values = new Float64Array(trial.cases.length);
  const indexOf = new Map(trial.cases.map((open, index) => [open, index]));
  for (const each of trial.retries) values[indexOf.get(each.open)!]! += valueOfRetry(each);
  for (let n = 1; n < values.length; n++) values[n]! += values[n - 1]!;
  return { failedAt, values, bins: calibrationBins(trial) };
}

/** Per year. */
const STEP_COUNT = 120;

/** In US dollars: regret if the other is the oracle. */
export function computeRegret(policy: ChartData, other: ChartData): { payments: number; dollars: number }[] {
  const count = other.failedAt.length;
  const steps = Math.min(STEP_COUNT, count);
  let passed = 0;
  const points = Array.from({ length: steps }, (_, step) => {
    const payments = Math.round(((step + 1) * count) / steps);
    const until = other.failedAt[payments - 1]!;
    // Cut at one time: a failed payment may be approved in the other run.
    while (passed < policy.failedAt.length && policy.failedAt[passed]! <= until) passed++;
    return { payments, dollars: other.values[payments - 1]! - (passed > 0 ? policy.values[passed - 1]! : 0) };
  });
  return [{ payments: 0, dollars: 0 }, ...points];
}
