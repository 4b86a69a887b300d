import type { InterimAnalysis } from "../../src/experiments/statistics/interim-analysis.ts";
import { DEFAULT_MERCHANT, runExperiment, type SimulatedMerchant } from "./run-experiment.ts";

const DAYS = 90;

export interface FalseAlarms {
  runs: number;
  any: number;
  difference: number;
  split: number;
  calibration: number;
  /** A plain 95% interval, read as often, missed the difference. */
  plain: number;
}

/** A/A tests, daily for 90 days: each reported difference is a false alarm. */
export function measureFalseAlarms(runs: number, business: Partial<SimulatedMerchant> = {}): FalseAlarms {
  const { effect } = { ...DEFAULT_MERCHANT, ...business };
  const found = { runs, any: 0, difference: 0, split: 0, calibration: 0, plain: 0 };
  for (let run = 0; run < runs; run++) {
    let [difference, plain] = [false, false];
    let last: InterimAnalysis | undefined;
    runExperiment({ ...DEFAULT_MERCHANT, days: DAYS, ...business }, run, (_, analysis) => {
      last = analysis;
      const [primary] = analysis.comparisons;
      difference ||= primary!.lower > effect || primary!.upper < effect;
      plain ||=
        primary!.difference !== null && Math.abs(primary!.difference - effect) > 1.96 * Math.sqrt(primary!.variance!);
      return true;
    });
    const split = last!.troubles.includes("split");
    const calibration = last!.troubles.some((trouble) => trouble !== "split");
    if (difference) found.difference++;
    if (split) found.split++;
    if (calibration) found.calibration++;
    if (plain) found.plain++;
    if (difference || split || calibration) found.any++;
  }
  return found;
}

export interface StoppingTimes {
  runs: number;
  /** In both arms, when half of the runs had a verdict. */
  median: number;
  /** For a fixed-size z-test with a power of 80%. */
  fixed: number;
  wrong: number;
}

/** Daily until there is a verdict. One invoice per customer, as the z-test assumes. */
export function measureStoppingTimes(
  effect: number,
  runs: number,
  business: Partial<SimulatedMerchant> = {},
): StoppingTimes {
  const customersPerDay = 100;
  const settings = { ...DEFAULT_MERCHANT, customersPerDay, again: 0, effect, days: 400, ...business };
  const stops: number[] = [];
  let wrong = 0;
  for (let run = 0; run < runs; run++) {
    let stop = Number.POSITIVE_INFINITY;
    runExperiment(settings, run, (day, { verdict }) => {
      if (verdict.outcome === "open") return true;
      stop = day * settings.customersPerDay;
      if (verdict.outcome !== "better") wrong++;
      return false;
    });
    stops.push(stop);
  }
  stops.sort((a, b) => a - b);
  return { runs, median: stops[Math.floor(runs / 2)]!, fixed: fixedSampleSize(settings.recovered, effect), wrong };
}

/** Two-sided z-test at 5% with a power of 80%: (1.96 + 0.84)² times the variances, over the squared difference. */
function fixedSampleSize(recovered: number, effect: number): number {
  const treated = recovered + effect;
  return (2 * 7.849 * (recovered * (1 - recovered) + treated * (1 - treated))) / effect ** 2;
}

/** Of 55,000 invoices in 90 days, when an arm got 51% of customers instead of 50%. */
export function countDetectedSplits(runs: number, business: Partial<SimulatedMerchant> = {}): number {
  let caught = 0;
  for (let run = 0; run < runs; run++) {
    runExperiment(
      { ...DEFAULT_MERCHANT, customersPerDay: Math.round(55_000 / DAYS), again: 0, split: 0.51, ...business },
      run,
      (_, { troubles }) => {
        if (!troubles.includes("split")) return true;
        caught++;
        return false;
      },
    );
  }
  return caught;
}
